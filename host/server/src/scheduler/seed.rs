//! Writes past runs as the worker would have: for the example company's history.

use chrono_tz::Tz;
use lakeport_base::Error;
use lakeport_bindings::engine::model::{Instance, TaskRun};
use lakeport_store::Tx;

use super::attempts::Log;
use super::attempts::store::{self as tries, ToBegin};
use super::definition::Strategy;
use super::store::{self, NewRun, State};

/// A finished run.
pub struct PastRun<'p> {
    pub workflow_id: i64,
    /// Its unique key.
    pub key: &'p str,
    /// `schedule` or `manual`.
    pub cause: &'p str,
    pub business_at_ms: i64,
    /// In the order of their starts; at least one. The last one's result is the run's.
    pub tries: Vec<PastTry>,
}

/// An attempt in it.
pub struct PastTry {
    pub task_id: i64,
    pub task_name: String,
    /// From 1.
    pub attempt: u32,
    pub started_at_ms: i64,
    pub ended_at_ms: i64,
    pub ended: PastEnd,
}

#[derive(Clone)]
pub enum PastEnd {
    Success {
        rows: i64,
    },
    /// If `is_tried_again`, another attempt follows.
    Failed {
        message: String,
        is_tried_again: bool,
    },
    Stopped {
        message: String,
    },
}

impl PastEnd {
    fn state(&self) -> State {
        match self {
            PastEnd::Success { .. } => State::Success,
            PastEnd::Failed { .. } => State::Failed,
            PastEnd::Stopped { .. } => State::Stopped,
        }
    }

    fn message(&self) -> Option<&str> {
        match self {
            PastEnd::Success { .. } => None,
            PastEnd::Failed { message, .. } | PastEnd::Stopped { message } => Some(message),
        }
    }

    fn rows(&self) -> Option<i64> {
        if let PastEnd::Success { rows } = self { Some(*rows) } else { None }
    }
}

/// Writes one with its log; returns it in an engine's form, or `None` if its key exists.
pub async fn record(
    tx: &mut Tx,
    past: &PastRun<'_>,
    zone: Tz,
) -> Result<Option<(Instance, Vec<TaskRun>)>, Error> {
    let (Some(first), Some(last)) = (past.tries.first(), past.tries.last()) else { return Ok(None) };
    let new = NewRun {
        waits: false,
        workflow_id: past.workflow_id,
        key: past.key,
        cause: past.cause,
        business_at_ms: past.business_at_ms,
        zone,
        params: &[],
        strategy: Strategy::Continue,
    };
    let Some(id) = store::insert_run(tx, &new, first.started_at_ms).await? else { return Ok(None) };
    store::begin_runs(tx, &[id], first.started_at_ms).await?;
    let mut task_runs = Vec::with_capacity(past.tries.len());
    for one in &past.tries {
        task_runs.push(write_try(tx, id, one, zone).await?);
    }
    let state = last.ended.state();
    if state == State::Stopped {
        store::ask_stop(tx, id, last.ended_at_ms).await?;
    }
    let failed = last.ended.message().filter(|_| state == State::Failed);
    let message = failed.map(|message| format!("the task {} failed: {message}", last.task_name));
    store::end_run(tx, id, state, message.as_deref(), last.ended_at_ms).await?;
    let instance = Instance {
        id: id.to_string(),
        workflow: past.workflow_id.cast_unsigned(),
        key: Some(past.key.to_owned()),
        trigger: None,
        cause: past.cause.to_owned(),
        business_time: Some(past.business_at_ms),
        state: state.as_str().to_owned(),
        engine_state: state.as_str().to_owned(),
        attempt: 1,
        started: Some(first.started_at_ms),
        ended: Some(last.ended_at_ms),
        message,
        extra: None,
    };
    Ok(Some((instance, task_runs)))
}

async fn write_try(tx: &mut Tx, run_id: i64, one: &PastTry, zone: Tz) -> Result<TaskRun, Error> {
    let task = ToBegin { run_id, task_id: one.task_id, name: &one.task_name };
    let begun = tries::begin(tx, &[task], one.started_at_ms).await?.remove(0);
    let (state, message, rows) = (one.ended.state(), one.ended.message(), one.ended.rows());
    let mut log = Log::new(zone);
    log.line(one.started_at_ms, &format!("task {}, try {}", one.task_name, begun.attempt));
    log.end(one.ended_at_ms, state, message, rows);
    tries::append(tx, &log.pending().pieces(begun.id))?;
    let is_tried_again = matches!(one.ended, PastEnd::Failed { is_tried_again: true, .. });
    let ended =
        tries::Ended { state, message: message.map(str::to_owned), rows_affected: rows, is_tried_again };
    tries::end(tx, &[(begun.id, &ended)], one.ended_at_ms).await?;
    Ok(TaskRun {
        id: begun.id.to_string(),
        instance: run_id.to_string(),
        task: Some(one.task_id.cast_unsigned()),
        task_name: one.task_name.clone(),
        attempt: one.attempt,
        state: state.as_str().to_owned(),
        engine_state: state.as_str().to_owned(),
        started: Some(one.started_at_ms),
        ended: Some(one.ended_at_ms),
        message: message.map(str::to_owned),
        rows_affected: rows.map(i64::cast_unsigned),
        extra: None,
    })
}
