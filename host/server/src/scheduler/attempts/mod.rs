//! One attempt at a task: its SQL on its data source, its log, and its result.

mod log;
mod mark;
mod reads;
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
use lakeport_store::Held;
use tokio_util::sync::CancellationToken;

use super::TOPIC;
use super::definition::{Definition, Task};
use super::refused::MESSAGE_MAX_CHARS;
use super::store::{Run, State};
use crate::scheduler::Scheduler;
pub use log::{Log, line};
pub use mark::Mark;
pub use sql::Stop;

/// The pause before recording a result is retried.
const RECORD_AGAIN: Duration = Duration::from_millis(500);

/// A started attempt with its inputs.
pub struct Try {
    pub state: Arc<Scheduler>,
    pub held: Arc<Held>,
    pub run: Arc<Run>,
    pub definition: Arc<Definition>,
    /// The task's index in the definition.
    pub place: usize,
    pub id: i64,
    /// The task has retries left if it fails.
    pub has_retries: bool,
    pub log: Log,
    pub stops: Stops,
}

/// The signals that end an attempt early.
#[derive(Clone)]
pub struct Stops {
    /// Its run must stop: that is recorded.
    pub cancelled: CancellationToken,
    /// This worker stops: nothing is recorded, and the next one starts the task again.
    pub halted: CancellationToken,
}

impl Stops {
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

    /// Runs it and records the result, unless it is halted.
    pub async fn run(mut self) {
        let working = AssertUnwindSafe(sql::run(&mut self)).catch_unwind();
        let outcome = working.await.unwrap_or_else(|_| Err(Stop::Failed(FAILED.to_owned())));
        let (state, message, rows) = match outcome {
            Ok(rows) => (State::Success, None, Some(rows)),
            Err(Stop::Failed(message)) => (State::Failed, Some(shortened(&message, MESSAGE_MAX_CHARS)), None),
            Err(Stop::Cancelled) => (State::Stopped, Some("it was stopped with its run".to_owned()), None),
            Err(Stop::Halted) => return,
        };
        let now_ms = self.state.clock.now_ms();
        self.log.end(now_ms, state, message.as_deref(), rows);
        let is_tried_again = state == State::Failed && self.has_retries;
        let ended = store::Ended { state, message: message.as_deref(), rows_affected: rows, is_tried_again };
        while let Err(error) = self.record(&ended).await {
            tracing::warn!(
                task_run = self.id,
                "recording the result of a task failed, trying again: {error}"
            );
            let waited = self.stops.halted.run_until_cancelled(tokio::time::sleep(RECORD_AGAIN)).await;
            if waited.is_none() {
                return;
            }
        }
    }

    async fn record(&mut self, ended: &store::Ended<'_>) -> Result<(), Error> {
        let now_ms = self.state.clock.now_ms();
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        if !store::end(&mut tx, self.id, ended, now_ms).await? {
            return Ok(());
        }
        let written = self.log.write(&mut tx, self.id).await?;
        tx.changed(TOPIC, self.run.id.to_string());
        tx.commit().await?;
        self.log.was_written(written);
        failpoints::reach("runner.task_recorded");
        Ok(())
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
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        let written = self.log.write(&mut tx, self.id).await?;
        tx.commit().await?;
        self.log.was_written(written);
        Ok(())
    }
}
