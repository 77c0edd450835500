//! A task's statements on a database, in one transaction: all changes are kept, or none.
//!
//! Statements arrive judged ([`ScriptStatement`]); no other text of a user is ever sent. A running statement
//! is cancelled in the database itself, at the deadline or when its flag is set.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::script::ScriptStatement;

use crate::database::Database;
use crate::errors::is_locked;
use crate::script::{Ran, Shown};
use crate::session::Session;

/// How long a task waits for a write lock that other programs hold.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(60);
/// Time limit of the host's own statements: the commit of a large transaction is one of them.
const OWN_TIMEOUT: Duration = Duration::from_secs(600);
/// The session's clock counts whole milliseconds and may cut this much off a deadline.
const ROUNDED_OFF: Duration = Duration::from_millis(2);

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

#[cfg(test)]
#[path = "task_tests.rs"]
mod tests;
