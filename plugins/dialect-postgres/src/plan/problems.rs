//! Collecting what is wrong, all at once and one problem for each member; and what merely deserves a note.

use lakeport_sdk::dialect::{Problem, Table};

use crate::describe::NAME_MAX_BYTES;
use crate::facts::TableFacts;

pub const NO_BUCKETS: &str = "PostgreSQL keeps a table in one place and has no buckets";
pub const NO_REPLICAS: &str = "PostgreSQL copies whole servers, not tables, and has no replicas of one";

/// Names of columns that every table has already.
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

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

    /// What PostgreSQL cannot do at all, or only with a loss that it does not tell.
    pub fn unsupported(&mut self, member: impl Into<String>, message: impl Into<String>) {
        self.add(member, "unsupported_by_dialect", message);
    }

    /// What something else stands in the way of.
    pub fn conflict(&mut self, member: impl Into<String>, message: impl Into<String>) {
        self.add(member, "conflict", message);
    }

    /// Only tables are planned for, and of those only what is the user's own. Answers what was read of it.
    pub fn changeable(&mut self, table: &Table) -> TableFacts {
        let name = &table.name.name;
        if table.kind != "table" {
            self.unsupported("", format!("{name} is a {}; only tables are changed", table.kind));
        }
        let Some(facts) = TableFacts::of(table) else {
            self.unsupported("", format!("nothing was read of the constraints and indexes of {name}"));
            return TableFacts::default();
        };
        if let Some(extension) = &facts.extension {
            self.unsupported(
                "",
                format!("{name} belongs to the extension {extension}, which alone may change it"),
            );
        }
        facts
    }

    /// Fields of this table may be added, renamed and dropped.
    pub fn fields_changeable(&mut self, table: &Table) -> TableFacts {
        let facts = self.changeable(table);
        let name = &table.name.name;
        if facts.of_type {
            self.unsupported("", format!("{name} is made of a composite type, which has its fields"));
        }
        if let Some(parent) = &facts.partition_of {
            self.unsupported("", format!("{name} is a partition of {parent}; its fields are changed there"));
        }
        if !facts.children.is_empty() {
            let children = crate::facts::listed(&facts.children);
            self.unsupported(
                "",
                format!("{children} inherit from {name} and would be changed along with it"),
            );
        }
        facts
    }

    /// A name as the host checks it, too: PostgreSQL would cut a longer one off.
    pub fn table_name(&mut self, name: &str) {
        self.name(name, "tableName", "table");
    }

    /// Likewise, and not one that every table has.
    pub fn field_name(&mut self, name: &str, member: &str) {
        self.name(name, member, "field");
        if SYSTEM_COLUMNS.contains(&name) {
            self.add(
                member,
                "invalid_name",
                format!("every table of PostgreSQL has a column {name} of its own"),
            );
        }
    }

    fn name(&mut self, name: &str, member: &str, what: &str) {
        if name.is_empty() {
            self.add(member, "missing", format!("a {what} needs a name"));
        } else if name.len() > NAME_MAX_BYTES as usize {
            let message =
                format!("the name of the {what} has {} bytes; PostgreSQL keeps {NAME_MAX_BYTES}", name.len());
            self.add(member, "name_too_long", message);
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

/// Something to know that concerns no single member.
pub fn note(message: impl Into<String>) -> Problem {
    Problem::new("", "adjusted", message)
}
