//! The catalogue in memory: one index of the tables' names, comments and filter columns, and of what a search finds.
//!
//! The list's keyword search, the lineage and the agent read it instead of the store. It is plain data: the tables
//! of the server feed it. What a table is made of in detail stands in the store.

mod entry;
mod facts;
mod filter;
mod index;
mod names;
mod orders;
mod page;
mod search;
mod search_text;

pub use entry::Entry;
pub use filter::Filter;
pub use index::Index;
pub use orders::{Order, SortBy};
pub use search::{Hit, split};
pub use search_text::{FIELD_TEXT_MAX_CHARS, FIELDS_MAX, TEXT_MAX_CHARS, Texts, plain};
