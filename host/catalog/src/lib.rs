//! The catalogue in memory: an index of the tables' names, comments, filter columns and search texts.
//!
//! Lists, the lineage and the agent read it instead of the store. It is plain data, which the server's module
//! of tables feeds. The details of tables are in the store.

mod entry;
mod facets;
mod facts;
mod filter;
mod index;
mod names;
mod orders;
mod page;
mod search;
mod search_text;
pub mod terms;

pub use entry::Entry;
pub use facets::{Facet, FacetValue, Facets};
pub use filter::Filter;
pub use index::Index;
pub use orders::{Order, SortBy};
pub use search::{Hit, split};
pub use search_text::{FIELD_TEXT_MAX_CHARS, FIELDS_MAX, TEXT_MAX_CHARS, Texts, plain};
