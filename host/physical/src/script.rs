//! The bounds of one statement, and what it answered: plain data that sessions and tasks share.

use std::time::Duration;

/// What one reading statement may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub max_rows: usize,
    pub max_bytes: usize,
    pub timeout: Duration,
}

/// What is kept of the rows that a statement answers.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Rows.
    pub rows: usize,
    /// Characters of one cell.
    pub cell_chars: usize,
}

/// What came of one statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Rows that it answered.
    pub rows: u64,
    /// Rows that it changed.
    pub changed: u64,
    /// Names of the columns that it answered.
    pub columns: Vec<String>,
    /// The first rows, each cell cut.
    pub first: Vec<Vec<String>>,
}
