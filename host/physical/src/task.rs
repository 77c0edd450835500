//! A task's statements on a database, in one transaction: all changes are kept, or none.
//!
//! Statements arrive judged ([`ScriptStatement`]); no other text of a user is ever sent. A running statement
//! is cancelled in the database itself, at the deadline or when its flag is set.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lakeport_bindings::host::data::Cell;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::script::ScriptStatement;
use lakeport_sql::{ReadStatement, Transport};

use crate::database::Database;
use crate::errors::is_locked;
use crate::script::{Bounds, Ran, Shown};
use crate::session::Session;

/// How long a task waits for a write lock that other programs hold.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(60);
/// Time limit of the host's own statements: the commit of a large transaction is one of them.
const OWN_TIMEOUT: Duration = Duration::from_secs(600);
/// The session's clock counts whole milliseconds and may cut this much off a deadline.
const ROUNDED_OFF: Duration = Duration::from_millis(2);

const MARK: &str = "SELECT CAST(pg_catalog.txid_current_if_assigned() AS text)";
/// Of questions about a mark.
const MARK_BOUNDS: Bounds = Bounds { max_rows: 1, max_bytes: 1_024, timeout: Duration::from_secs(5) };

/// A session with a transaction. Dropping it before [`TaskSession::commit`] rolls back.
pub struct TaskSession {
    session: Arc<Session>,
    deadline: Option<Instant>,
    stopped: Arc<AtomicBool>,
}

impl TaskSession {
    /// Opens a session and begins. A script that `writes` waits for the write lock. Running statements end
    /// once `stopped` is set, or at the deadline.
    pub async fn begin(
        database: &Database,
        writes: bool,
        deadline: Option<Instant>,
        stopped: Arc<AtomicBool>,
    ) -> Result<TaskSession, Error> {
        let session = database.open_to_change().await?;
        session.cancelled_by(Arc::clone(&stopped));
        let task = TaskSession { session, deadline, stopped };
        let patience = Instant::now() + LOCK_WAIT_MAX;
        loop {
            match task.session.begin_task(writes, task.time_left(OWN_TIMEOUT)).await {
                Ok(()) => return Ok(task),
                Err(cause) if is_locked(&cause) && Instant::now() < patience && !task.is_over() => {}
                Err(cause) => return Err(cause),
            }
        }
    }

    /// Runs one statement to its end.
    pub async fn run(&self, statement: &ScriptStatement, shown: Shown) -> Result<Ran, Error> {
        if self.is_over() {
            return Err(error("cancelled", "the statement was stopped"));
        }
        self.session.script(statement, shown, self.time_left(Duration::MAX)).await
    }

    /// The database's name of the transaction, by which [`outcome`] finds it after its commit; `None`: it has none, or
    /// nothing was changed.
    pub async fn mark(&self) -> Result<Option<String>, Error> {
        if self.session.transport() != Transport::Postgres {
            return Ok(None);
        }
        first_text(&self.session, MARK).await
    }

    /// Commits. Waits for readers until `stopped` is set or the deadline is reached.
    pub async fn commit(self) -> Result<(), Error> {
        let committed = self.commit_when_free().await;
        self.session.close().await;
        committed
    }

    /// If a commit is blocked, SQLite keeps the transaction open.
    async fn commit_when_free(&self) -> Result<(), Error> {
        let patience = Instant::now() + LOCK_WAIT_MAX;
        // Of a commit that is broken off it is unknown whether it was made.
        self.session.not_cancelled();
        self.session.wait_shortly(OWN_TIMEOUT).await?;
        loop {
            match self.session.commit(OWN_TIMEOUT).await {
                Err(cause) if is_locked(&cause) && Instant::now() < patience && !self.is_over() => {}
                outcome => return outcome,
            }
        }
    }

    /// Rolls back.
    pub async fn roll_back(self) {
        // The database rolls back when the session is closed.
        self.session.close().await;
    }

    fn is_over(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
            || self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    fn time_left(&self, otherwise: Duration) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now()) + ROUNDED_OFF;
        self.deadline.map_or(otherwise, left)
    }
}

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    RolledBack,
    InProgress,
    /// The database does not remember it.
    Forgotten,
}

/// What became of the transaction with this [`TaskSession::mark`].
pub async fn outcome(database: &Database, mark: &str) -> Result<Outcome, Error> {
    if mark.is_empty() || !mark.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(Outcome::Forgotten);
    }
    let session = database.open_to_query(false).await?;
    let status = first_text(&session, &format!("SELECT pg_catalog.txid_status({mark})")).await;
    session.close().await;
    Ok(match status?.as_deref() {
        Some("committed") => Outcome::Committed,
        Some("aborted") => Outcome::RolledBack,
        Some("in progress") => Outcome::InProgress,
        _ => Outcome::Forgotten,
    })
}

/// The first column of the first row.
async fn first_text(session: &Session, sql: &str) -> Result<Option<String>, Error> {
    let statement = ReadStatement { sql: sql.to_owned(), binds: Vec::new() };
    let rows = session.read(&statement, MARK_BOUNDS).await?;
    Ok(match rows.rows.first().and_then(|row| row.first()) {
        Some(Cell::Text(text)) => Some(text.clone()),
        _ => None,
    })
}

#[cfg(test)]
#[path = "task_tests.rs"]
mod tests;
