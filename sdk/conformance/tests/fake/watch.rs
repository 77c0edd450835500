//! Runs, tries and logs, as a watcher sees them.

use std::collections::HashSet;

use lakeport_bindings::engine::model::{
    Instance, LogPage, LogRequest, TaskRun, TaskRunPage, TaskRunRequest, WatchPage, WatchRequest,
};

use super::Fault;
use super::engine::{Answer, BACKFILL, refused};
use super::runs::index_of;
use super::scheduler::{FakeScheduler, Run};

/// A run in the words of the contract.
pub fn shown(scheduler: &FakeScheduler, run: &Run) -> Instance {
    let state = match run.state {
        "success" if scheduler.is(Fault::OwnWords) => "DONE",
        state if run.is_paused && run.ended.is_none() && !scheduler.is(Fault::IgnoresPauses) => {
            if state == "stopping" { state } else { "paused" }
        }
        state => state,
    };
    Instance {
        id: run.id.clone(),
        workflow: run.workflow.id,
        key: run.key.clone().filter(|key| !is_backfill(key)),
        trigger: run.key.clone().filter(|key| is_backfill(key) && !scheduler.is(Fault::HidesBackfills)),
        cause: run.cause.to_owned(),
        business_time: run.date,
        state: state.to_owned(),
        engine_state: run.state.to_uppercase(),
        attempt: run.attempt,
        started: run.started,
        ended: run.ended,
        message: None,
        extra: None,
    }
}

fn is_backfill(key: &str) -> bool {
    key.starts_with(BACKFILL)
}

/// Some of all, and where to go on.
pub fn page<T>(cursor: Option<&str>, limit: u32, all: Vec<T>) -> Answer<(Vec<T>, Option<String>)> {
    let from = match cursor.map(str::parse::<usize>) {
        None => 0,
        Some(Ok(from)) => from,
        Some(Err(_)) => return refused("invalid_input", "that is no cursor of this engine"),
    };
    let (count, to) = (all.len(), from + limit as usize);
    let next = (to < count).then(|| to.to_string());
    Ok((all.into_iter().skip(from).take(limit as usize).collect(), next))
}

pub fn instances(scheduler: &mut FakeScheduler, request: &WatchRequest) -> Answer<WatchPage> {
    if scheduler.is(Fault::AsksEach) {
        scheduler.requests += request.workflows.len() as u64 - 1;
    }
    let scheduler = &*scheduler;
    let cursor = match request.cursor.as_deref().map(str::parse::<u64>) {
        None => 0,
        Some(Ok(cursor)) => cursor,
        Some(Err(_)) if scheduler.is(Fault::TakesAnyCursor) => 0,
        Some(Err(_)) => return refused("invalid_input", "that is no cursor of this engine"),
    };
    let is_watched = |run: &Run| request.workflows.iter().any(|one| one.id == run.workflow.id);
    let is_open = |run: &Run| request.open.iter().any(|open| open.id == run.id);
    let mut changed: Vec<&Run> =
        scheduler.runs.iter().filter(|run| run.change > cursor && is_watched(run)).collect();
    changed.sort_by_key(|run| run.change);
    let more = changed.len() > request.limit as usize;
    changed.truncate(request.limit as usize);
    let last = changed.last().map(|run| run.change).filter(|_| more).unwrap_or(scheduler.changes);
    let mut open: Vec<&Run> = scheduler.runs.iter().filter(|run| is_open(run)).collect();
    let known: HashSet<&str> = open.iter().map(|run| run.id.as_str()).collect();
    let gone = request.open.iter().filter(|one| !known.contains(one.id.as_str()));
    let gone = gone.map(|one| one.id.clone()).collect();
    changed.retain(|run| !is_open(run));
    if scheduler.is(Fault::ForgetsOpen) {
        open.retain(|run| run.change > cursor);
    }
    let instances = open.into_iter().chain(changed).map(|run| shown(scheduler, run)).collect();
    Ok(WatchPage { instances, gone, cursor: last.to_string(), more, wait_ms: 300 })
}

pub fn task_runs(scheduler: &FakeScheduler, request: &TaskRunRequest) -> Answer<TaskRunPage> {
    let has_rows = !scheduler.is(Fault::HidesRows);
    let is_asked = |run: &&Run| request.instances.iter().any(|one| one.id == run.id);
    let mut tries = Vec::new();
    for run in scheduler.runs.iter().filter(is_asked) {
        tries.extend(run.tries.iter().map(|one| TaskRun {
            id: one.id.clone(),
            instance: run.id.clone(),
            task: Some(one.task),
            task_name: one.name.clone(),
            attempt: one.attempt,
            state: match one.state {
                "running" if scheduler.is(Fault::HidesTasks) => "queued".to_owned(),
                state => state.to_owned(),
            },
            engine_state: one.state.to_owned(),
            started: Some(one.started),
            ended: one.ended,
            message: None,
            rows_affected: (has_rows && one.state == "success").then_some(0),
            extra: None,
        }));
    }
    let (task_runs, next) = page(request.cursor.as_deref(), request.limit, tries)?;
    Ok(TaskRunPage { task_runs, next })
}

pub fn log(scheduler: &FakeScheduler, request: &LogRequest) -> Answer<LogPage> {
    if scheduler.is(Fault::DoesLittle) {
        return refused("unsupported", "it has no logs");
    }
    let run = &scheduler.runs[index_of(scheduler, &request.instance.id)?];
    let Some(one) = run.tries.iter().find(|one| one.id == request.task_run) else {
        return refused("not_found", "there is no such try");
    };
    let from = match request.cursor.as_deref().map(str::parse::<usize>) {
        None => 0,
        Some(Ok(from)) if from <= one.log.len() => from,
        _ => return refused("invalid_input", "that is no cursor of this engine"),
    };
    let rest = &one.log[from..];
    let (mut end, max) = (0, request.max_bytes as usize);
    for line in rest.split_inclusive('\n') {
        if end > 0 && end + line.len() > max {
            break;
        }
        end += line.len();
    }
    let lost = if scheduler.is(Fault::CutsLogs) && end < rest.len() {
        rest[end..].find('\n').map_or(0, |at| at + 1)
    } else {
        0
    };
    let complete = one.ended.is_some() && end == rest.len() && !scheduler.is(Fault::NeverCompletes);
    Ok(LogPage { text: rest[..end].to_owned(), next: (from + end + lost).to_string(), complete })
}
