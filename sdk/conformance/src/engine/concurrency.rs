//! Concurrency: what a run does while another one of its workflow is active.

use lakeport_bindings::engine::model::{Instance, WorkflowRef};

use super::control;
use super::samples::Work;
use super::subject::Subject;
use super::trial::{Checked, Trial};
use super::watcher::{StartedRun, Watcher, is_final};
use crate::report::Area;

const WAIT: &str = "runs.start, a second run with the concurrency wait";
const DISCARD: &str = "runs.start, a second run with the concurrency discard";

/// A second run waits for the first one, or is discarded. `parallel` is that of all other scenarios.
pub async fn concurrency<S: Subject>(trial: &mut Trial<'_, S>) -> Checked<()> {
    if !trial.has("concurrency") {
        return Ok(());
    }
    if trial.setting.tasks.slow.is_none() {
        trial.report.note("not checked: concurrency, since the setting has no slow task");
        return Ok(());
    }
    wait(trial).await.ok();
    discard(trial).await
}

/// A workflow of one slow task.
async fn deploy<S: Subject>(trial: &mut Trial<'_, S>, concurrency: &str) -> Checked<WorkflowRef> {
    let mut workflow = trial.workflow(concurrency, &[("slow", Work::Slow)], &[]);
    workflow.concurrency = concurrency.to_owned();
    trial.deploy(&workflow).await
}

async fn wait<S: Subject>(trial: &mut Trial<'_, S>) -> Checked<()> {
    let current = deploy(trial, "wait").await?;
    let mut watcher = Watcher::new(&[&current], (trial.setting.now_ms)());
    let request = trial.run(&current);
    let first = trial.start_run(request).await?;
    let request = trial.run(&current);
    let second = trial.start_run(request).await?;
    let earlier = trial.wait_for_end(&mut watcher, &first.id).await?;
    let later = trial.wait_for_end(&mut watcher, &second.id).await?;
    let what = format!("the first run is {:?}, the second one {:?}", earlier.state, later.state);
    let holds = earlier.state == "success" && later.state == "success";
    trial.expect(Area::Lifecycle, holds, WAIT, &what, "a run that waits is run when its turn comes");
    let begin = begin_of_tasks(trial, &second, &later).await?;
    let what = format!("the second run began at {begin:?}, and the first one ended at {:?}", earlier.ended);
    let holds = begin.zip(earlier.ended).is_none_or(|(begin, ended)| begin >= ended);
    trial.expect(Area::Lifecycle, holds, WAIT, &what, "a run waits until the one before it has ended");
    Ok(())
}

/// When the first task of a run began. The run itself may have an earlier time: some engines write the begin of
/// a run when it begins to wait.
async fn begin_of_tasks<S: Subject>(
    trial: &mut Trial<'_, S>,
    begun: &StartedRun,
    run: &Instance,
) -> Checked<Option<i64>> {
    let tries = trial.tries(&[begun.reference()], 100).await?;
    Ok(tries.iter().filter_map(|one| one.started).min().or(run.started))
}

/// An engine may refuse the second run, or accept it and stop it.
async fn discard<S: Subject>(trial: &mut Trial<'_, S>) -> Checked<()> {
    let current = deploy(trial, "discard").await?;
    let mut watcher = Watcher::new(&[&current], (trial.setting.now_ms)());
    let request = trial.run(&current);
    let first = trial.start_run(request).await?;
    control::wait_for_task(trial, &mut watcher, &first, current.id * 100 + 1, "slow").await?;
    let (subject, asked) = (trial.subject, (trial.setting.now_ms)());
    let request = trial.run(&current);
    let answer = trial.ask("runs.start", subject.start(&request)).await?;
    match answer {
        Err(error) => {
            let what = format!("refused with {}: {}; expected: conflict", error.code, error.message);
            let why = "the code tells the host what to do";
            trial.expect(Area::Errors, error.code == "conflict", DISCARD, &what, why);
        }
        Ok(started) => {
            let second = trial.accepted(request, started, asked).await?;
            is_discarded(trial, &mut watcher, &first, &second).await?;
        }
    }
    let run = trial.wait_for_end(&mut watcher, &first.id).await?;
    let what = format!("the first run is {:?}: {:?}", run.state, run.message);
    let why = "a discarded run changes nothing for the active one";
    trial.expect(Area::Lifecycle, run.state == "success", DISCARD, &what, why);
    Ok(())
}

/// The second run, which was accepted, ends without a task that ran.
async fn is_discarded<S: Subject>(
    trial: &mut Trial<'_, S>,
    watcher: &mut Watcher,
    first: &StartedRun,
    second: &StartedRun,
) -> Checked<()> {
    trial.poll(watcher).await?;
    let has_ended = watcher.seen.get(&first.id).is_some_and(|run| is_final(&run.state));
    let run = trial.wait_for_end(watcher, &second.id).await?;
    if has_ended {
        // Perhaps before the second start, which then had nothing to be discarded for.
        trial.report.note("not checked: the concurrency discard, since the slow task ended too early");
        return Ok(());
    }
    let tries = trial.tries(&[second.reference()], 100).await?;
    let states: Vec<&str> = tries.iter().map(|one| one.state.as_str()).collect();
    let what = format!("the run is {:?}, and its tries are {states:?}", run.state);
    let has_run = states.iter().any(|state| matches!(*state, "running" | "success"));
    let holds = matches!(run.state.as_str(), "stopped" | "failed") && !has_run;
    trial.expect(Area::Lifecycle, holds, DISCARD, &what, "a run is not run while another one is active");
    Ok(())
}
