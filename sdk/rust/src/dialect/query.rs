//! Builds a reading statement: constant SQL, with separate names and values.

use super::{Connection, Fragment, Limits};
use crate::{Cell, Error, RowSet};

/// A reading statement under construction.
///
/// ```
/// use lakeport_sdk::dialect::Query;
///
/// let query = Query::new("SELECT count(*) AS n FROM ").name(["main", "orders"]).sql(" WHERE day = ").value("2026-01-31");
/// assert_eq!(query.fragments().len(), 4);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a query does nothing until it is run"]
pub struct Query {
    fragments: Vec<Fragment>,
}

impl Query {
    /// Begins with constant SQL of the plugin; hence `'static`.
    pub fn new(sql: &'static str) -> Query {
        Query { fragments: Vec::new() }.sql(sql)
    }

    /// More constant SQL. Do not put names and values here.
    pub fn sql(self, sql: &'static str) -> Query {
        self.fragment(Fragment::Sql(sql.to_owned()))
    }

    /// A name, quoted by the host.
    pub fn name<S: Into<String>>(self, parts: impl IntoIterator<Item = S>) -> Query {
        self.fragment(Fragment::Name(parts.into_iter().map(Into::into).collect()))
    }

    /// A value, bound or written as a literal by the host.
    pub fn value(self, value: impl Into<Cell>) -> Query {
        self.fragment(Fragment::Value(value.into()))
    }

    /// Values separated by commas, for `IN (…)`.
    pub fn values<V: Into<Cell>>(mut self, values: impl IntoIterator<Item = V>) -> Query {
        for (index, value) in values.into_iter().enumerate() {
            if index > 0 {
                self = self.sql(", ");
            }
            self = self.value(value);
        }
        self
    }

    /// Any fragment.
    pub fn fragment(mut self, fragment: Fragment) -> Query {
        self.fragments.push(fragment);
        self
    }

    /// The fragments.
    pub fn fragments(self) -> Vec<Fragment> {
        self.fragments
    }

    /// Runs it within the host's own limits. A truncated answer is `limit_exceeded`: missing rows must not
    /// count as absent objects.
    pub fn run(self, connection: &Connection) -> Result<RowSet, Error> {
        let rows = self.run_within(connection, Limits { max_rows: 0, max_bytes: 0, timeout_ms: 0 })?;
        if rows.truncated {
            return Err(Error::limit_exceeded(format!(
                "the database's answer was cut off after {} rows",
                rows.rows.len()
            )));
        }
        Ok(rows)
    }

    /// Runs it within these limits; the caller checks whether the answer was truncated.
    pub fn run_within(self, connection: &Connection, limits: Limits) -> Result<RowSet, Error> {
        connection.query(&self.fragments, limits)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Cell {
        Cell::Integer(number)
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Cell {
        Cell::Boolean(value)
    }
}
