//! One attempt at a task: its SQL on its data source, its log, and its result.

mod accesses;
mod ledger;
mod log;
mod mark;
pub mod shell;
mod sources;
mod sql;
pub mod store;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use lakeport_base::Error;
use lakeport_base::error::FAILED;
use lakeport_base::failpoints;
use lakeport_base::text::shortened;
use tokio_util::sync::CancellationToken;

use super::definition::{Definition, Task};
use super::refused::MESSAGE_MAX_CHARS;
use super::store::{Run, State};
use crate::queries::Query;
use crate::scheduler::Scheduler;
pub use accesses::Accesses;
pub use ledger::{End, Ledger, Note, Unrecorded};
pub use log::{Log, line};
pub use mark::Mark;
pub use sources::Sources;
pub use sql::Stop;

/// The types of tasks that run here.
const SQL: &str = "SQL";
const SHELL: &str = "SHELL";
/// The pause before recording a result is retried.
const RECORD_AGAIN: Duration = Duration::from_millis(500);

/// A started attempt with its inputs.
pub struct Try {
    pub state: Arc<Scheduler>,
    pub ledger: Arc<Ledger>,
    pub unrecorded: Arc<Unrecorded>,
    pub sources: Arc<Sources>,
    pub accesses: Arc<Accesses>,
    pub run: Arc<Run>,
    pub definition: Arc<Definition>,
    /// The task's index in the definition.
    pub place: usize,
    pub id: i64,
    /// The task has retries left if it fails.
    pub has_retries: bool,
    pub log: Log,
    pub stops: Stops,
    /// So it does no harm if its result is lost with the server.
    pub has_only_read: bool,
    /// The tables that it has read and written.
    pub accessed: Option<Query>,
}

/// The signals that end an attempt early.
#[derive(Clone)]
pub struct Stops {
    /// Its run must stop: that is recorded.
    pub cancelled: CancellationToken,
    /// This worker stops, or its lease is lost: nothing is recorded, and the next one starts the task again.
    pub halted: CancellationToken,
}

impl Stops {
    /// Why the attempt must end, if it must.
    fn now(&self) -> Option<Stop> {
        if self.halted.is_cancelled() {
            return Some(Stop::Halted);
        }
        self.cancelled.is_cancelled().then_some(Stop::Cancelled)
    }

    /// Resolves when the attempt must end.
    async fn told(&self) -> Stop {
        tokio::select! {
            biased;
            () = self.halted.cancelled() => Stop::Halted,
            () = self.cancelled.cancelled() => Stop::Cancelled,
        }
    }
}

impl Try {
    fn task(&self) -> &Task {
        &self.definition.tasks[self.place]
    }

    /// Runs it and records the result, unless it is halted; returns what was recorded.
    pub async fn run(mut self) -> Option<State> {
        let working = AssertUnwindSafe(Box::pin(self.work())).catch_unwind();
        let outcome = working.await.unwrap_or_else(|_| Err(Stop::Failed(FAILED.to_owned())));
        let (state, message, rows) = match outcome {
            Ok(rows) => (State::Success, None, rows),
            Err(Stop::Failed(message)) => (State::Failed, Some(shortened(&message, MESSAGE_MAX_CHARS)), None),
            Err(Stop::Cancelled) => (State::Stopped, Some("it was stopped with its run".to_owned()), None),
            Err(Stop::Halted) => return None,
        };
        let now_ms = self.state.clock.now_ms();
        self.log.end(now_ms, state, message.as_deref(), rows);
        let is_tried_again = state == State::Failed && self.has_retries;
        let ended = store::Ended { state, message, rows_affected: rows, is_tried_again };
        if let Some(accessed) = &mut self.accessed {
            accessed.at_ms = now_ms;
        }
        loop {
            // Once more when this worker stops: it has its lease until all attempts have ended.
            let is_last = self.stops.halted.is_cancelled();
            let end = End {
                run_id: self.run.id,
                ended: ended.clone(),
                log: self.log.pending(),
                accessed: self.accessed.clone(),
                may_wait: self.has_only_read,
            };
            match self.ledger.write(self.id, Note::End(end.clone())).await {
                Ok(is_recorded) => {
                    failpoints::reach("runner.task_recorded");
                    return is_recorded.then_some(state);
                }
                Err(error) => tracing::warn!(
                    task_run = self.id,
                    "recording the result of a task failed, trying again: {error}"
                ),
            }
            if is_last {
                self.unrecorded.keep(self.id, end);
                return None;
            }
            self.stops.halted.run_until_cancelled(tokio::time::sleep(RECORD_AGAIN)).await;
        }
    }

    /// Returns the number of changed rows, if it counts them.
    async fn work(&mut self) -> Result<Option<i64>, Stop> {
        match self.task().kind.as_str() {
            SQL => sql::run(self).await.map(Some),
            SHELL => shell::run(self).await.map(|()| None),
            kind => {
                Err(Stop::Failed(format!("tasks of the type {kind} do not run here; {SQL} and {SHELL} do")))
            }
        }
    }

    /// Names and values; the run's parameters take precedence over the workflow's.
    fn global(&self) -> Vec<(String, String)> {
        self.run.params.iter().chain(&self.definition.params).cloned().collect()
    }

    /// Writes the log so far; after a failure the next write includes it.
    async fn write_log(&mut self) {
        if let Err(error) = self.try_write_log().await {
            tracing::debug!(task_run = self.id, "a part of a log is not written yet: {error}");
        }
    }

    async fn try_write_log(&mut self) -> Result<(), Error> {
        if self.log.is_written() {
            return Ok(());
        }
        let pending = self.log.pending();
        let mut tx = self.state.db.begin().await?;
        tx.guard(self.ledger.held()).await?;
        store::append(&mut tx, &pending.pieces(self.id))?;
        tx.commit().await?;
        self.log.was_written(&pending);
        Ok(())
    }
}
