//! The recycle bin: a table that is deleted is renamed and kept for 30 days, can be taken out again under its old name,
//! and goes for ever by hand or when its time is over.
//!
//! Each of the three is a physical change like any other where the table is in a database, and the catalogue follows
//! it; what is in the catalogue alone is changed there at once.

pub mod api;
mod job;
mod name;
pub mod store;
mod view;

pub use job::run_job;

use crate::time::DAY_MS;

/// How long a table is kept.
pub const RETENTION_MS: i64 = 30 * DAY_MS;
