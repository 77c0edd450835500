//! The log of queries: who read which table, and what asked for it. What a query said is not in it.

mod store;

pub use store::{Outcome, Query, RETAINED, Reader, readers, reads, record};
