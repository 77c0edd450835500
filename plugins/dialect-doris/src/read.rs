//! Reads. A query is constant SQL with names and values as parameters; reading its answer is a pure function.
//!
//! The catalogue is queried for many tables at once. In most versions, defaults, numbering and the members of
//! structures are available for one table at a time only (`DESC`), and in Doris and older StarRocks a table's
//! layout only in the text of `SHOW CREATE TABLE`.

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

/// The host's own limits.
const HOSTS: Limits = Limits { max_rows: 0, max_bytes: 0, timeout_ms: 0 };

/// The server's own statement that creates the table.
pub fn ddl(connection: &Connection, table: &TableName) -> Result<String, Error> {
    let rows = shown::query(table).run(connection).map_err(|error| missing(error, table))?;
    shown::text_of(&rows).map(str::to_owned)
}

/// Recognises the server's errors for an unknown table or database.
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

/// A cell as text, of any type; `None` for NULL or a missing column.
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

/// A cell as a non-negative number, if it is one.
fn number(row: &Row<'_>, column: &str) -> Option<u64> {
    plain(row, column)?.trim().parse().ok()
}

/// The names of a list without duplicates, in order.
fn once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = std::collections::BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// Runs a query and, if its answer does not fit, runs it in halves.
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
