//! Doris' restrictions on names and tables.

use lakeport_sdk::dialect::Problem;
pub use lakeport_sdk::dialect::Problems;

use crate::server::{Product, Server};

/// Prefixes of field names that the servers reserve.
const HIDDEN_FIELDS: [&str; 2] = ["__doris_", "__starrocks_"];

/// Checks of Doris' restrictions.
pub trait Checks {
    /// A new name of a table, which the host has checked against the rules.
    fn table_name(&mut self, server: &Server, name: &str);

    /// A new name of a field, likewise.
    fn field_name(&mut self, server: &Server, member: &str, name: &str);
}

impl Checks for Problems {
    fn table_name(&mut self, server: &Server, name: &str) {
        if name.is_empty() {
            self.add("tableName", "missing", "a table needs a name");
        }
        letters(self, server, "tableName", name);
        if server.lower_case_tables && name.chars().any(char::is_uppercase) {
            let message = format!("{} keeps names of tables in lower case", server.shown());
            self.add("tableName", "invalid_name", message);
        }
    }

    fn field_name(&mut self, server: &Server, member: &str, name: &str) {
        if name.is_empty() {
            self.add(member, "missing", "a field needs a name");
        }
        letters(self, server, member, name);
        let lower = name.to_ascii_lowercase();
        if let Some(start) = HIDDEN_FIELDS.iter().find(|start| lower.starts_with(**start)) {
            let message = format!("the server keeps names that begin with {start} for itself");
            self.add(member, "invalid_name", message);
        }
    }
}

fn letters(problems: &mut Problems, server: &Server, member: &str, name: &str) {
    if server.product == Product::Doris && !server.unicode_names && !name.is_ascii() {
        let message = "this Doris takes ASCII names only; SET GLOBAL enable_unicode_name_support = true \
                       would let it take others";
        problems.add(member, "invalid_name", message);
    }
}

/// A value that is stored differently from the requested one.
pub fn adjusted(member: &str, message: impl Into<String>) -> Problem {
    Problem::new(member, "adjusted", message)
}

/// Whether two names of fields are equal to the servers.
pub fn same_name(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}
