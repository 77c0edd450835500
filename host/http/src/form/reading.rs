//! The settings of one reading of a form.

use std::collections::BTreeSet;

/// Whether scalars are JSON's own or texts to be parsed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Json,
    Query,
}

/// The settings of one reading.
pub struct Reading {
    pub kind: Kind,
    /// Paths that were found wrong, and are filled in.
    pub fillers: BTreeSet<String>,
}
