//! Converts an engine's answers to records: of a task from its attempts, and of a run. Pure functions.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use lakeport_bindings::engine::model::{Instance, TaskRun};

use super::STOPPING;
use crate::execution_records::Run;
use crate::execution_records::store::{Record, Status, Try};

/// The longest stored message, in characters, by the contract.
const MESSAGE_MAX_CHARS: usize = 2_000;
/// The longest stored name, in characters.
const NAME_MAX_CHARS: usize = 500;

/// An engine's text in storable form: bounded, and without U+0000, which PostgreSQL refuses.
pub fn kept(text: &str, chars_max: usize) -> String {
    text.chars().filter(|&c| c != '\0').take(chars_max).collect()
}

/// The message of a failure in storable form.
pub fn kept_message(text: &str) -> String {
    kept(text, MESSAGE_MAX_CHARS)
}

/// Whether a run or an attempt in this state has ended.
pub fn has_ended(state: &str) -> bool {
    matches!(state, "success" | "failed" | "stopped" | "skipped")
}

/// A run updated by the engine's report.
pub fn run_with(run: &Run, instance: &Instance, now_ms: i64) -> Run {
    const STATES: [&str; 7] = ["queued", "running", "paused", "stopping", "success", "failed", "stopped"];
    let state = match STATES.into_iter().find(|state| *state == instance.state).unwrap_or("unknown") {
        // The engine does not show yet that it was asked to stop it.
        "queued" | "running" | "unknown" if run.ended_at_ms.is_none() && run.state == STOPPING => STOPPING,
        state => state,
    };
    let ended_at_ms = has_ended(state).then(|| instance.ended.or(run.ended_at_ms).unwrap_or(now_ms));
    Run {
        trigger: instance.trigger.clone().or_else(|| run.trigger.clone()),
        instance_id: Some(instance.id.clone()),
        state: state.to_owned(),
        business_time_ms: instance.business_time.or(run.business_time_ms),
        started_at_ms: instance.started.or(run.started_at_ms),
        ended_at_ms,
        message: instance.message.as_deref().map(kept_message),
        ..run.clone()
    }
}

/// A run that was found in the engine and not requested here.
pub fn seen(engine: &str, workflow_name: &str, instance: &Instance, now_ms: i64) -> Run {
    let cause = match instance.cause.as_str() {
        cause @ ("schedule" | "backfill") => cause,
        _ => "manual",
    };
    let run = Run {
        id: 0,
        engine: engine.to_owned(),
        workflow_id: i64::try_from(instance.workflow).unwrap_or(i64::MAX),
        workflow_name: workflow_name.to_owned(),
        key: None,
        trigger: None,
        instance_id: None,
        state: String::new(),
        cause: cause.to_owned(),
        business_time_ms: None,
        asked_at_ms: instance.started.unwrap_or(now_ms),
        started_at_ms: None,
        ended_at_ms: None,
        message: None,
        workflow_version: None,
        part: None,
        failure_strategy: None,
        again: None,
        version: 0,
    };
    run_with(&run, instance, now_ms)
}

/// Keeps the latest `at_most` attempts of each task of a run.
pub fn keep_latest(tries: &mut Vec<TaskRun>, at_most: usize) {
    tries.sort_by_key(|one| Reverse(one.attempt));
    let mut kept: HashMap<String, usize> = HashMap::new();
    tries.retain(|one| {
        let count = kept.entry(key(one)).or_default();
        *count += 1;
        *count <= at_most
    });
}

/// Identifies a task within its run.
fn key(one: &TaskRun) -> String {
    match one.task {
        Some(id) => id.to_string(),
        None => format!("name:{}", kept(&one.task_name, NAME_MAX_CHARS)),
    }
}

/// The records of a run's attempts, one per task, in the order in which they started. A task that never
/// started has none.
pub fn records(run: &Run, tries: &[TaskRun]) -> Vec<Record> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut tasks: Vec<(String, Vec<&TaskRun>)> = Vec::new();
    for one in tries.iter().filter(|one| one.state != "skipped") {
        let key = key(one);
        let place = *places.entry(key.clone()).or_insert_with(|| {
            tasks.push((key, Vec::new()));
            tasks.len() - 1
        });
        tasks[place].1.push(one);
    }
    let record = |(key, tries): (String, Vec<&TaskRun>)| settled(run, record(key, tries)?);
    let mut records: Vec<Record> = tasks.into_iter().filter_map(record).collect();
    records.sort_by_key(|record| record.start_time_ms.unwrap_or(i64::MAX));
    records
}

fn record(task_key: String, mut tries: Vec<&TaskRun>) -> Option<Record> {
    tries.sort_by_key(|one| one.attempt);
    // A task that starts while the engine answers may be reported twice: also as waiting.
    let begun: HashSet<u32> =
        tries.iter().filter(|one| one.started.is_some()).map(|one| one.attempt).collect();
    tries.retain(|one| one.started.is_some() || !begun.contains(&one.attempt));
    let latest = *tries.last()?;
    let ended = has_ended(&latest.state);
    Some(Record {
        task_key,
        task_id: latest.task.and_then(|id| i64::try_from(id).ok()),
        task_name: kept(&latest.task_name, NAME_MAX_CHARS),
        status: status(latest),
        attempt: i64::from(latest.attempt),
        start_time_ms: latest.started,
        end_time_ms: latest.ended.filter(|_| ended),
        error_message: latest.message.as_deref().map(kept_message),
        rows_affected: latest.rows_affected.and_then(|rows| i64::try_from(rows).ok()),
        tries: tries
            .iter()
            .map(|one| Try {
                id: one.id.clone(),
                attempt: i64::from(one.attempt),
                ended: has_ended(&one.state),
            })
            .collect(),
    })
}

fn status(latest: &TaskRun) -> Status {
    match latest.state.as_str() {
        "queued" => Status::Pending,
        "paused" => Status::Paused,
        "success" => Status::Success,
        "failed" => Status::Failed,
        "stopped" => Status::Killed,
        "running" | "stopping" => Status::Running,
        // An unknown state: it counts as not ended.
        _ if latest.started.is_some() => Status::Running,
        _ => Status::Pending,
    }
}

/// When a run has ended, none of its tasks is running: a task that the engine left open ended with it, and
/// one that had not started has no record.
pub fn settled(run: &Run, record: Record) -> Option<Record> {
    let Some(ended_at_ms) = run.ended_at_ms.filter(|_| !record.status.has_ended()) else {
        return Some(record);
    };
    record.start_time_ms?;
    let status = match run.state.as_str() {
        "success" => Status::Success,
        "stopped" => Status::Killed,
        _ => Status::Failed,
    };
    let unsaid = || format!("the run ended as {}; how the task did is not known", run.state);
    let message = record.error_message.or_else(|| (status != Status::Success).then(unsaid));
    let tries = record.tries.into_iter().map(|one| Try { ended: true, ..one }).collect();
    let end_time_ms = Some(ended_at_ms);
    Some(Record { status, end_time_ms, error_message: message, tries, ..record })
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;
