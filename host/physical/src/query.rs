//! A session for a user's or a model's queries. It is read-only; each statement was judged before and is
//! bounded here, and is cancelled in the database itself at its deadline or when its flag is set. SQLite's
//! own authorizer checks it again.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lakeport_bindings::host::data::{Cell, Column, RowSet};
use lakeport_bindings::host::types::Error;
use lakeport_sql::ReadStatement;

use crate::database::Database;
use crate::script::Bounds;
use crate::session::{Session, Views};

/// Time limit of the session's own statements when it opens.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// The servers' names of decimal types; their values come as texts.
const DECIMALS: [&str; 2] = ["NUMERIC", "DECIMAL"];
/// The decimal digits that a float holds exactly.
const FLOAT_DIGITS: usize = 15;

/// Limits of one query.
#[derive(Clone, Copy, Debug)]
pub struct QueryLimits {
    pub max_rows: usize,
    pub max_bytes: usize,
    pub timeout: Duration,
}

/// A session for queries.
pub struct QuerySession {
    session: Arc<Session>,
    /// It is not for other topics.
    has_views: bool,
}

impl QuerySession {
    /// Opens a session that can read the tables of a database, or these views instead of them. Running
    /// statements end once `cancelled` is set.
    pub async fn open(
        database: &Database,
        views: Option<&Views>,
        cancelled: Arc<AtomicBool>,
    ) -> Result<QuerySession, Error> {
        let session = database.open_to_query(views.is_some()).await?;
        session.cancelled_by(cancelled);
        if let Some(views) = views {
            session.restrict(views, OPEN_TIMEOUT).await?;
        }
        Ok(QuerySession { session, has_views: views.is_some() })
    }

    /// Runs a statement that passed the guard. SQLite gives a computed column no type: it gets the type of
    /// its first value, or none without a value. Decimal numbers that a float holds exactly become numbers.
    pub async fn run(&self, statement: &ReadStatement, limits: QueryLimits) -> Result<RowSet, Error> {
        let QueryLimits { max_rows, max_bytes, timeout } = limits;
        let mut found = self.session.read(statement, Bounds { max_rows, max_bytes, timeout }).await?;
        let is_decimal = |column: &Column| DECIMALS.contains(&column.type_text.as_str());
        let decimals: Vec<usize> =
            (0..found.columns.len()).filter(|&place| is_decimal(&found.columns[place])).collect();
        for row in &mut found.rows {
            for &place in &decimals {
                row[place] = counted(std::mem::replace(&mut row[place], Cell::Null));
            }
        }
        for (place, column) in
            found.columns.iter_mut().enumerate().filter(|(_, one)| one.type_text.is_empty())
        {
            let first = found.rows.iter().find_map(|row| storage_class(&row[place]));
            first.unwrap_or_default().clone_into(&mut column.type_text);
        }
        Ok(found)
    }

    /// Ends the session. A SQLite file may stay open for the next one: the authorizer let no statement leave anything
    /// behind.
    pub async fn close(self) {
        if self.has_views { self.session.close().await } else { self.session.rest().await }
    }
}

/// A decimal as a number if that loses nothing.
fn counted(cell: Cell) -> Cell {
    let Cell::Text(text) = &cell else { return cell };
    let digits = text.chars().filter(char::is_ascii_digit).count();
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(whole), _) => Cell::Integer(whole),
        (_, Ok(number)) if digits <= FLOAT_DIGITS => Cell::Float(number),
        _ => cell,
    }
}

/// SQLite's storage class of a value; `None` for NULL.
fn storage_class(cell: &Cell) -> Option<&'static str> {
    match cell {
        Cell::Null => None,
        Cell::Boolean(_) | Cell::Integer(_) => Some("INTEGER"),
        Cell::Float(_) => Some("REAL"),
        Cell::Bytes(_) => Some("BLOB"),
        _ => Some("TEXT"),
    }
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
