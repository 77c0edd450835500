//! Reads. A question is constant SQL with names and values apart; reading its answer is a pure function.
//!
//! What the catalogue tells of many tables at once is asked at once. Defaults, numbering and the members of
//! structures most versions tell only of one table at a time (`DESC`), and how a table is laid out Doris and
//! older StarRocks tell only in the text of `SHOW CREATE TABLE`.

mod access;
mod inspect;
mod lists;
mod shown;
mod sizes;
mod who;

pub use access::access;
pub use inspect::{Answers, Of, inspect, table_of};
pub use lists::{databases, tables};
pub use shown::{Shown, shown};
pub use sizes::statistics;
pub use who::{server, server_of};

use lakeport_sdk::Row;
use lakeport_sdk::dialect::{Connection, Error, Limits, Query, RowSet, TableName};

/// The host's own bounds.
const HOSTS: Limits = Limits { max_rows: 0, max_bytes: 0, timeout_ms: 0 };

/// The statement that makes the table, in the server's own words.
pub fn ddl(connection: &Connection, table: &TableName) -> Result<String, Error> {
    let rows = shown::query(table).run(connection).map_err(|error| missing(error, table))?;
    shown::text_of(&rows).map(str::to_owned)
}

/// An answer of the server that there is no such table, or no such database.
fn missing(error: Error, table: &TableName) -> Error {
    let upstream = error.upstream.as_ref();
    let code = upstream.and_then(|upstream| upstream.code.as_deref()).unwrap_or_default();
    let message = upstream.map(|upstream| upstream.message.to_ascii_lowercase()).unwrap_or_default();
    let unknown = ["1049", "1051", "1109", "1146", "5502"].contains(&code)
        || ["unknown table", "unknown database", "does not exist", "can not find table"]
            .iter()
            .any(|words| message.contains(words));
    if error.code == "upstream_failed" && unknown { no_table(table) } else { error }
}

fn no_table(table: &TableName) -> Error {
    Error::not_found(format!("there is no table {:?} in {:?}", table.name, table.database))
}

/// A cell as text, whatever it came as; nothing for NULL or where the column is not there.
fn plain<'a>(row: &Row<'a>, column: &str) -> Option<std::borrow::Cow<'a, str>> {
    use lakeport_sdk::Cell;
    match row.cell(column).ok()? {
        Cell::Text(text) => Some(text.as_str().into()),
        Cell::Integer(number) => Some(number.to_string().into()),
        Cell::Boolean(value) => Some(value.to_string().into()),
        Cell::Float(number) => Some(number.to_string().into()),
        Cell::Bytes(bytes) => std::str::from_utf8(bytes).ok().map(Into::into),
        Cell::Null => None,
    }
}

/// A number of a cell, where it is one that is not negative.
fn number(row: &Row<'_>, column: &str) -> Option<u64> {
    plain(row, column)?.trim().parse().ok()
}

/// The names of a list, once each, in the order in which they come.
fn once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = std::collections::BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// Runs a question, and where its answer does not fit, the question in halves.
fn in_halves(
    connection: &Connection,
    names: &[&str],
    ask: &dyn Fn(&[&str]) -> Query,
) -> Result<RowSet, Error> {
    match ask(names).run(connection) {
        Err(error) if error.code == "limit_exceeded" && names.len() > 1 => {
            let (one, other) = names.split_at(names.len() / 2);
            let mut rows = in_halves(connection, one, ask)?;
            rows.rows.extend(in_halves(connection, other, ask)?.rows);
            Ok(rows)
        }
        answer => answer,
    }
}

#[cfg(test)]
#[path = "read/tests.rs"]
mod tests;
