//! SQLite's restrictions on names and tables, and notes.

use lakeport_sdk::dialect::Problem;
pub use lakeport_sdk::dialect::Problems;

pub const NO_BUCKETS: &str = "SQLite keeps a table in one file and has no buckets";
pub const NO_REPLICAS: &str = "SQLite keeps one copy of a table and has no replicas";

/// Checks of SQLite's restrictions.
pub trait Checks {
    /// Names that SQLite reserves.
    fn table_name(&mut self, name: &str);
}

impl Checks for Problems {
    fn table_name(&mut self, name: &str) {
        let reserved = name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_"));
        if reserved {
            self.add("tableName", "invalid_name", "SQLite keeps names that begin with sqlite_ for itself");
        } else if name.is_empty() {
            self.add("tableName", "missing", "a table needs a name");
        }
    }
}

/// The note for a comment, which SQLite cannot store.
pub fn comment_note(member: impl Into<String>) -> Problem {
    Problem::new(member, "adjusted", "SQLite has no place for comments; this one is kept by Lakeport alone")
}

/// Whether two names are equal to SQLite, which ignores the case of ASCII letters.
pub fn same_name(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}
