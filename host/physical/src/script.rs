//! The limits of a statement and its result: plain data that sessions and tasks share.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits of one reading statement.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Bounds {
    pub max_rows: usize,
    pub max_bytes: usize,
    pub timeout: Duration,
}

/// How much of a statement's rows is kept.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Shown {
    /// Rows.
    pub rows: usize,
    /// Characters of one cell.
    pub cell_chars: usize,
}

/// The result of one statement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// The number of returned rows.
    pub rows: u64,
    /// The number of changed rows.
    pub changed: u64,
    /// The names of the returned columns.
    pub columns: Vec<String>,
    /// The first rows, cells cut.
    pub first: Vec<Vec<String>>,
}
