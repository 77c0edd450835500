//! MySQL's restrictions on names and tables.

pub use lakeport_sdk::dialect::Problems;
use lakeport_sdk::dialect::{Problem, Table};

use crate::extra::TableExtra;
use crate::server::Server;
use crate::text;

pub const NO_BUCKETS: &str = "MySQL and MariaDB have no buckets";
pub const NO_REPLICAS: &str = "how many copies MySQL and MariaDB keep is no matter of a table";

/// The longest comment of a table, in characters.
pub const TABLE_COMMENT_MAX: usize = 2_048;
/// The longest comment of a field, in characters.
pub const FIELD_COMMENT_MAX: usize = 1_024;

/// The longest name of a table as a file name, in bytes: 255 minus the server's suffixes, including the
/// partition's name.
const FILE_NAME_MAX_BYTES: usize = 240;

/// Checks of MySQL's restrictions.
pub trait Checks {
    /// The server does not change fields of a system-versioned table either.
    fn no_history(&mut self, table: &Table);

    /// A new name of a table. It becomes a file name, in which every character except ASCII letters, digits
    /// and `_` takes five bytes.
    fn table_name(&mut self, server: &Server, name: &str);

    /// A comment within its limit, and without characters that the catalogue would replace.
    fn comment(&mut self, member: impl Into<String>, comment: &str, most: usize);
}

impl Checks for Problems {
    fn no_history(&mut self, table: &Table) {
        if TableExtra::of(table).versioned {
            let message = "the table keeps its history (WITH SYSTEM VERSIONING); its fields stay as they are";
            self.unsupported("", message);
        }
    }

    fn table_name(&mut self, server: &Server, name: &str) {
        let start = name.to_ascii_lowercase();
        if name.is_empty() {
            self.add("tableName", "missing", "a table needs a name");
        } else if start.starts_with("#mysql50#") || start.starts_with("#sql") {
            self.add(
                "tableName",
                "invalid_name",
                "the server keeps names that begin with #sql or #mysql50# for itself",
            );
        } else if server.lower_case_table_names == 1 && name.to_lowercase() != name {
            let message = "this server keeps names of tables in lower case (lower_case_table_names)";
            self.add("tableName", "invalid_name", message);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length: usize = name.chars().map(|c| if is_plain(c) { 1 } else { 5 }).sum();
        if length > FILE_NAME_MAX_BYTES {
            let message = format!(
                "the name takes {length} bytes as that of a file; {FILE_NAME_MAX_BYTES} at most (a character \
                 beyond ASCII letters, digits and _ takes 5)"
            );
            self.add("tableName", "name_too_long", message);
        }
    }

    fn comment(&mut self, member: impl Into<String>, comment: &str, most: usize) {
        let length = comment.chars().count();
        if length > most {
            let message = format!("the comment has {length} characters; {most} at most");
            self.add(member, "not_representable", message);
        } else if let Some(c) = text::beyond_catalogue(comment) {
            let message = format!("the server cannot keep {c:?} in a comment and would put ? for it");
            self.add(member, "not_representable", message);
        }
    }
}

/// A note: the server stores a value different from the requested one.
pub fn adjusted(member: impl Into<String>, message: impl Into<String>) -> Problem {
    Problem::new(member, "adjusted", message)
}
