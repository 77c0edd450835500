//! Watching engines: records their runs and results here.
//!
//! An engine is queried for all of its workflows at once, with a stored cursor. Its answer is written unless
//! another process wrote since the query; then it is queried again. A run's end is written together with the
//! final states of its tasks.

mod again;
mod records;
mod round;
mod worker;

use std::collections::{HashMap, HashSet};

use lakeport_base::Error;
use lakeport_bindings::engine::model::{
    Instance, InstanceRef, OpenRun, TaskRun, TaskRunRequest, WatchPage, WatchRequest, Watched, WorkflowRef,
};
use lakeport_store::Held;

use super::runs::{self, Run};
use super::{TOPIC, alerts, backfills};
use crate::engines::{EngineClient, EngineRecord};
use crate::execution_records::store::{self, Execution, Record};
use crate::executions::Executions;
pub use again::{STOPPING, Waiting};
pub use records::{kept_message, records, seen};
pub use worker::run_worker;

/// Runs of one answer.
const INSTANCES_MAX: u32 = 1_000;
/// Runs whose attempts are queried at once, by the contract.
const RUNS_AT_ONCE: usize = 200;
/// Attempts of one answer.
const TRIES_PAGE: u32 = 1_000;
/// The most attempts that are processed together: those of one query's runs, or of a single run with more.
const TRIES_MAX: usize = 100_000;
/// The most answers to one query: protects from an engine that never ends.
const TRIES_PAGES_MAX: usize = 1_000;
/// Attempts kept of each task, latest first, if a run has more than can be processed together.
const TRIES_KEPT: usize = 50;
/// The longest cursor, in bytes, by the contract.
const CURSOR_MAX_BYTES: usize = 4_096;

/// The result of writing an engine's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    All,
    /// Another process wrote meanwhile: query the engine again.
    NotAll,
}

/// A watched engine.
pub struct Watch<'a> {
    pub state: &'a Executions,
    pub record: &'a EngineRecord,
    pub client: &'a EngineClient,
    /// The watcher's lease; a request about a single run has none.
    pub held: Option<&'a Held>,
}

/// A run as it was stored, and as the engine reports it.
#[derive(Clone)]
struct Seen {
    /// `None`: it was unknown.
    before: Option<Run>,
    after: Run,
}

/// Queries the engine about one run now, and stores the answer.
pub async fn look_at(state: &Executions, run: &Run, call_id: &str) -> Result<(), Error> {
    let record = runs::engine_of(state, &run.engine).await?;
    let workflow = runs::workflow_of(state, run).await?;
    let client = EngineClient::of(&state.engines, &record, call_id);
    let watch = Watch { state, record: &record, client: &client, held: None };
    let request = WatchRequest {
        workflows: vec![watched(&workflow)],
        open: open_run(run).into_iter().collect(),
        cursor: None,
        since: state.clock.now_ms(),
        limit: INSTANCES_MAX,
    };
    let workflows = HashMap::from([(run.workflow_id, workflow)]);
    let page = watch.ask(&request).await?;
    // If another process wrote meanwhile, it had queried the engine, too.
    watch.take_in(&workflows, std::slice::from_ref(run), page).await.map(drop)
}

/// What tells a workflow's runs from others'.
fn watched(workflow: &WorkflowRef) -> Watched {
    Watched { id: workflow.id, code: workflow.code.clone(), project: workflow.project.clone() }
}

/// The stored run that the engine shows: by its id, or while that is not known by the key or the code of its start.
fn known_as<'r>(known: &'r [Run], instance: &Instance) -> Option<&'r Run> {
    let is_same = |mine: &Option<String>, other: &Option<String>| mine.is_some() && mine == other;
    let by_id = known.iter().find(|run| run.instance_id.as_ref() == Some(&instance.id));
    by_id.or_else(|| {
        known.iter().find(|run| {
            let is_start = is_same(&run.key, &instance.key) || is_same(&run.trigger, &instance.trigger);
            run.instance_id.is_none() && is_start
        })
    })
}

/// A run that is asked for by its id.
fn open_run(run: &Run) -> Option<OpenRun> {
    Some(OpenRun { workflow: run.workflow_id.unsigned_abs(), id: run.instance_id.clone()? })
}

