//! Collecting what is wrong, all at once and one problem for each member; and what merely deserves a note.

use lakeport_sdk::dialect::{Problem, Table};

pub const NO_BUCKETS: &str = "SQLite keeps a table in one file and has no buckets";
pub const NO_REPLICAS: &str = "SQLite keeps one copy of a table and has no replicas";

/// Problems so far.
#[derive(Debug, Default)]
pub struct Problems {
    found: Vec<Problem>,
}

impl Problems {
    /// Adds one, unless the member has one already.
    pub fn add(&mut self, member: impl Into<String>, code: &str, message: impl Into<String>) {
        let member = member.into();
        if self.found.iter().all(|problem| problem.member != member) {
            self.found.push(Problem::new(member, code, message));
        }
    }

    /// What SQLite cannot do at all.
    pub fn unsupported(&mut self, member: impl Into<String>, message: impl Into<String>) {
        self.add(member, "unsupported_by_dialect", message);
    }

    /// Only tables are planned for.
    pub fn only_tables(&mut self, table: &Table) {
        if table.kind != "table" {
            self.unsupported("", format!("{} is a {}; only tables are changed", table.name.name, table.kind));
        }
    }

    /// Names that SQLite keeps for itself.
    pub fn table_name(&mut self, name: &str) {
        let reserved = name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_"));
        if reserved {
            self.add("tableName", "invalid_name", "SQLite keeps names that begin with sqlite_ for itself");
        } else if name.is_empty() {
            self.add("tableName", "missing", "a table needs a name");
        }
    }

    /// The answer, if nothing was found.
    pub fn or<T>(self, answer: impl FnOnce() -> T) -> Result<T, Vec<Problem>> {
        if self.found.is_empty() { Ok(answer()) } else { Err(self.found) }
    }

    /// Ends here if anything was found.
    pub fn check(self) -> Result<(), Vec<Problem>> {
        self.or(|| ())
    }
}

/// The note for a comment, which SQLite has no place for.
pub fn comment_note(member: impl Into<String>) -> Problem {
    Problem::new(member, "adjusted", "SQLite has no place for comments; this one is kept by Lakeport alone")
}

/// Whether two names are one to SQLite, which ignores the case of ASCII letters.
pub fn same_name(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}
