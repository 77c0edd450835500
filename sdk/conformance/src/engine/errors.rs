//! What does not exist, and cursors of something else: errors of the contract, never failures.

use lakeport_bindings::engine::model::{
    InstanceRef, RetryRequest, RunQuery, Target, TaskRunRequest, WatchRequest, WorkflowRef,
};

use super::samples::{self, Work};
use super::subject::Subject;
use super::trial::{Checked, Trial};
use crate::report::Area;

const NO_CURSOR: &str = "no cursor of yours";
/// Ids that no engine gave out: a number, and words.
const NO_RUNS: [&str; 2] = ["999999999", "no such run"];

pub async fn errors<S: Subject>(trial: &mut Trial<'_, S>, chain: &WorkflowRef) -> Checked<()> {
    never_deployed(trial).await?;
    for id in NO_RUNS {
        unknown_run(trial, chain, id).await?;
    }
    wrong_cursors(trial, chain).await;
    Ok(())
}

async fn never_deployed<S: Subject>(trial: &mut Trial<'_, S>) -> Checked<()> {
    let subject = trial.subject;
    let workflow = trial.workflow("never", &[("a", Work::Succeeds)], &[]);
    let never = samples::unknown(&workflow);
    let request = trial.run(&never);
    let codes = ["not_found", "conflict", "invalid_input"];
    let what = "a workflow that was never deployed";
    trial.must_refuse("runs.start", what, &codes, subject.start(&request)).await;
    let asked = (trial.setting.now_ms)();
    let query = RunQuery { workflow: never.clone(), key: request.key, trigger: None, asked };
    let found = trial.must("runs.find", what, subject.find(&[query])).await?;
    let is_none = found == [None];
    trial.expect(Area::Errors, is_none, "runs.find", &format!("{found:?}"), "there is no such run");
    let removed = trial.ask("deploys.remove", subject.remove(&never)).await?;
    let what = format!("{removed:?}");
    let holds = removed.is_ok_and(|removed| matches!(removed.phase.as_str(), "done" | "waiting" | "again"));
    let why = "removing a workflow that is not there is no error";
    trial.expect(Area::Errors, holds, "deploys.remove, a workflow that was never deployed", &what, why);
    if trial.exports("schedules") {
        let call = subject.set_online(&never, true);
        trial.must_refuse("schedules.online", "a workflow that was never deployed", &codes, call).await;
    }
    Ok(())
}

async fn unknown_run<S: Subject>(trial: &mut Trial<'_, S>, chain: &WorkflowRef, id: &str) -> Checked<()> {
    let subject = trial.subject;
    let what = format!("the unknown run {id:?}");
    let codes = ["not_found", "invalid_input"];
    let run = InstanceRef { workflow: chain.clone(), id: id.to_owned() };
    let target = Target::Instance(id.to_owned());
    trial.must_refuse("runs.cancel", &what, &codes, subject.cancel(chain, &target)).await;
    let key = trial.run(chain).key;
    let retry = RetryRequest { instance: run.clone(), scope: "failed".to_owned(), key };
    let codes = ["not_found", "invalid_input", "unsupported"];
    trial.must_refuse("runs.retry", &what, &codes, subject.retry(&retry)).await;
    let request = TaskRunRequest { instances: vec![run.clone()], cursor: None, limit: 10 };
    let tries = trial.ask("watch.task-runs", subject.task_runs(&request)).await?;
    let place = format!("watch.task-runs, {what}");
    let found = format!("{tries:?}");
    let holds = match tries {
        Ok(page) => page.task_runs.is_empty() && page.next.is_none(),
        Err(error) => error.code == "not_found",
    };
    trial.expect(Area::Errors, holds, &place, &found, "a run that is not there has no tries");
    if trial.exports("pausing") {
        let codes = ["not_found", "invalid_input"];
        for (function, paused) in [("pausing.pause", true), ("pausing.resume", false)] {
            trial.must_refuse(function, &what, &codes, subject.set_paused(&run, paused)).await;
        }
    }
    Ok(())
}

async fn wrong_cursors<S: Subject>(trial: &mut Trial<'_, S>, chain: &WorkflowRef) {
    let subject = trial.subject;
    let watch = WatchRequest {
        workflows: vec![samples::watched(chain)],
        open: Vec::new(),
        cursor: Some(NO_CURSOR.to_owned()),
        since: 0,
        limit: 10,
    };
    let call = subject.instances(&watch);
    trial.must_refuse("watch.instances", "a wrong cursor", &["invalid_input"], call).await;
    let run = InstanceRef { workflow: chain.clone(), id: NO_RUNS[0].to_owned() };
    let tries = TaskRunRequest { instances: vec![run], cursor: Some(NO_CURSOR.to_owned()), limit: 10 };
    let call = subject.task_runs(&tries);
    let codes = ["invalid_input", "not_found"];
    trial.must_refuse("watch.task-runs", "a wrong cursor", &codes, call).await;
}
