//! Growing tables, as data: how their old rows are deleted.

/// A growing table, and its purge statement.
#[derive(Debug, Clone, Copy)]
pub struct Retained {
    /// Its name in `/metrics`.
    pub what: &'static str,
    pub table: &'static str,
    /// Deletes at most `$2` rows older than `$1`, milliseconds since 1970.
    pub purge: &'static str,
}
