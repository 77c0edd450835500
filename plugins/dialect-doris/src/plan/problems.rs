//! Collecting what is wrong, all at once and one problem for each member.

use lakeport_sdk::dialect::{Problem, Table};

use crate::server::{Product, Server};

/// Beginnings of field names that the servers keep for themselves.
const HIDDEN_FIELDS: [&str; 2] = ["__doris_", "__starrocks_"];

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

    /// What the server cannot do at all.
    pub fn unsupported(&mut self, member: impl Into<String>, message: impl Into<String>) {
        self.add(member, "unsupported_by_dialect", message);
    }

    /// A text that cannot be kept as it is.
    pub fn not_representable(&mut self, member: impl Into<String>, message: impl Into<String>) {
        self.add(member, "not_representable", message);
    }

    /// Only tables are planned for.
    pub fn only_tables(&mut self, table: &Table) {
        if table.kind != "table" {
            self.unsupported("", format!("{} is a {}; only tables are changed", table.name.name, table.kind));
        }
    }

    /// A new name of a table, which the host has checked against the rules.
    pub fn table_name(&mut self, server: &Server, name: &str) {
        if name.is_empty() {
            self.add("tableName", "missing", "a table needs a name");
        }
        self.letters(server, "tableName", name);
        if server.lower_case_tables && name.chars().any(char::is_uppercase) {
            let message = format!("{} keeps names of tables in lower case", server.shown());
            self.add("tableName", "invalid_name", message);
        }
    }

    /// A new name of a field, likewise.
    pub fn field_name(&mut self, server: &Server, member: &str, name: &str) {
        if name.is_empty() {
            self.add(member, "missing", "a field needs a name");
        }
        self.letters(server, member, name);
        let lower = name.to_ascii_lowercase();
        if let Some(start) = HIDDEN_FIELDS.iter().find(|start| lower.starts_with(**start)) {
            let message = format!("the server keeps names that begin with {start} for itself");
            self.add(member, "invalid_name", message);
        }
    }

    fn letters(&mut self, server: &Server, member: &str, name: &str) {
        if server.product == Product::Doris && !server.unicode_names && !name.is_ascii() {
            let message = "this Doris takes ASCII names only; SET GLOBAL enable_unicode_name_support = true \
                           would let it take others";
            self.add(member, "invalid_name", message);
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

/// Something that becomes other than it was asked.
pub fn adjusted(member: &str, message: impl Into<String>) -> Problem {
    Problem::new(member, "adjusted", message)
}

/// Whether two names of fields are one to the servers.
pub fn same_name(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}
