//! Tries tasks again on an engine that does not do so itself: when a run has failed and its failed tasks have tries left, the
//! engine is asked to run them again, after the last of their pauses. Until then the run goes on, for callers.

use lakeport_base::Error;
use lakeport_bindings::engine::model::{RetryRequest, Target, WorkflowRef};

use super::{Seen, Watch};
use crate::engines::{self, Failure};
use crate::execution_records::store::{Record, Status};
use crate::executions::runs;
use crate::workflows;
use crate::workflows::versions::Snapshot;

/// The state of a run that a caller has asked to stop: its tasks are not tried again.
pub const STOPPING: &str = "stopping";
/// How long the engine may refuse to run the tasks again. After that the run has failed.
const GIVE_UP_MS: i64 = 10 * 60 * 1_000;

/// A run whose failed tasks wait for their next try.
#[derive(Clone, Copy)]
pub struct Waiting {
    /// The attempts that have failed: a later failure is another wait.
    attempts: i64,
    due_ms: i64,
    /// The engine has refused for good.
    is_refused: bool,
}

impl Watch<'_> {
    /// Takes back the end of a run whose failed tasks have tries left. Returns when they are to be run again.
    pub(super) async fn reopen(&self, seen: &mut Seen, records: &mut [Record]) -> Result<Option<i64>, Error> {
        let Some(due_ms) = self.due_again(seen, records).await? else { return Ok(None) };
        let run = &mut seen.after;
        (run.state, run.ended_at_ms, run.message) = ("running".to_owned(), None, None);
        for record in records.iter_mut().filter(|record| record.status == Status::Failed) {
            (record.status, record.end_time_ms) = (Status::Pending, None);
        }
        Ok(Some(due_ms))
    }

    async fn due_again(&self, seen: &Seen, records: &[Record]) -> Result<Option<i64>, Error> {
        let run = &seen.after;
        let has_ended_before = |before: &runs::Run| before.ended_at_ms.is_some() || before.state == STOPPING;
        if run.state != "failed" || seen.before.as_ref().is_some_and(has_ended_before) {
            return Ok(None);
        }
        let has = |feature| self.client.has_feature(run.workflow_id.unsigned_abs(), feature);
        if has("task_retry")? || !has("retry_failed")? {
            return Ok(None);
        }
        let Some(instance) = run.instance_id.as_deref() else { return Ok(None) };
        let now_ms = self.state.clock.now_ms();
        let attempts = attempts(records);
        let known = self.waiting(instance).filter(|waiting| waiting.attempts == attempts);
        let due_ms = match known {
            Some(waiting) if waiting.is_refused => return Ok(None),
            Some(waiting) => waiting.due_ms,
            None => {
                let Some(version) = self.version_of(run).await? else { return Ok(None) };
                let snapshot = Snapshot::read(&self.state.db, run.workflow_id, version).await?;
                let Some(snapshot) = snapshot else { return Ok(None) };
                let retries = |task: i64| {
                    let task = &snapshot.tasks.get(&task)?.content;
                    Some((task.retry_times, task.retry_interval))
                };
                let ended_ms = run.ended_at_ms.unwrap_or(now_ms).min(now_ms);
                let Some(due_ms) = due_ms(records, ended_ms, retries) else { return Ok(None) };
                self.wait(instance, Waiting { attempts, due_ms, is_refused: false });
                due_ms
            }
        };
        Ok((now_ms < due_ms + GIVE_UP_MS).then_some(due_ms))
    }

    /// The version that a run is of; of one that was just found, the deployed one.
    async fn version_of(&self, run: &runs::Run) -> Result<Option<i64>, Error> {
        if run.workflow_version.is_some() {
            return Ok(run.workflow_version);
        }
        match workflows::get(self.state, run.workflow_id).await {
            Ok(workflow) => Ok(workflow.published_version),
            Err(error) if error.code() == "not_found" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Asks the engine to run the failed tasks of a run again, unless it is to stop or this server has lost the engine's
    /// lease. If the engine is away, it is asked again at the next look.
    pub(super) async fn run_again(&self, seen: &Seen, workflow: WorkflowRef) -> Result<(), Error> {
        let Some(instance) = seen.after.reference(workflow) else { return Ok(()) };
        let (engine, id) = (self.record.name.as_str(), instance.id.clone());
        let Some(run) = runs::store::find_instance(&self.state.db, engine, &id).await? else { return Ok(()) };
        let mut tx = self.state.db.begin().await?;
        if let Some(held) = self.held {
            tx.guard(held).await?;
        }
        let may = runs::store::may_go_on(&mut tx, run.id, STOPPING).await?;
        tx.commit().await?;
        if !may {
            return Ok(());
        }
        let Some(waiting) = self.waiting(&id) else { return Ok(()) };
        let key = format!("again-{}-{}", run.id, waiting.attempts);
        let request = RetryRequest { instance, scope: "failed".to_owned(), key };
        // Until the engine shows it, it may be asked once more; it refuses that.
        match self.client.retry(&request).await.map_err(Failure::into_error) {
            Ok(Some(_)) => {
                tracing::info!(engine, instance = id, "the failed tasks of a run are tried again");
                self.forget(&id);
                // Somebody may have stopped it meanwhile.
                let now = runs::store::find(&self.state.db, run.id).await?;
                if now.is_some_and(|now| now.state == STOPPING) {
                    let target = Target::Instance(id);
                    self.client.cancel(&request.instance.workflow, &target).await?;
                }
            }
            Ok(None) => self.wait(&id, Waiting { is_refused: true, ..waiting }),
            Err(error) if engines::is_momentary(&error) || error.code() == "engine_conflict" => {
                tracing::debug!(engine, instance = id, "a run is not tried again yet: {error}");
            }
            Err(error) => {
                tracing::warn!(
                    engine,
                    instance = id,
                    "the failed tasks of a run are not tried again: {error}"
                );
                self.wait(&id, Waiting { is_refused: true, ..waiting });
            }
        }
        Ok(())
    }

    /// Whether nothing is to be asked about a run yet: its failed tasks wait.
    pub(super) fn rests(&self, run: &runs::Run) -> bool {
        let now_ms = self.state.clock.now_ms();
        let waiting = run.instance_id.as_deref().and_then(|id| self.waiting(id));
        run.state != STOPPING && waiting.is_some_and(|waiting| !waiting.is_refused && now_ms < waiting.due_ms)
    }

    fn waiting(&self, instance: &str) -> Option<Waiting> {
        let key = (self.record.name.clone(), instance.to_owned());
        self.state.waiting.lock().get(&key).copied()
    }

    fn wait(&self, instance: &str, waiting: Waiting) {
        let mut all = self.state.waiting.lock();
        let now_ms = self.state.clock.now_ms();
        all.retain(|_, waiting| now_ms < waiting.due_ms + GIVE_UP_MS);
        all.insert((self.record.name.clone(), instance.to_owned()), waiting);
    }

    fn forget(&self, instance: &str) {
        self.state.waiting.lock().remove(&(self.record.name.clone(), instance.to_owned()));
    }
}

/// Grows with each try of a failed task.
fn attempts(records: &[Record]) -> i64 {
    let failed = records.iter().filter(|record| record.status == Status::Failed);
    failed.map(|record| record.attempt).sum()
}

/// When the failed tasks are to be run again: after the last of their pauses. `None`: none has failed, or one of them has no
/// tries left. `ended_ms`: of a try without an end. `retries`: how often a task is tried again, and the pause in seconds.
fn due_ms(records: &[Record], ended_ms: i64, retries: impl Fn(i64) -> Option<(u32, u32)>) -> Option<i64> {
    let due = |record: &Record| {
        let (times, pause_s) = retries(record.task_id?)?;
        let ended_ms = record.end_time_ms.map_or(ended_ms, |at_ms| at_ms.min(ended_ms));
        (record.attempt <= i64::from(times)).then(|| ended_ms + i64::from(pause_s) * 1_000)
    };
    let failed = records.iter().filter(|record| record.status == Status::Failed);
    failed.map(due).collect::<Option<Vec<i64>>>()?.into_iter().max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(task_id: i64, status: Status, attempt: i64) -> Record {
        Record {
            task_key: task_id.to_string(),
            task_id: Some(task_id),
            task_name: format!("task {task_id}"),
            status,
            attempt,
            start_time_ms: Some(1_000),
            end_time_ms: Some(2_000 * task_id),
            error_message: None,
            rows_affected: None,
            tries: Vec::new(),
        }
    }

    #[test]
    fn failed_tasks_are_tried_again_while_all_of_them_have_tries_left() {
        let retries =
            |task: i64| [None, Some((1, 60)), Some((2, 5)), Some((0, 0))][usize::try_from(task).unwrap()];
        let ok = || record(3, Status::Success, 1);
        for (records, expected) in [
            (vec![ok()], None),
            (vec![ok(), record(1, Status::Failed, 1)], Some(62_000)),
            (vec![record(1, Status::Failed, 1), record(2, Status::Failed, 2)], Some(62_000)),
            (vec![record(1, Status::Failed, 2)], None),
            (vec![record(2, Status::Failed, 2)], Some(9_000)),
            (vec![record(2, Status::Failed, 3), record(1, Status::Failed, 1)], None),
            (vec![record(3, Status::Failed, 1), record(1, Status::Failed, 1)], None),
            (vec![record(1, Status::Killed, 1)], None),
            (vec![record(0, Status::Failed, 1)], None),
        ] {
            assert_eq!(due_ms(&records, 1_000_000, retries), expected, "{records:?}");
        }
    }
}
