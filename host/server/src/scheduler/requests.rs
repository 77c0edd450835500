//! The engine's requests: each is one transaction that writes rows, and none waits for the execution.

use std::collections::HashSet;

use lakeport_bindings::engine::model;
use lakeport_bindings::host::types::{Error as PluginError, Page};
use lakeport_bindings::runner::{WorkflowEntry, WorkflowPage};
use lakeport_plugins::{self as plugins, Answer};
use lakeport_store::Tx;

use super::definition::{Concurrency, Definition, Strategy, id};
use super::refused::Refused;
use super::store::{self, NewRun, Run, Schedule, State, Workflow};
use super::{LocalScheduler, TOPIC, timer, timer_key};
use crate::cron::Cron;

/// The most queued runs of a workflow whose runs wait for each other.
pub const WAITING_MAX: i64 = 1_000;
/// The most queued runs.
pub const QUEUED_MAX: i64 = 10_000;
/// Runs that are stopped in one transaction: more would be announced as one change of everything.
const STOPPED_AT_ONCE: i64 = 500;
/// The most parameters of a run.
const PARAMS_MAX: usize = 1_000;
/// The limit of all of them, in bytes.
const PARAMS_MAX_BYTES: usize = 256 * 1024;
const KEY_MAX_CHARS: usize = 64;
/// The scheduler sends no notifications, and does not store who wants them.
const NO_WARNINGS: &str = "NONE";
const PAGE_MAX: u32 = 1_000;

impl plugins::EmbeddedScheduler for LocalScheduler {
    fn put(&self, workflow: model::Workflow) -> Answer<'_, ()> {
        Box::pin(async move { out(self.put(workflow).await) })
    }

    fn remove(&self, workflow: u64) -> Answer<'_, ()> {
        Box::pin(async move { out(self.remove(workflow).await) })
    }

    fn entries(&self, page: Page) -> Answer<'_, WorkflowPage> {
        Box::pin(async move { out(self.entries(page).await) })
    }

    fn read(&self, workflow: u64) -> Answer<'_, model::Workflow> {
        Box::pin(async move { out(self.read(workflow).await) })
    }

    fn set_schedule(&self, workflow: u64, schedule: Option<model::Schedule>) -> Answer<'_, ()> {
        Box::pin(async move { out(self.set_schedule(workflow, schedule).await) })
    }

    fn set_online(&self, workflow: u64, online: bool) -> Answer<'_, ()> {
        Box::pin(async move { out(self.set_online(workflow, online).await) })
    }

    fn start(&self, request: model::RunRequest) -> Answer<'_, model::Started> {
        Box::pin(async move { out(self.start(request).await) })
    }

    fn find(&self, queries: Vec<model::RunQuery>) -> Answer<'_, Vec<Option<model::Instance>>> {
        Box::pin(async move { out(self.find(queries).await) })
    }

    fn cancel(&self, instance: model::InstanceRef) -> Answer<'_, ()> {
        Box::pin(async move { out(self.cancel(instance).await) })
    }

    fn set_paused(&self, instance: model::InstanceRef, paused: bool) -> Answer<'_, ()> {
        Box::pin(async move { out(self.set_paused(instance, paused).await) })
    }

    fn retry(&self, request: model::RetryRequest) -> Answer<'_, model::Started> {
        Box::pin(async move { out(self.retry(request).await) })
    }

    fn instances(&self, request: model::WatchRequest) -> Answer<'_, model::WatchPage> {
        Box::pin(async move { out(self.instances(request).await) })
    }

    fn task_runs(&self, request: model::TaskRunRequest) -> Answer<'_, model::TaskRunPage> {
        Box::pin(async move { out(self.task_runs(request).await) })
    }

    fn log(&self, request: model::LogRequest) -> Answer<'_, model::LogPage> {
        Box::pin(async move { out(self.log(request).await) })
    }
}

fn out<T>(answer: Result<T, Refused>) -> Result<T, PluginError> {
    answer.map_err(|refused| refused.0)
}

