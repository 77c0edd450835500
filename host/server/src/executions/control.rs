//! Cancelling and retrying executions. The engine does the work; the answer shows the state observed soon
//! after.

use std::time::Duration;

use lakeport_base::Error;
use lakeport_bindings::engine::model::{InstanceRef, RetryRequest, Started};
use tokio::time::{Instant, sleep};

use super::runs::{self, LOST_MAX, MANUAL, Run, START_MAX, Start};
use super::{TOPIC, backfills, watch};
use crate::engines::{self, EngineClient, Failure};
use crate::execution_records::store::{self, Execution, Record, Status};
use crate::executions::Executions;
use crate::workflows;
use crate::workflows::forms::FailureStrategy;
use crate::workflows::versions::Snapshot;

/// How long a retry waits for the end of a run whose tasks have all ended, and the polling interval.
const END_WAIT: Duration = Duration::from_secs(3);
const END_LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// How long an answer waits for a stop.
const STOP_WAIT: Duration = Duration::from_secs(3);

/// Cancels the execution's run. A task that has not begun leaves no record; the answer is its last one.
pub async fn cancel(state: &Executions, execution: Execution, call_id: &str) -> Result<Execution, Error> {
    if execution.record.status.has_ended() {
        let message = format!(
            "the execution has ended ({}); only a running one can be stopped",
            execution.record.status.as_str()
        );
        return Err(Error::conflict("not_running", message));
    }
    let until = Instant::now() + STOP_WAIT;
    let (run, this, client) = run_of(state, &execution, call_id).await?;
    runs::stop(state, &run, &client, &this).await?;
    let is_stopped = |now: Option<&Execution>| now.is_none_or(|now| now.record.status.has_ended());
    let stopped = seen(state, &run, &execution.record.task_key, until, call_id, is_stopped).await?;
    Ok(stopped.unwrap_or_else(|| {
        let end_time_ms = Some(state.clock.now_ms());
        let record = Record { status: Status::Killed, end_time_ms, ..execution.record };
        Execution { record, ..execution }
    }))
}

/// Repeats the failed tasks of the execution's run; if the engine cannot, or no longer knows the run, starts
/// what was asked for once more, for the same time. Returns the task's new record. `repeat` identifies the request and its
/// repeats.
pub async fn retry(
    state: &Executions,
    execution: Execution,
    repeat: Option<String>,
    call_id: &str,
) -> Result<Execution, Error> {
    if !matches!(execution.record.status, Status::Failed | Status::Killed) {
        let message = format!(
            "it is {}; only a failed or killed execution can be run again",
            execution.record.status.as_str()
        );
        return Err(Error::conflict("not_retryable", message));
    }
    let until = Instant::now() + START_MAX;
    let (run, this, client) = run_of(state, &execution, call_id).await?;
    let run = ended(state, run, call_id).await?;
    refuse_removed(state, &run, &execution).await?;
    let key = repeat.clone().unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
    let request = RetryRequest { instance: this, scope: "failed".to_owned(), key };
    let workflow = request.instance.workflow.id;
    let can_retry = client.has_feature(workflow, "retry_failed")?;
    if can_retry {
        note_again(state, &run, client.info(Some(workflow)).await?.settle_ms).await?;
    }
    let retried = if can_retry { client.retry(&request).await } else { Ok(None) };
    let is_same = |started: &Started| started.instance == run.instance_id;
    let goes_on = match &retried {
        Ok(started) => started.as_ref().is_some_and(is_same),
        Err(failure) => matches!(failure, Failure::Open(_)),
    };
    if can_retry && !goes_on {
        forget_again(state, &run).await?;
    }
    let before = (execution.record.attempt, execution.run_id);
    let is_again =
        move |now: &Execution| (now.record.attempt, now.run_id) != before || !now.record.status.has_ended();
    let is_seen = move |now: Option<&Execution>| now.is_some_and(is_again);
    let again = match retried {
        Ok(Some(started)) => started.instance.or(started.trigger).unwrap_or_default(),
        Ok(None) => start_over(state, &run, repeat, call_id).await?,
        // It may be under way: the watcher goes on looking.
        Err(Failure::Open(error)) => {
            let until = Instant::now() + LOST_MAX;
            let seen = seen(state, &run, &execution.record.task_key, until, call_id, is_seen).await?;
            return seen.filter(is_again).ok_or(error);
        }
        Err(Failure::Refused(error)) if error.code() == "unsupported_by_engine" => {
            start_over(state, &run, repeat, call_id).await?
        }
        Err(Failure::Refused(Error::Refused(refusal))) if refusal.code == "engine_conflict" => {
            return Err(Error::conflict("not_retryable", refusal.message));
        }
        Err(Failure::Refused(error)) => return Err(error),
    };
    // A new run is known once the engine shows it.
    let known = runs::store::find_instance(&state.db, &run.engine, &again).await?;
    let run_again = known.unwrap_or_else(|| Run { instance_id: Some(again.clone()), ..run.clone() });
    let seen = seen(state, &run_again, &execution.record.task_key, until, call_id, is_seen).await?;
    seen.filter(is_again).ok_or_else(|| {
        let message = format!(
            "the engine `{}` runs it again, as {again}, but has not begun the task within {} s; once it has, it \
             stands in the history",
            run.engine,
            START_MAX.as_secs()
        );
        Error::timed_out("engine_timeout", message)
    })
}