impl Watch<'_> {
    async fn ask(&self, request: &WatchRequest) -> Result<WatchPage, Error> {
        const FUNCTION: &str = "watch.instances";
        let page = self.client.instances(request).await?;
        let count = page.instances.len() + page.gone.len();
        if count > request.limit as usize + request.open.len() {
            let message = format!("it was asked for {} runs and returned {count}", request.limit);
            return Err(self.client.broke(FUNCTION, None, message));
        }
        if page.cursor.len() > CURSOR_MAX_BYTES {
            let message = format!("its cursor has more than {CURSOR_MAX_BYTES} bytes");
            return Err(self.client.broke(FUNCTION, None, message));
        }
        if page.more && request.cursor.as_ref() == Some(&page.cursor) && page.instances.is_empty() {
            let message = "its cursor leads to the same part again".to_owned();
            return Err(self.client.broke(FUNCTION, None, message));
        }
        Ok(page)
    }

    /// Writes the engine's answer about the runs of these workflows; `open` are those that were queried by
    /// id.
    async fn take_in(
        &self,
        workflows: &HashMap<i64, WorkflowRef>,
        open: &[Run],
        page: WatchPage,
    ) -> Result<Written, Error> {
        let mut seen = self.changed(workflows, page.instances).await?;
        // The watcher comes back when their tries are due.
        seen.retain(|seen| self.held.is_none() || !seen.before.as_ref().is_some_and(|run| self.rests(run)));
        let mut parts: Vec<&[Seen]> = seen.chunks(RUNS_AT_ONCE).rev().collect();
        while let Some(some) = parts.pop() {
            let Some(tries) = self.tries(workflows, some).await? else {
                match some {
                    [one] => self.leave_out(&one.after),
                    _ => {
                        let (first, second) = some.split_at(some.len() / 2);
                        parts.extend([second, first]);
                    }
                }
                continue;
            };
            // With the time of the next try, if a run waits for one.
            let (mut judged, mut of_tasks) = (Vec::new(), Vec::new());
            for seen in some {
                let id = seen.after.instance_id.as_deref().unwrap_or_default();
                let tries = tries.get(id).map(Vec::as_slice).unwrap_or_default();
                let (mut seen, mut records) = (seen.clone(), records::records(&seen.after, tries));
                let due_ms = self.reopen(&mut seen, &mut records).await?;
                judged.push((seen, due_ms));
                of_tasks.push(Some(records));
            }
            let seen = judged.iter().map(|(seen, _)| seen);
            if self.write(seen.zip(of_tasks).collect()).await? == Written::NotAll {
                return Ok(Written::NotAll);
            }
            let now_ms = self.state.clock.now_ms();
            for (seen, due_ms) in &judged {
                // Only the watcher: two who ask at once would ask twice.
                let is_due = self.held.is_some() && due_ms.is_some_and(|due_ms| due_ms <= now_ms);
                if let Some(workflow) = workflows.get(&seen.after.workflow_id).filter(|_| is_due) {
                    self.run_again(seen, workflow.clone()).await?;
                }
            }
        }
        // An engine may forget finished runs.
        let is_gone = |run: &&Run| {
            run.ended_at_ms.is_none() && run.instance_id.as_ref().is_some_and(|id| page.gone.contains(id))
        };
        let gone: Vec<Seen> = open.iter().filter(is_gone).map(|run| self.gone(run)).collect();
        self.write(gone.iter().map(|seen| (seen, None)).collect()).await
    }

    /// Runs that are new, open, or different from their records.
    async fn changed(
        &self,
        workflows: &HashMap<i64, WorkflowRef>,
        instances: Vec<Instance>,
    ) -> Result<Vec<Seen>, Error> {
        let is_of_interest = |instance: &Instance| {
            i64::try_from(instance.workflow).is_ok_and(|id| workflows.contains_key(&id))
        };
        // The last mention counts.
        let mut latest: HashMap<&str, &Instance> = HashMap::new();
        for instance in instances.iter().filter(|instance| is_of_interest(instance)) {
            latest.insert(&instance.id, instance);
        }
        let ids: Vec<&str> = latest.keys().copied().collect();
        let keys: Vec<&str> = latest.values().filter_map(|instance| instance.key.as_deref()).collect();
        let triggers: Vec<&str> =
            latest.values().filter_map(|instance| instance.trigger.as_deref()).collect();
        let (db, engine) = (&self.state.db, &self.record.name);
        let mut known = runs::store::known(db, engine, &ids, &keys).await?;
        for run in runs::store::known_by_trigger(db, engine, &triggers).await? {
            if known.iter().all(|known| known.id != run.id) {
                known.push(run);
            }
        }
        let now_ms = self.state.clock.now_ms();
        let (mut changed, mut taken): (Vec<Seen>, HashSet<i64>) = (Vec::new(), HashSet::new());
        for instance in latest.into_values() {
            // A start has one run.
            let before = known_as(&known, instance).filter(|run| taken.insert(run.id));
            changed.extend(self.seen(workflows, before, instance, now_ms));
        }
        changed.sort_by_key(|seen| (seen.after.started_at_ms.unwrap_or(i64::MAX), seen.after.id));
        Ok(changed)
    }

    fn seen(
        &self,
        workflows: &HashMap<i64, WorkflowRef>,
        before: Option<&Run>,
        instance: &Instance,
        now_ms: i64,
    ) -> Option<Seen> {
        let Some(before) = before else {
            let workflow = workflows.get(&i64::try_from(instance.workflow).ok()?)?;
            let after = records::seen(&self.record.name, &workflow.name, instance, now_ms);
            return Some(Seen { before: None, after });
        };
        let after = records::run_with(before, instance, now_ms);
        let is_settled = before.ended_at_ms.is_some() && after == *before;
        (!is_settled && !before.is_old_end(&after, now_ms))
            .then(|| Seen { before: Some(before.clone()), after })
    }

    /// A run that the engine no longer knows.
    fn gone(&self, run: &Run) -> Seen {
        let after = Run {
            state: "failed".to_owned(),
            ended_at_ms: Some(self.state.clock.now_ms()),
            message: Some(format!("the engine `{}` no longer knows this run", self.record.name)),
            ..run.clone()
        };
        Seen { before: Some(run.clone()), after }
    }

    /// One run's error must not stop the others.
    fn leave_out(&self, run: &Run) {
        let (engine, instance) = (&run.engine, run.instance_id.as_deref());
        tracing::warn!(engine, instance, "a run has more tries than can be looked at; it is left as it is");
    }

    /// The attempts of these runs, by run id; `None` if they are too many to be processed together.
    async fn tries(
        &self,
        workflows: &HashMap<i64, WorkflowRef>,
        seen: &[Seen],
    ) -> Result<Option<HashMap<String, Vec<TaskRun>>>, Error> {
        const FUNCTION: &str = "watch.task-runs";
        let reference = |seen: &Seen| -> Option<InstanceRef> {
            seen.after.reference(workflows.get(&seen.after.workflow_id)?.clone())
        };
        let instances: Vec<InstanceRef> = seen.iter().filter_map(reference).collect();
        let mut request = TaskRunRequest { instances, cursor: None, limit: TRIES_PAGE };
        let mut tries: HashMap<String, Vec<TaskRun>> = HashMap::new();
        for _ in 0..TRIES_PAGES_MAX {
            let page = self.client.task_runs(&request).await?;
            for one in page.task_runs {
                tries.entry(one.instance.clone()).or_default().push(one);
            }
            if seen.len() == 1 && count(&tries) > TRIES_MAX {
                tries.values_mut().for_each(|tries| records::keep_latest(tries, TRIES_KEPT));
            }
            if count(&tries) > TRIES_MAX {
                return Ok(None);
            }
            if page.next.is_some() && page.next == request.cursor {
                let message = "its `next` leads to the same page again".to_owned();
                return Err(self.client.broke(FUNCTION, None, message));
            }
            match page.next {
                None => return Ok(Some(tries)),
                next => request.cursor = next,
            }
        }
        Ok(None)
    }

    /// Writes runs with the records of their tasks, all or none. Without records, the existing ones end with
    /// the run.
    async fn write<'s>(&self, seen: Vec<(&'s Seen, Option<Vec<Record>>)>) -> Result<Written, Error> {
        let known: Vec<i64> =
            seen.iter().filter_map(|(seen, _)| seen.before.as_ref().map(|run| run.id)).collect();
        let mut there: HashMap<i64, Vec<Execution>> = HashMap::new();
        for execution in store::of_runs(&self.state.db, &known).await? {
            there.entry(execution.run_id).or_default().push(execution);
        }
        let change = |(seen, records): (&'s Seen, Option<Vec<Record>>)| {
            let there = seen.before.as_ref().and_then(|run| there.remove(&run.id));
            Change::of(seen, records, there.unwrap_or_default())
        };
        let changes: Vec<Change> = seen.into_iter().map(change).filter(Change::is_any).collect();
        if changes.is_empty() {
            return Ok(Written::All);
        }
        let now_ms = self.state.clock.now_ms();
        let mut tx = self.state.db.begin().await?;
        if let Some(held) = self.held {
            tx.guard(held).await?;
        }
        let mut warnings = Vec::new();
        for change in changes {
            let run = match change.seen.before {
                None => match runs::store::insert(&mut tx, &change.seen.after).await? {
                    Some(id) => Run { id, ..change.seen.after.clone() },
                    None => return Ok(Written::NotAll),
                },
                Some(_) if runs::store::update(&mut tx, &change.seen.after).await? => {
                    change.seen.after.clone()
                }
                Some(_) => return Ok(Written::NotAll),
            };
            let has_just_ended =
                change.seen.before.as_ref().is_none_or(|before| before.ended_at_ms.is_none());
            if run.ended_at_ms.is_some() && has_just_ended {
                backfills::announce_end(&mut tx, &run);
                let noticed_ms = match change.seen.before {
                    // It was open until now, also where the engine says that it ended long ago.
                    Some(_) => now_ms,
                    None => run.ended_at_ms.unwrap_or(now_ms),
                };
                warnings.extend(alerts::note_end(&self.state.core, &mut tx, &run, noticed_ms).await?);
            }
            if change.put.is_empty() && change.forget.is_empty() {
                // Who waits for the run itself looks again.
                tx.changed(TOPIC, format!("run {}", run.id));
            }
            for record in &change.put {
                let id = store::put(&mut tx, &run, record, now_ms).await?;
                tx.changed(TOPIC, id.to_string());
            }
            for id in change.forget {
                store::delete(&mut tx, id).await?;
                tx.changed(TOPIC, id.to_string());
            }
        }
        tx.commit().await?;
        warnings.into_iter().for_each(alerts::Warning::log);
        Ok(Written::All)
    }
}