impl LocalScheduler {
    /// Applies a schedule if there is one; otherwise the current one stays.
    async fn put(&self, workflow: model::Workflow) -> Result<(), Refused> {
        let (id, now_ms) = (id(workflow.id)?, self.clock.now_ms());
        let (name, revision) = (workflow.name.clone(), workflow.revision.clone());
        if revision.is_empty() {
            return Err(Refused::new("invalid_input", "the workflow has no revision"));
        }
        let schedule = workflow.schedule.as_ref().map(schedule).transpose()?;
        let definition = Definition::of(workflow)?;
        let (concurrency, definition) = (definition.concurrency, definition.to_json()?);
        let mut tx = self.db.begin().await?;
        let before = store::lock(&mut tx, id).await?.and_then(|before| before.schedule);
        let revision_id = store::keep_revision(&mut tx, id, &revision, &definition, now_ms).await?;
        store::put(&mut tx, id, &name, (revision_id, concurrency), now_ms).await?;
        if schedule.is_some() && before != schedule {
            let before = locked(&mut tx, id).await?;
            let after = Workflow { schedule, ..before.clone() };
            set_timer(&mut tx, &before, after, now_ms).await?;
        }
        tx.changed(TOPIC, timer_key(id));
        Ok(tx.commit().await?)
    }

    async fn remove(&self, workflow: u64) -> Result<(), Refused> {
        let id = id(workflow)?;
        let mut tx = self.db.begin().await?;
        store::delete(&mut tx, id).await?;
        tx.changed(TOPIC, timer_key(id));
        tx.commit().await?;
        // From now on no run can be added.
        loop {
            let mut tx = self.db.begin().await?;
            let now_ms = self.clock.now_ms();
            let stopped = store::ask_stop_of_workflow(&mut tx, id, STOPPED_AT_ONCE, now_ms).await?;
            if stopped.is_empty() {
                return Ok(());
            }
            stopped.into_iter().for_each(|run_id| tx.changed(TOPIC, run_id.to_string()));
            tx.commit().await?;
        }
    }

    async fn entries(&self, page: Page) -> Result<WorkflowPage, Refused> {
        let after_id = page.cursor.as_deref().map_or(Ok(0), place)?;
        let limit = page.limit.clamp(1, PAGE_MAX) as usize;
        let mut workflows = store::after(&self.db, after_id, limit as i64 + 1).await?;
        let is_more = workflows.len() > limit;
        workflows.truncate(limit);
        let next = workflows.last().filter(|_| is_more).map(|last| last.id.to_string());
        let shown = workflows.into_iter().map(|workflow| WorkflowEntry {
            id: workflow.id.cast_unsigned(),
            name: workflow.name,
            online: workflow.is_online,
        });
        Ok(WorkflowPage { workflows: shown.collect(), next })
    }

    async fn read(&self, workflow: u64) -> Result<model::Workflow, Refused> {
        let found = store::deployed(&self.db, id(workflow)?).await?;
        let missing = || Refused::new("not_found", format!("there is no workflow {workflow}"));
        let (found, definition) = found.ok_or_else(missing)?;
        let schedule = found.schedule.map(|schedule| model::Schedule {
            cron: schedule.cron,
            time_zone: schedule.zone.name().to_owned(),
            start: schedule.start_at_ms,
            end: schedule.end_at_ms,
            failure_strategy: schedule.strategy.as_str().to_owned(),
            warning_type: NO_WARNINGS.to_owned(),
            extra: None,
        });
        Ok(definition.into_model(workflow, found.name, found.revision, schedule))
    }

    async fn set_schedule(&self, workflow: u64, wanted: Option<model::Schedule>) -> Result<(), Refused> {
        let schedule = wanted.as_ref().map(schedule).transpose()?;
        self.change_timer(workflow, |workflow| {
            workflow.schedule = schedule;
            Ok(())
        })
        .await
    }

    async fn set_online(&self, workflow: u64, online: bool) -> Result<(), Refused> {
        self.change_timer(workflow, |workflow| {
            if online && workflow.schedule.is_none() {
                let message =
                    format!("the workflow {} has no schedule that could be switched on", workflow.id);
                return Err(Refused::new("conflict", message));
            }
            workflow.is_online = online;
            Ok(())
        })
        .await
    }