/// Notes that an engine, which shows a change after so many milliseconds at most, is asked to run it again.
async fn note_again(state: &Executions, run: &Run, settle_ms: u32) -> Result<(), Error> {
    let call_ms = i64::try_from(START_MAX.as_millis()).unwrap_or(i64::MAX);
    let until_ms = state.clock.now_ms() + call_ms + i64::from(settle_ms);
    let mut tx = state.db.begin().await?;
    runs::store::note_again(&mut tx, run.id, until_ms).await?;
    tx.commit().await
}

/// The engine refused, or began another run.
async fn forget_again(state: &Executions, run: &Run) -> Result<(), Error> {
    let mut tx = state.db.begin().await?;
    runs::store::forget_again(&mut tx, run.id).await?;
    tx.commit().await
}

/// 409 if the task is not in the version that is deployed now, which the embedded scheduler would run.
async fn refuse_removed(state: &Executions, run: &Run, execution: &Execution) -> Result<(), Error> {
    let Some(task_id) = execution.record.task_id else { return Ok(()) };
    if !engines::is_embedded(&state.db, &run.engine).await? {
        return Ok(());
    }
    let deployed = match workflows::get(state, run.workflow_id).await {
        Ok(workflow) => workflow.published_version,
        Err(error) if error.code() == "not_found" => None,
        Err(error) => return Err(error),
    };
    let Some(version) = deployed else { return Ok(()) };
    let snapshot = Snapshot::read(&state.db, run.workflow_id, version).await?;
    if snapshot.is_none_or(|snapshot| snapshot.tasks.contains_key(&task_id)) {
        return Ok(());
    }
    let message = format!(
        "the task {} is not in the version {version}, which is deployed now; run the workflow instead",
        execution.record.task_name
    );
    Err(Error::conflict("not_retryable", message))
}

/// The run with its end, which may come shortly after its last task's; 409 while other tasks are running. Not
/// `wait_for`: each look asks the engine.
async fn ended(state: &Executions, mut run: Run, call_id: &str) -> Result<Run, Error> {
    let until = Instant::now() + END_WAIT;
    while run.ended_at_ms.is_none() {
        watch::look_at(state, &run, call_id).await?;
        run = runs::store::find(&state.db, run.id).await?.ok_or_else(|| Error::not_found("run", run.id))?;
        let tasks = store::of_runs(&state.db, &[run.id]).await?;
        let goes_on = tasks.iter().any(|task| !task.record.status.has_ended());
        if run.ended_at_ms.is_none() && (goes_on || Instant::now() >= until) {
            let message =
                "other tasks of its run are still running; retry when the run has ended, or cancel it first";
            return Err(Error::conflict("not_retryable", message));
        }
        if run.ended_at_ms.is_none() {
            sleep(END_LOOK_INTERVAL).await;
        }
    }
    Ok(run)
}

/// Starts a run like this one. Of a run that was not asked for here, all of the workflow.
async fn start_over(
    state: &Executions,
    run: &Run,
    repeat: Option<String>,
    call_id: &str,
) -> Result<String, Error> {
    let deployed = workflows::find_deployed(&state.db, run.workflow_id).await?;
    let not_there = || {
        let message = format!("the workflow {} is not deployed any more", run.workflow_name);
        Error::conflict("not_deployed", message)
    };
    let deployed = deployed.ok_or_else(not_there)?;
    let start = Start {
        cause: if run.cause == backfills::CAUSE { backfills::CAUSE } else { MANUAL },
        business_time_ms: run.business_time_ms,
        failure_strategy: run.failure_strategy.as_deref().unwrap_or(FailureStrategy::default().as_str()),
        part: run.part,
        guard: None,
    };
    runs::start_run(state, &deployed, &start, repeat, call_id).await
}

async fn run_of(
    state: &Executions,
    execution: &Execution,
    call_id: &str,
) -> Result<(Run, InstanceRef, EngineClient), Error> {
    let run = runs::store::find(&state.db, execution.run_id).await?;
    let run = run.ok_or_else(|| Error::not_found("execution", execution.id))?;
    let (client, this) = runs::at_engine(state, &run, call_id).await?;
    let this = this.ok_or_else(|| Error::internal(anyhow::anyhow!("the run {} has no instance", run.id)))?;
    Ok((run, this, client))
}

/// The task's record once it has the expected state, or its current state at the deadline or when the server
/// stops.
async fn seen(
    state: &Executions,
    run: &Run,
    task_key: &str,
    until: Instant,
    call_id: &str,
    is_it: impl Fn(Option<&Execution>) -> bool,
) -> Result<Option<Execution>, Error> {
    runs::look_after_change(state, run, call_id).await?;
    let instance_id = run.instance_id.as_deref().unwrap_or_default();
    let look = || async {
        match runs::store::find_instance(&state.db, &run.engine, instance_id).await? {
            Some(run) => store::find_task(&state.db, run.id, task_key).await,
            None => Ok(None),
        }
    };
    state.wait_for(TOPIC, None, until, look, |now| is_it(now.as_ref())).await
}
