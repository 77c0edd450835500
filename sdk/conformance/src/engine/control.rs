//! Stopping, pausing, and runs of a part of a workflow.

use lakeport_bindings::engine::model::{Instance, RetryRequest, Target, TaskRun, WorkflowRef};

use super::logs;
use super::runs::is_task;
use super::samples::Work;
use super::subject::Subject;
use super::trial::{Checked, Trial};
use super::watcher::{StartedRun, Watcher, is_final};
use crate::report::Area;

/// An endless run is stopped.
pub async fn cancel<S: Subject>(trial: &mut Trial<'_, S>) -> Checked<()> {
    let (subject, function) = (trial.subject, "runs.cancel");
    let tasks = [("endless", Work::Endless), ("after", Work::Succeeds)];
    let workflow = trial.workflow("endless", &tasks, &[(0, 1)]);
    let current = trial.deploy(&workflow).await?;
    let mut watcher = Watcher::new(&[&current], (trial.setting.now_ms)());
    let request = trial.run(&current);
    let begun = trial.start_run(request).await?;
    let one = wait_for_task(trial, &mut watcher, &begun, workflow.id * 100 + 1, "endless").await?;
    if trial.has("log_stream") {
        logs::stream(trial, &begun, &one).await?;
    }
    if trial.has("retry_failed") || trial.has("retry_all") {
        let scope = if trial.has("retry_all") { "all" } else { "failed" };
        let key = trial.run(&current).key;
        let retry = RetryRequest { instance: begun.reference(), scope: scope.to_owned(), key };
        let what = "a run that has not ended";
        trial.must_refuse("runs.retry", what, &["conflict"], subject.retry(&retry)).await;
    }
    let target = Target::Instance(begun.id.clone());
    let call = subject.cancel(&current, &target);
    let receipt = trial.must(function, "a run that is running", call).await?;
    trial.poll(&mut watcher).await?;
    let state = watcher.seen.get(&begun.id).map(|run| run.state.clone()).unwrap_or_default();
    let what = format!("settled, and the run is {state:?}");
    let why = "`settled` means that the run has ended";
    trial.expect(Area::Lifecycle, !receipt.settled || is_final(&state), function, &what, why);
    let run = trial.wait_for_end(&mut watcher, &begun.id).await?;
    let what = format!("the state {:?}", run.state);
    trial.expect(Area::Lifecycle, run.state == "stopped", function, &what, "a stopped run is `stopped`");
    let tries = trial.tries(&[begun.reference()], 100).await?;
    let succeeded = tries.iter().any(|one| one.state == "success");
    let what = "a task of a stopped run succeeded";
    trial.expect(Area::Lifecycle, !succeeded, function, what, "no task is begun after a stop");
    let alive = tries.iter().any(|one| one.state == "running");
    trial.expect(Area::Lifecycle, !alive, function, "a task runs on", "a stop ends the tasks");
    trial.must(function, "a run that has ended", subject.cancel(&current, &target)).await?;
    Ok(())
}

/// Waits until a task runs, and returns its try.
pub async fn wait_for_task<S: Subject>(
    trial: &mut Trial<'_, S>,
    watcher: &mut Watcher,
    begun: &StartedRun,
    task: u64,
    name: &str,
) -> Checked<TaskRun> {
    let wanted = "a run whose task takes its time";
    let is_running = |run: &Instance| run.state == "running";
    trial.wait_until(watcher, &begun.id, wanted, is_running).await?;
    let mut waited = std::time::Duration::ZERO;
    loop {
        let tries = trial.tries(&[begun.reference()], 100).await?;
        let states: Vec<String> = tries.iter().map(|one| one.state.clone()).collect();
        let found = tries.into_iter().find(|one| is_task(one, task, name) && one.state == "running");
        if let Some(one) = found {
            return Ok(one);
        }
        let what = format!("after {} s its tries are {states:?}", waited.as_secs());
        let is_patient = waited <= trial.setting.patience;
        let why = "the task that takes its time is `running`";
        trial.require(Area::Lifecycle, is_patient, "watch.task-runs", &what, why)?;
        trial.poll(watcher).await?;
        waited += trial.wait_between(watcher).await;
    }
}

