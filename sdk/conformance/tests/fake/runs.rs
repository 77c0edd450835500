//! Runs: started, stopped and run again.

use std::collections::HashSet;

use lakeport_bindings::engine::model::{Receipt, RetryRequest, RunRequest, Started, Target, WorkflowRef};
use lakeport_plugins::{CallError, CallFault};

use super::Fault;
use super::engine::{Answer, refused};
use super::scheduler::FakeScheduler;

/// Where a run is.
pub fn index_of(scheduler: &FakeScheduler, id: &str) -> Answer<usize> {
    let found = scheduler.runs.iter().position(|run| run.id == id);
    found.map_or_else(|| refused("not_found", format!("there is no run {id}")), Ok)
}

/// The code of a workflow that is deployed.
pub fn code_of(scheduler: &FakeScheduler, workflow: &WorkflowRef) -> Answer<String> {
    let code = workflow.code.clone().unwrap_or_default();
    if scheduler.deployed.get(&code).is_some_and(|one| !one.is_removed || scheduler.is(Fault::RunsRemoved)) {
        return Ok(code);
    }
    let word = if scheduler.is(Fault::OwnCodes) { "NotDeployed" } else { "not_found" };
    refused(word, format!("the workflow {} is not deployed", workflow.name))
}

pub fn start(scheduler: &mut FakeScheduler, request: &RunRequest) -> Answer<Started> {
    let code = code_of(scheduler, &request.workflow)?;
    let known = scheduler.runs.iter().find(|run| run.key.as_ref() == Some(&request.key));
    if let Some(run) = known.filter(|_| !scheduler.is(Fault::RunsTwice)) {
        return Ok(Started { instance: Some(run.id.clone()), trigger: None, found: true });
    }
    let left_out = left_out(scheduler, &code, request)?;
    let is_discarded = scheduler.discards(&code);
    if is_discarded && !scheduler.is(Fault::StopsDiscarded) {
        return refused("conflict", "another run of the workflow is active");
    }
    let cause = match request.cause.as_str() {
        "backfill" if !scheduler.is(Fault::LosesCauses) => "backfill",
        _ => "manual",
    };
    let id = scheduler.begin(&code, Some(request.key.clone()), cause, request.business_time, left_out);
    let now = scheduler.now_ms;
    let run = scheduler.runs.last_mut().expect("it was just begun");
    for param in &request.params {
        run.workflow.params.retain(|one| one.name != param.name);
        run.workflow.params.push(param.clone());
    }
    if is_discarded {
        (run.state, run.ended) = ("stopped", Some(now));
    }
    Ok(Started { instance: Some(id), trigger: None, found: false })
}

/// The tasks that a run of a part does not run.
fn left_out(scheduler: &FakeScheduler, code: &str, request: &RunRequest) -> Answer<Vec<u64>> {
    let workflow = &scheduler.deployed[code].workflow;
    Ok(match request.start_at {
        Some(first) if !workflow.tasks.iter().any(|task| task.id == first) => {
            return refused("not_found", format!("there is no task {first}"));
        }
        Some(first) if !scheduler.is(Fault::RunsAll) => {
            let mut part = HashSet::from([first]);
            while request.reach == "from"
                && workflow.edges.iter().any(|edge| part.contains(&edge.before) && part.insert(edge.after))
            {
            }
            workflow.tasks.iter().map(|task| task.id).filter(|id| !part.contains(id)).collect()
        }
        _ => Vec::new(),
    })
}

pub fn cancel(scheduler: &mut FakeScheduler, target: &Target) -> Answer<Receipt> {
    let receipt = Receipt { settled: true, note: String::new() };
    let Target::Instance(id) = target else { return Ok(receipt) };
    if scheduler.is(Fault::Traps) && !id.starts_with('r') {
        return Err(CallError::Failed {
            plugin: "engine:fake".to_owned(),
            function: "runs.cancel",
            fault: CallFault::Trap,
            message: "it trapped".to_owned(),
        });
    }
    let index = index_of(scheduler, id)?;
    if scheduler.is(Fault::IgnoresStops) {
        return Ok(Receipt { settled: false, ..receipt });
    }
    let now = scheduler.now_ms;
    let run = &mut scheduler.runs[index];
    if run.ended.is_none() {
        (run.state, run.ended) = ("stopped", Some(now));
        for one in run.tries.iter_mut().filter(|one| one.ended.is_none()) {
            (one.state, one.ended) = ("stopped", Some(now));
        }
        scheduler.touch(index);
    }
    Ok(receipt)
}

/// Within the same run.
pub fn retry(scheduler: &mut FakeScheduler, request: &RetryRequest) -> Answer<Started> {
    let index = index_of(scheduler, &request.instance.id)?;
    let all = request.scope == "all" || scheduler.is(Fault::RetriesAll);
    let run = &mut scheduler.runs[index];
    let instance = Some(run.id.clone());
    if run.retries.contains(&request.key) {
        return Ok(Started { instance, trigger: None, found: true });
    }
    if run.ended.is_none() {
        return refused("conflict", "the run has not ended");
    }
    run.retries.push(request.key.clone());
    run.tries.iter_mut().for_each(|one| one.is_old |= all || one.state != "success");
    (run.state, run.ended, run.attempt) = ("running", None, run.attempt + 1);
    scheduler.touch(index);
    Ok(Started { instance, trigger: None, found: false })
}
