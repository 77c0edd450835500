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
use crate::mark::{Mark, Tracking};
use crate::naming::name_session;
use crate::script::{Ran, Shown};
use crate::session::Session;

/// How long a task waits for a write lock that other programs hold.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(60);
/// Time limit of the host's own statements: the commit of a large transaction is one of them.
const OWN_TIMEOUT: Duration = Duration::from_secs(600);
/// The session's clock counts whole milliseconds and may cut this much off a deadline.
const ROUNDED_OFF: Duration = Duration::from_millis(2);

/// What is known of a task's script before it begins.
#[derive(Clone, Debug)]
pub struct TaskPlan {
    /// It waits for the write lock.
    pub writes: bool,
    /// A statement of it ends the transaction in the database: what came before is kept at once.
    pub commits_early: bool,
    /// It defines nothing, not even something temporary: the session is afterwards as it was before.
    pub leaves_session: bool,
    /// One statement that only reads.
    pub is_one_read: bool,
    /// Names the session and the transaction in the database; unique among all tasks of all servers. At most 64 letters, digits and
    /// hyphens.
    pub name: String,
    /// A SQLite file may get a table of ours, in which the task's row tells that it has committed.
    pub may_add_table: bool,
}

/// A session with a transaction. Dropping it before [`TaskSession::prepare`] rolls back.
pub struct TaskSession {
    session: Arc<Session>,
    /// Its name in the database.
    name: Option<String>,
    tracking: Tracking,
    leaves_session: bool,
    deadline: Option<Instant>,
    stopped: Arc<AtomicBool>,
}

impl TaskSession {
    /// Opens a session and begins. Running statements end once `stopped` is set, or at the deadline.
    pub async fn begin(
        database: &Database,
        plan: TaskPlan,
        deadline: Option<Instant>,
        stopped: Arc<AtomicBool>,
    ) -> Result<TaskSession, Error> {
        let session = database.open_to_change().await?;
        session.cancelled_by(Arc::clone(&stopped));
        let (writes, leaves_session) = (plan.writes, plan.leaves_session);
        let name = name_session(&session, &plan.name).await?.then(|| plan.name.clone());
        let tracking = Tracking::of(&session, plan).await?;
        let mut task = TaskSession { session, name, tracking, leaves_session, deadline, stopped };
        let patience = Instant::now() + LOCK_WAIT_MAX;
        loop {
            let left = task.time_left(OWN_TIMEOUT);
            let began = task.tracking.begin(&task.session, writes, left).await;
            match began {
                Ok(()) => return Ok(task),
                Err(cause) if is_locked(&cause) && Instant::now() < patience && !task.is_over() => {}
                Err(cause) => return Err(cause),
            }
        }
    }

    /// By what [`crate::task_outcome`] ends the session; to be kept before the first statement.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Runs one statement to its end.
    pub async fn run(&self, statement: &ScriptStatement, shown: Shown) -> Result<Ran, Error> {
        if self.is_over() {
            return Err(error("cancelled", "the statement was stopped"));
        }
        let ran = self.session.script(statement, shown, self.time_left(Duration::MAX)).await?;
        // A statement that was killed may end as if it had come to its end: MariaDB's BENCHMARK does.
        if self.is_over() { Err(error("cancelled", "the statement was stopped")) } else { Ok(ran) }
    }

    /// What tells, after the commit, that it was made; to be kept before [`TaskSession::prepare`]. `None`: nothing will,
    /// or nothing was changed.
    pub async fn mark(&self) -> Result<Option<Mark>, Error> {
        self.tracking.mark(&self.session).await
    }

    /// Prepares the commit where the database has such a step, and returns the mark to be kept from now on. After it, also
    /// after its failure, only [`TaskSession::commit`], [`TaskSession::roll_back`] and the mark's outcome end the
    /// transaction.
    pub async fn prepare(&self) -> Result<Option<Mark>, Error> {
        self.session.not_cancelled();
        self.tracking.prepare(&self.session).await
    }

    /// Commits. Waits for readers until `stopped` is set or the deadline is reached.
    pub async fn commit(self) -> Result<(), Error> {
        let committed = self.commit_when_free().await;
        match committed {
            Ok(()) if self.leaves_session => self.session.rest().await,
            _ => self.session.close().await,
        }
        committed
    }

    /// If a commit is blocked, SQLite keeps the transaction open.
    async fn commit_when_free(&self) -> Result<(), Error> {
        let patience = Instant::now() + LOCK_WAIT_MAX;
        // Of a commit that is broken off it is unknown whether it was made.
        self.session.not_cancelled();
        self.tracking.wait_shortly(&self.session, OWN_TIMEOUT).await?;
        loop {
            match self.tracking.commit(&self.session, OWN_TIMEOUT).await {
                Err(cause) if is_locked(&cause) && Instant::now() < patience && !self.is_over() => {}
                outcome => return outcome,
            }
        }
    }

    /// Rolls back.
    pub async fn roll_back(self) {
        self.tracking.roll_back(&self.session).await;
        // The database rolls back when the session is closed.
        self.session.close().await;
    }

    /// Leaves a prepared transaction to the mark's outcome.
    pub async fn leave(self) {
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