/// A run is paused and goes on.
pub async fn pausing<S: Subject>(trial: &mut Trial<'_, S>) -> Checked<()> {
    let subject = trial.subject;
    let tasks = [("slow", Work::Slow), ("then", Work::Succeeds)];
    let workflow = trial.workflow("pausing", &tasks, &[(0, 1)]);
    let current = trial.deploy(&workflow).await?;
    let mut watcher = Watcher::new(&[&current], (trial.setting.now_ms)());
    let request = trial.run(&current);
    let begun = trial.start_run(request).await?;
    let this = begun.reference();
    if trial.setting.tasks.slow.is_some() {
        wait_for_task(trial, &mut watcher, &begun, workflow.id * 100 + 1, "slow").await?;
        trial.must("pausing.pause", "a run that is running", subject.set_paused(&this, true)).await?;
        trial.must("pausing.pause", "a paused run", subject.set_paused(&this, true)).await?;
        let is_paused = |run: &Instance| run.state == "paused" || is_final(&run.state);
        let run = trial.wait_until(&mut watcher, &begun.id, "a run that is paused", is_paused).await?;
        let what = format!("the state {:?}", run.state);
        trial.require(Area::Lifecycle, run.state == "paused", "pausing.pause", &what, BEGINS_NONE)?;
        wait_for_slow_task(trial, &mut watcher, &begun, workflow.id * 100 + 1).await?;
        let tries = trial.tries(std::slice::from_ref(&this), 100).await?;
        let then = tries.iter().find(|one| is_task(one, workflow.id * 100 + 2, "then"));
        let begun_too = then.is_some_and(|one| matches!(one.state.as_str(), "running" | "success"));
        let what = format!("the next task is {:?}", then.map(|one| &one.state));
        trial.expect(Area::Lifecycle, !begun_too, "pausing.pause", &what, BEGINS_NONE);
        trial.must("pausing.resume", "a paused run", subject.set_paused(&this, false)).await?;
        trial.must("pausing.resume", "a run that is not paused", subject.set_paused(&this, false)).await?;
    } else {
        trial.report.note("checked in part: pausing, since the setting has no slow task");
    }
    let ended = |run: &Instance| is_final(&run.state);
    let run = trial.wait_until(&mut watcher, &begun.id, "a run that goes on", ended).await?;
    let what = format!("the state {:?}", run.state);
    let why = "a run that goes on comes to its end";
    trial.expect(Area::Lifecycle, run.state == "success", "pausing.resume", &what, why);
    for (function, paused) in [("pausing.pause", true), ("pausing.resume", false)] {
        let call = subject.set_paused(&this, paused);
        trial.must_refuse(function, "a run that has ended", &["conflict"], call).await;
    }
    Ok(())
}

const BEGINS_NONE: &str = "a paused run begins no further task, and is `paused`";

/// The task that ran when the run was paused goes on to its end.
async fn wait_for_slow_task<S: Subject>(
    trial: &mut Trial<'_, S>,
    watcher: &mut Watcher,
    begun: &StartedRun,
    task: u64,
) -> Checked<()> {
    let mut waited = std::time::Duration::ZERO;
    loop {
        let tries = trial.tries(&[begun.reference()], 100).await?;
        if tries.iter().any(|one| is_task(one, task, "slow") && one.state == "success") {
            break;
        }
        let is_patient = waited <= trial.setting.patience;
        let what = format!("after {} s it has not succeeded", waited.as_secs());
        let why = "a task that runs goes on when its run is paused";
        trial.require(Area::Lifecycle, is_patient, "pausing.pause", &what, why)?;
        waited += trial.wait_between(watcher).await;
    }
    // The next task would begin now.
    trial.wait(trial.setting.poll * 5).await;
    trial.poll(watcher).await
}

/// Runs of one task, and from one task on.
pub async fn parts<S: Subject>(trial: &mut Trial<'_, S>, chain: &WorkflowRef) -> Checked<()> {
    if !trial.has("start_at") {
        return Ok(());
    }
    let task = |index: u64| chain.id * 100 + index;
    let mut watcher = Watcher::new(&[chain], (trial.setting.now_ms)());
    for (reach, start_at, wanted) in [("from", 2, vec!["b", "c"]), ("only", 2, vec!["b"])] {
        let mut request = trial.run(chain);
        (request.start_at, request.reach) = (Some(task(start_at)), reach.to_owned());
        let begun = trial.start_run(request).await?;
        let run = trial.wait_for_end(&mut watcher, &begun.id).await?;
        let tries = trial.tries(&[begun.reference()], 100).await?;
        let names = ["a", "b", "c", "d"];
        let ran = |index: usize| {
            tries
                .iter()
                .any(|one| is_task(one, task(index as u64 + 1), names[index]) && one.state == "success")
        };
        let found: Vec<&str> =
            (0..names.len()).filter(|&index| ran(index)).map(|index| names[index]).collect();
        let place = format!("runs.start, {reach} the task b of a chain");
        let what = format!("the run is {:?}, and {found:?} were run", run.state);
        let why = "`from` runs a task and what comes after it, `only` this task";
        trial.expect(Area::Lifecycle, run.state == "success" && found == wanted, &place, &what, why);
    }
    let mut request = trial.run(chain);
    (request.start_at, request.reach) = (Some(1), "from".to_owned());
    let (subject, codes) = (trial.subject, ["not_found", "conflict", "invalid_input"]);
    trial.must_refuse("runs.start", "from an unknown task", &codes, subject.start(&request)).await;
    Ok(())
}