    /// An unchanged timer keeps its next time.
    async fn change_timer(
        &self,
        workflow: u64,
        change: impl FnOnce(&mut Workflow) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let (id, now_ms) = (id(workflow)?, self.clock.now_ms());
        let mut tx = self.db.begin().await?;
        let before = locked(&mut tx, id).await?;
        let mut after = before.clone();
        change(&mut after)?;
        if (&before.schedule, before.is_online) == (&after.schedule, after.is_online) {
            return Ok(());
        }
        set_timer(&mut tx, &before, after, now_ms).await?;
        tx.changed(TOPIC, timer_key(id));
        Ok(tx.commit().await?)
    }

    async fn start(&self, request: model::RunRequest) -> Result<model::Started, Refused> {
        let (workflow_id, now_ms) = (id(request.workflow.id)?, self.clock.now_ms());
        check_key(&request.key)?;
        let strategy = strategy(&request.failure_strategy)?;
        let params: Vec<(String, String)> =
            request.params.into_iter().map(|param| (param.name, param.value)).collect();
        let bytes: usize = params.iter().map(|(name, value)| name.len() + value.len()).sum();
        if params.len() > PARAMS_MAX || bytes > PARAMS_MAX_BYTES {
            let message = format!("a run has {PARAMS_MAX} values of {PARAMS_MAX_BYTES} bytes in all at most");
            return Err(Refused::new("limit_exceeded", message));
        }
        if let Some(run) = store::find_by_key(&self.db, &request.key).await? {
            return found(&run, workflow_id, &request.key);
        }
        let mut tx = self.db.begin().await?;
        let workflow = locked(&mut tx, workflow_id).await?;
        let left_out = left_out(&mut tx, &workflow, request.start_at, &request.reach).await?;
        refuse_full(&mut tx, &workflow).await?;
        refuse_second(&mut tx, &workflow, &request.key).await?;
        let cause = match request.cause.as_str() {
            cause @ ("manual" | "backfill" | "schedule") => cause,
            _ => "other",
        };
        let new = NewRun {
            workflow_id,
            key: &request.key,
            cause,
            business_at_ms: request.business_time.unwrap_or(now_ms),
            zone: workflow.schedule.map_or(self.zone, |schedule| schedule.zone),
            params: &params,
            strategy,
            waits: workflow.concurrency == Concurrency::Wait,
        };
        let Some(run_id) = store::insert_run(&mut tx, &new, now_ms).await? else {
            // Another request with the same key was faster.
            drop(tx);
            let run = store::find_by_key(&self.db, &request.key).await?;
            let run = run.ok_or_else(|| Refused::not_found("workflow", workflow_id))?;
            return found(&run, workflow_id, &request.key);
        };
        store::leave_out(&mut tx, run_id, &left_out).await?;
        tx.changed(TOPIC, run_id.to_string());
        tx.commit().await?;
        Ok(started(run_id, false))
    }

    async fn cancel(&self, instance: model::InstanceRef) -> Result<(), Refused> {
        let run_id = number(&instance.id)?;
        if store::find_run(&self.db, run_id).await?.is_none() {
            return Err(Refused::not_found("run", run_id));
        }
        let mut tx = self.db.begin().await?;
        if store::ask_stop(&mut tx, run_id, self.clock.now_ms()).await? {
            tx.changed(TOPIC, run_id.to_string());
            tx.commit().await?;
        }
        Ok(())
    }

    /// What runs goes on; a paused run begins no further task.
    async fn set_paused(&self, instance: model::InstanceRef, paused: bool) -> Result<(), Refused> {
        let run_id = number(&instance.id)?;
        let missing = || Refused::not_found("run", run_id);
        let run = store::find_run(&self.db, run_id).await?.ok_or_else(missing)?;
        let mut tx = self.db.begin().await?;
        if store::set_paused(&mut tx, run_id, paused, self.clock.now_ms()).await? {
            tx.changed(TOPIC, run_id.to_string());
            return Ok(tx.commit().await?);
        }
        let is_so = run.is_paused == paused && matches!(run.state, State::Queued | State::Running);
        if is_so {
            return Ok(());
        }
        let message = format!("the run {run_id} has ended, or is being stopped");
        Err(Refused::new("conflict", message))
    }

