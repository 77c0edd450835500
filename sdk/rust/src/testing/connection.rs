//! The session of a database, lent to a dialect: statements and rows of the test's script.

use crate::bindings::dialect::connection::Limits;
use crate::bindings::dialect::statements::Fragment;
use crate::testing::state::{Family, HostState};
use crate::testing::with_state;
use crate::{Cell, Column, Error, RowSet};

/// A session that answers from the script. [`TestHost::connection`](super::TestHost::connection) makes it.
#[derive(Debug)]
pub struct Connection {
    _made_by_the_host: (),
}

impl Connection {
    pub(super) fn new() -> Connection {
        Connection { _made_by_the_host: () }
    }

    /// Runs one reading statement: answers the next one of the script, or fails the test. The limit of rows cuts
    /// the answer; the limit of bytes does not.
    pub fn query(&self, statement: &[Fragment], limits: Limits) -> Result<RowSet, Error> {
        with_state(|state| {
            state.call_of("connection", &[Family::Dialect]);
            next_rows(state, &shown(statement), limits)
        })
    }
}

fn next_rows(state: &mut HostState, sent: &str, limits: Limits) -> Result<RowSet, Error> {
    let Some((part, answer)) = state.statements.pop_front() else {
        panic!("the statement was not expected; the script is at its end\n\ngot\n  {sent}");
    };
    assert!(
        in_one_line(sent).contains(&in_one_line(&part)),
        "the statement differs from the script\n\nexpected\n  … {part} …\ngot\n  {sent}"
    );
    let mut rows = answer?;
    let max = limits.max_rows as usize;
    if max > 0 && rows.rows.len() > max {
        rows.rows.truncate(max);
        rows.truncated = true;
    }
    Ok(rows)
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The statement as a person reads it.
fn shown(statement: &[Fragment]) -> String {
    let quoted = |quote: &str, text: &str| format!("{quote}{}{quote}", text.replace(quote, &quote.repeat(2)));
    let fragment = |fragment: &Fragment| match fragment {
        Fragment::Sql(sql) => sql.clone(),
        Fragment::Name(parts) => parts.iter().map(|part| quoted("\"", part)).collect::<Vec<_>>().join("."),
        Fragment::Value(Cell::Null) => "NULL".to_owned(),
        Fragment::Value(Cell::Boolean(value)) => value.to_string(),
        Fragment::Value(Cell::Integer(number)) => number.to_string(),
        Fragment::Value(Cell::Float(number)) => number.to_string(),
        Fragment::Value(Cell::Text(text)) => quoted("'", text),
        Fragment::Value(Cell::Bytes(bytes)) => format!("{bytes:02x?}"),
    };
    statement.iter().map(fragment).collect()
}

/// Rows for an answer: `rows(["name", "size"], [[Cell::from("orders"), Cell::from(7)]])`.
pub fn rows<const N: usize>(columns: [&str; N], rows: impl IntoIterator<Item = [Cell; N]>) -> RowSet {
    let column = |name: &str| Column { name: name.to_owned(), type_text: String::new() };
    RowSet {
        columns: columns.map(column).into(),
        rows: rows.into_iter().map(Vec::from).collect(),
        truncated: false,
    }
}