fn count(tries: &HashMap<String, Vec<TaskRun>>) -> usize {
    tries.values().map(Vec::len).sum()
}

/// The changes of one run.
struct Change<'s> {
    seen: &'s Seen,
    /// Records that are new or different.
    put: Vec<Record>,
    /// Executions whose tasks never started.
    forget: Vec<i64>,
}

impl<'s> Change<'s> {
    fn of(seen: &'s Seen, records: Option<Vec<Record>>, there: Vec<Execution>) -> Change<'s> {
        let settled = |execution: &Execution| records::settled(&seen.after, execution.record.clone());
        let reported: Option<HashSet<&str>> =
            records.as_ref().map(|records| records.iter().map(|record| record.task_key.as_str()).collect());
        // A task that had started is kept even if the engine no longer reports it.
        let is_unsaid = |execution: &&Execution| {
            reported.as_ref().is_none_or(|reported| {
                let record = &execution.record;
                record.start_time_ms.is_some() && !reported.contains(record.task_key.as_str())
            })
        };
        let unsaid: Vec<Record> = there.iter().filter(is_unsaid).filter_map(settled).collect();
        let records: Vec<Record> = records.into_iter().flatten().chain(unsaid).collect();
        let wanted: HashSet<&str> = records.iter().map(|record| record.task_key.as_str()).collect();
        let is_wanted = |execution: &&Execution| wanted.contains(execution.record.task_key.as_str());
        let forget = there.iter().filter(|one| !is_wanted(one)).map(|execution| execution.id).collect();
        // A run has one execution of each task.
        let there: HashMap<&str, &Record> =
            there.iter().map(|one| (one.record.task_key.as_str(), &one.record)).collect();
        let is_new = |record: &Record| there.get(record.task_key.as_str()) != Some(&record);
        Change { seen, put: records.into_iter().filter(is_new).collect(), forget }
    }

    fn is_any(&self) -> bool {
        let is_same = self.seen.before.as_ref() == Some(&self.seen.after);
        !is_same || !self.put.is_empty() || !self.forget.is_empty()
    }
}

#[cfg(test)]
#[path = "change_tests.rs"]
mod tests;