    async fn retry(&self, request: model::RetryRequest) -> Result<model::Started, Refused> {
        let run_id = number(&request.instance.id)?;
        check_key(&request.key)?;
        let all = match request.scope.as_str() {
            "failed" => false,
            "all" => true,
            other => return Err(Refused::new("invalid_input", format!("the scope `{other}` is not known"))),
        };
        if let Some(again) = store::find_by_key(&self.db, &request.key).await? {
            return found_again(&again, run_id, &request.key);
        }
        let missing = || Refused::not_found("run", run_id);
        let run = store::find_run(&self.db, run_id).await?.ok_or_else(missing)?;
        if !run.state.is_final() {
            let message = format!("the run {run_id} has not ended; it can be run again when it has");
            return Err(Refused::new("conflict", message));
        }
        let mut tx = self.db.begin().await?;
        // Retries of one workflow wait for each other, and for its end.
        let workflow = locked(&mut tx, run.workflow_id).await?;
        if let Some(again) = store::find_retry(&mut tx, run_id).await? {
            drop(tx);
            // It may be a repeat of the same request.
            let again = store::find_run(&self.db, again).await?.ok_or_else(missing)?;
            return found_again(&again, run_id, &request.key);
        }
        refuse_full(&mut tx, &workflow).await?;
        refuse_second(&mut tx, &workflow, &request.key).await?;
        let again = store::insert_retry(&mut tx, run_id, &request.key, self.clock.now_ms()).await?;
        let again = again.ok_or_else(|| key_taken(&request.key))?;
        store::take_over(&mut tx, again, run_id, all).await?;
        if store::leaves_out(&mut tx, run_id).await? {
            // Tasks that were not there then are no part of what ran.
            let was = store::definition_in(&mut tx, run.revision_id).await?;
            let now = store::definition_in(&mut tx, workflow.revision_id).await?;
            let ids = |of: Option<Definition>| of.into_iter().flat_map(|of| of.tasks).map(|task| task.id);
            let was: HashSet<i64> = ids(was).collect();
            let new: Vec<i64> = ids(now).filter(|id| !was.contains(id)).collect();
            store::leave_out(&mut tx, again, &new).await?;
        }
        tx.changed(TOPIC, again.to_string());
        tx.commit().await?;
        Ok(started(again, false))
    }
}

/// The tasks that a run of this part of a workflow does not run.
async fn left_out(
    tx: &mut Tx,
    workflow: &Workflow,
    start_at: Option<u64>,
    reach: &str,
) -> Result<Vec<i64>, Refused> {
    let is_only = match (reach, start_at) {
        ("all", None) => return Ok(Vec::new()),
        ("from", Some(_)) => false,
        ("only", Some(_)) => true,
        _ => {
            let message = format!(
                "the reach `{reach}` does not fit: `all` names no task to start at, `from` and `only` name one"
            );
            return Err(Refused::new("invalid_input", message));
        }
    };
    let first = id(start_at.unwrap_or_default())?;
    let definition = store::definition_in(tx, workflow.revision_id).await?;
    let missing = || {
        let message = format!(
            "the deployed workflow has no task {first}; start at one of its own, or publish a version that has it"
        );
        Refused::new("conflict", message)
    };
    definition.and_then(|definition| definition.left_out(first, is_only)).ok_or_else(missing)
}

async fn refuse_full(tx: &mut Tx, workflow: &Workflow) -> Result<(), Refused> {
    let waiting = store::count_waiting(tx, std::slice::from_ref(workflow)).await?;
    let message = if store::count_queued(tx).await? >= QUEUED_MAX {
        format!("{QUEUED_MAX} runs wait already; start it again once some have ended")
    } else if waiting.values().any(|count| *count >= WAITING_MAX) {
        format!(
            "{WAITING_MAX} runs of the workflow wait for each other already; start it again once some have ended"
        )
    } else {
        return Ok(());
    };
    let refused = Refused::new("limit_exceeded", message);
    Err(Refused(PluginError { retryable: true, ..refused.0 }))
}

