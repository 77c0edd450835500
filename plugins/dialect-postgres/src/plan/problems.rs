//! PostgreSQL's restrictions on names and tables, and notes.

pub use lakeport_sdk::dialect::Problems;
use lakeport_sdk::dialect::{Problem, Table};

use crate::describe::NAME_MAX_BYTES;
use crate::facts::TableFacts;

pub const NO_BUCKETS: &str = "PostgreSQL keeps a table in one place and has no buckets";
pub const NO_REPLICAS: &str = "PostgreSQL copies whole servers, not tables, and has no replicas of one";

/// Names of system columns.
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

/// Checks of PostgreSQL's restrictions.
pub trait Checks {
    /// Accepts only tables, and only the user's own. Returns the facts read about it.
    fn changeable(&mut self, table: &Table) -> TableFacts;

    /// Whether fields of this table may be added, renamed and dropped.
    fn fields_changeable(&mut self, table: &Table) -> TableFacts;

    /// A name that the host checks, too: PostgreSQL would truncate a longer one.
    fn table_name(&mut self, name: &str);

    /// Likewise, and not a system column.
    fn field_name(&mut self, name: &str, member: &str);
}

impl Checks for Problems {
    fn changeable(&mut self, table: &Table) -> TableFacts {
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

    fn fields_changeable(&mut self, table: &Table) -> TableFacts {
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

    fn table_name(&mut self, name: &str) {
        checked_name(self, name, "tableName", "table");
    }

    fn field_name(&mut self, name: &str, member: &str) {
        checked_name(self, name, member, "field");
        if SYSTEM_COLUMNS.contains(&name) {
            self.add(
                member,
                "invalid_name",
                format!("every table of PostgreSQL has a column {name} of its own"),
            );
        }
    }
}

fn checked_name(problems: &mut Problems, name: &str, member: &str, what: &str) {
    if name.is_empty() {
        problems.add(member, "missing", format!("a {what} needs a name"));
    } else if name.len() > NAME_MAX_BYTES as usize {
        let message =
            format!("the name of the {what} has {} bytes; PostgreSQL keeps {NAME_MAX_BYTES}", name.len());
        problems.add(member, "name_too_long", message);
    }
}

/// A note that concerns no single member.
pub fn note(message: impl Into<String>) -> Problem {
    Problem::new("", "adjusted", message)
}
