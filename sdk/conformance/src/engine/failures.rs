//! Runs that fail, and what is run again of a finished run.

use lakeport_bindings::engine::model::{Instance, RetryRequest, WorkflowRef};

use super::runs::is_task;
use super::samples::Work;
use super::subject::Subject;
use super::trial::{Checked, Trial};
use super::watcher::{StartedRun, Watcher, is_final};
use crate::report::Area;

const PLACE: &str = "watch.task-runs, a run that fails";

/// `bad` fails before `after`; `other` has nothing to do with them.
pub async fn failures<S: Subject>(trial: &mut Trial<'_, S>) -> Checked<()> {
    let tasks = [("bad", Work::Fails), ("after", Work::Succeeds), ("other", Work::Succeeds)];
    let workflow = trial.workflow("failing", &tasks, &[(0, 1)]);
    let current = trial.deploy(&workflow).await?;
    let mut watcher = Watcher::new(&[&current], (trial.setting.now_ms)());
    let request = trial.run(&current);
    let begun = trial.start_run(request).await?;
    let run = trial.wait_for_end(&mut watcher, &begun.id).await?;
    let what = format!("the state {:?}", run.state);
    let why = "a run with a failed task has failed";
    trial.expect(Area::Lifecycle, run.state == "failed", "watch.instances", &what, why);
    let tries = trial.tries(&[begun.reference()], 100).await?;
    for (name, index, wanted) in
        [("bad", 1, Some("failed")), ("after", 2, None), ("other", 3, Some("success"))]
    {
        let of = tries.iter().filter(|one| is_task(one, workflow.id * 100 + index, name));
        let states: Vec<&str> = of.map(|one| one.state.as_str()).collect();
        let what = format!("the task {name} is {states:?}");
        let holds = wanted.map_or(!states.contains(&"success"), |wanted| states == [wanted]);
        let why = "a failed task stops what comes after it, and with CONTINUE nothing else";
        trial.expect(Area::Lifecycle, holds, PLACE, &what, why);
    }
    if trial.has("retry_failed") {
        let again = retry(trial, &mut watcher, &begun, &run, "failed", "failed").await?;
        let tries = trial.tries(&[again.reference()], 100).await?;
        let of = |name: &str, index| {
            tries.iter().filter(|one| is_task(one, workflow.id * 100 + index, name)).count()
        };
        // The run may be another one, which has its new tries alone.
        let before = usize::from(again.id == begun.id);
        let what = format!("{} tries of the failed task, {} of the other", of("bad", 1), of("other", 3));
        let holds = of("bad", 1) == 1 + before && of("other", 3) <= 1;
        let why = "the failed task is run again, and what succeeded is not";
        trial.expect(Area::Lifecycle, holds, "runs.retry, failed", &what, why);
    }
    Ok(())
}

/// A run that succeeded is run again, as a whole.
pub async fn retry_all<S: Subject>(trial: &mut Trial<'_, S>, chain: &WorkflowRef) -> Checked<()> {
    if !trial.has("retry_all") {
        return Ok(());
    }
    let mut watcher = Watcher::new(&[chain], (trial.setting.now_ms)());
    let request = trial.run(chain);
    let begun = trial.start_run(request).await?;
    let run = trial.wait_for_end(&mut watcher, &begun.id).await?;
    retry(trial, &mut watcher, &begun, &run, "all", "success").await?;
    Ok(())
}

/// Runs it again, and waits for the end, which must be this state. The answer names the run.
async fn retry<S: Subject>(
    trial: &mut Trial<'_, S>,
    watcher: &mut Watcher,
    begun: &StartedRun,
    before: &Instance,
    scope: &str,
    wanted: &str,
) -> Checked<StartedRun> {
    let (subject, function) = (trial.subject, "runs.retry");
    let key = trial.run(&begun.request.workflow).key;
    let request = RetryRequest { instance: begun.reference(), scope: scope.to_owned(), key };
    let started = trial.must(function, scope, subject.retry(&request)).await?;
    let id = started.instance.clone().unwrap_or_else(|| begun.id.clone());
    if trial.has("run_key") {
        let again = trial.must(function, "the same key again", subject.retry(&request)).await?;
        let what = format!("{again:?} after {started:?}");
        let holds = again.found && again.instance == started.instance;
        trial.expect(Area::Determinism, holds, function, &what, "the same key is one retry");
    }
    let is_again =
        |run: &Instance| is_final(&run.state) && (run.id != before.id || run.attempt > before.attempt);
    let run = trial.wait_until(watcher, &id, "a run that is run again", is_again).await?;
    let what = format!("the state {:?}", run.state);
    trial.expect(Area::Lifecycle, run.state == wanted, function, &what, "it comes to the same end again");
    Ok(StartedRun { started, id, ..begun.clone() })
}