/// A workflow that discards runs has one at a time.
async fn refuse_second(tx: &mut Tx, workflow: &Workflow, key: &str) -> Result<(), Refused> {
    let Some(open) = timer::second(tx, workflow, key).await? else { return Ok(()) };
    let message = format!(
        "the run {open} of the workflow has not ended, and its concurrency `discard` allows no second one; wait for its \
         end, or stop it"
    );
    let refused = Refused::new("conflict", message);
    Err(Refused(PluginError { retryable: true, ..refused.0 }))
}

/// Writes the new timer. If its times are unchanged, it keeps the next one, which may be due already.
async fn set_timer(tx: &mut Tx, before: &Workflow, mut after: Workflow, now_ms: i64) -> Result<(), Refused> {
    let schedule = after.schedule.as_ref().filter(|_| after.is_online);
    let same = before.schedule.as_ref().filter(|_| before.is_online);
    let is_same = matches!((same, schedule), (Some(before), Some(after)) if before.has_times_of(after));
    if !is_same {
        after.next_fire_at_ms = schedule.and_then(|schedule| timer::next(schedule, now_ms));
    }
    Ok(store::set_timer(tx, &after, now_ms).await?)
}

async fn locked(tx: &mut Tx, id: i64) -> Result<Workflow, Refused> {
    store::lock(tx, id).await?.ok_or_else(|| Refused::not_found("workflow", id))
}

fn started(run_id: i64, found: bool) -> model::Started {
    model::Started { instance: Some(run_id.to_string()), trigger: None, found }
}

/// The same key means the same run, and never one of another workflow.
fn found(run: &Run, workflow_id: i64, key: &str) -> Result<model::Started, Refused> {
    if run.workflow_id == workflow_id { Ok(started(run.id, true)) } else { Err(key_taken(key)) }
}

/// The same key means the same retry; a run that was retried under another key cannot be retried again.
fn found_again(again: &Run, run_id: i64, key: &str) -> Result<model::Started, Refused> {
    if again.retry_of != Some(run_id) {
        return Err(key_taken(key));
    }
    if again.key == key {
        return Ok(started(again.id, true));
    }
    let message =
        format!("the run {run_id} was run again already, as the run {}; run that one again", again.id);
    Err(Refused::new("conflict", message))
}

fn key_taken(key: &str) -> Refused {
    Refused::new("conflict", format!("the key {key} names another run"))
}

fn check_key(key: &str) -> Result<(), Refused> {
    let is_plain = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if is_plain && (1..=KEY_MAX_CHARS).contains(&key.len()) {
        return Ok(());
    }
    Err(Refused::new("invalid_input", "a key is made of 1 to 64 of A-Z a-z 0-9 _ -"))
}

fn strategy(text: &str) -> Result<Strategy, Refused> {
    let wrong = || Refused::new("invalid_input", format!("the failure strategy `{text}` is not known"));
    Strategy::parse(text).ok_or_else(wrong)
}

fn schedule(schedule: &model::Schedule) -> Result<Schedule, Refused> {
    Cron::parse(&schedule.cron).map_err(|why| Refused::new("invalid_input", format!("the cron {why}")))?;
    let zone = schedule.time_zone.parse().map_err(|_| {
        Refused::new("invalid_input", format!("the time zone `{}` is not known", schedule.time_zone))
    })?;
    Ok(Schedule {
        cron: schedule.cron.clone(),
        zone,
        start_at_ms: schedule.start,
        end_at_ms: schedule.end,
        strategy: strategy(&schedule.failure_strategy)?,
    })
}

/// A cursor of this scheduler's, as text.
pub fn place(text: &str) -> Result<i64, Refused> {
    text.parse().ok().filter(|place| *place >= 0).ok_or_else(no_cursor)
}

pub fn no_cursor() -> Refused {
    Refused::new("invalid_input", "the cursor is none that this scheduler gave out")
}

/// An id of this scheduler's, as text.
pub fn number(text: &str) -> Result<i64, Refused> {
    text.parse().map_err(|_| Refused::new("not_found", format!("there is nothing named `{text}` here")))
}
