//! A session for a user's or a model's queries: read-only, each statement judged before and bounded here, stopped
//! in the database itself when its time is over or its flag is set, and SQLite's own authorizer behind it all.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lakeport_bindings::host::data::RowSet;
use lakeport_bindings::host::types::Error;
use lakeport_sql::ReadStatement;

use crate::authority::Views;
use crate::database::Database;
use crate::session::{Bounds, Session};

/// What the session's own statements may take when it is opened.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// What one query may take.
#[derive(Clone, Copy, Debug)]
pub struct QueryLimits {
    pub max_rows: usize,
    pub max_bytes: usize,
    pub timeout: Duration,
}

/// A session that answers queries.
pub struct QuerySession(Arc<Session>);

impl QuerySession {
    /// Opens a session that can read the tables of a database, or these views instead of them. Whatever runs in it
    /// ends once `cancelled` is set.
    pub async fn open(
        database: &Database,
        views: Option<&Views>,
        cancelled: Arc<AtomicBool>,
    ) -> Result<QuerySession, Error> {
        let session = database.open_to_read().await?;
        session.cancelled_by(cancelled);
        session.restrict(views, OPEN_TIMEOUT).await?;
        Ok(QuerySession(session))
    }

    /// Runs a statement that the guard let through.
    pub async fn run(&self, statement: &ReadStatement, limits: QueryLimits) -> Result<RowSet, Error> {
        let QueryLimits { max_rows, max_bytes, timeout } = limits;
        self.0.read(statement, Bounds { max_rows, max_bytes, timeout }).await
    }

    /// Ends the session in order.
    pub async fn close(self) {
        self.0.close().await;
    }
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
