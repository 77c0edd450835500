//! Retries and timeouts of tasks, and the dates of a backfill that the host makes.

use lakeport_bindings::engine::model::{Instance, TaskRun, Workflow};

use super::samples::{self, Work};
use super::subject::Subject;
use super::trial::{Checked, Trial};
use super::watcher::{Watcher, is_final};
use crate::report::Area;

/// The dates of the backfill lie so many days back, where no other run of the kit is.
const DAYS_AGO: [u64; 2] = [300, 299];

/// A task with a retry fails twice, and its run fails.
pub async fn retries<S: Subject>(trial: &mut Trial<'_, S>) -> Checked<()> {
    if !trial.has("task_retry") {
        return Ok(());
    }
    let mut workflow = trial.workflow("retries", &[("bad", Work::Fails)], &[]);
    workflow.tasks[0].retries = 1;
    let (run, tries) = run_to_end(trial, &workflow, "a run whose task has a retry").await?;
    let what = format!("the state {:?}", run.state);
    let why = "a run has failed when a task has failed and has no retry left";
    trial.expect(Area::Lifecycle, run.state == "failed", "watch.instances, a task with a retry", &what, why);
    let found: Vec<(u32, &str)> = tries.iter().map(|one| (one.attempt, one.state.as_str())).collect();
    let what = format!("the attempts and states of its tries are {found:?}");
    // Some engines count one retry more than they were asked for.
    let holds = found.len() >= 2
        && found.iter().all(|(_, state)| *state == "failed")
        && found.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let why = "an engine with `task_retry` runs a failed task again, and each try has an attempt of its own";
    trial.expect(Area::Lifecycle, holds, "watch.task-runs, a task with a retry", &what, why);
    Ok(())
}

/// A task that does not end is stopped at its timeout, and its run fails.
pub async fn timeouts<S: Subject>(trial: &mut Trial<'_, S>) -> Checked<()> {
    if !trial.has("task_timeout") {
        return Ok(());
    }
    let mut workflow = trial.workflow("timeouts", &[("endless", Work::Endless)], &[]);
    workflow.tasks[0].timeout_s = 1;
    let (run, tries) = run_to_end(trial, &workflow, "a run whose task has a timeout").await?;
    let what = format!("the state {:?}", run.state);
    let why = "a run whose task came to its timeout has failed";
    trial.expect(
        Area::Lifecycle,
        run.state == "failed",
        "watch.instances, a task with a timeout",
        &what,
        why,
    );
    let states: Vec<&str> = tries.iter().map(|one| one.state.as_str()).collect();
    let what = format!("its tries are {states:?}");
    let holds = !states.iter().any(|state| matches!(*state, "running" | "success"));
    let why = "an engine with `task_timeout` stops a task at its timeout";
    trial.expect(Area::Lifecycle, holds, "watch.task-runs, a task with a timeout", &what, why);
    Ok(())
}

/// Runs a workflow to its end. Returns the run with its tries.
async fn run_to_end<S: Subject>(
    trial: &mut Trial<'_, S>,
    workflow: &Workflow,
    wanted: &str,
) -> Checked<(Instance, Vec<TaskRun>)> {
    let current = trial.deploy(workflow).await?;
    let mut watcher = Watcher::new(&[&current], (trial.setting.now_ms)());
    let request = trial.run(&current);
    let begun = trial.start_run(request).await?;
    let run = trial.wait_until(&mut watcher, &begun.id, wanted, |run| is_final(&run.state)).await?;
    let tries = trial.tries(&[begun.reference()], 100).await?;
    Ok((run, tries))
}

/// The host makes a backfill with one start for each date.
pub async fn dates<S: Subject>(trial: &mut Trial<'_, S>) -> Checked<()> {
    if !trial.has("business_time") {
        return Ok(());
    }
    let place = "runs.start, two dates of a backfill";
    // Its own workflow: the runs of `backfills` are counted.
    let workflow = trial.workflow("dates", &[("a", Work::Succeeds)], &[]);
    let current = trial.deploy(&workflow).await?;
    let mut watcher = Watcher::new(&[&current], (trial.setting.now_ms)());
    let mut begun = Vec::new();
    for days_ago in DAYS_AGO {
        let mut request = trial.run(&current);
        request.cause = "backfill".to_owned();
        request.business_time = Some(samples::midnight(trial.setting, days_ago));
        begun.push(trial.start_run(request).await?);
    }
    let ids: Vec<&String> = begun.iter().map(|one| &one.id).collect();
    let what = format!("the runs {ids:?}");
    trial.expect(Area::Lifecycle, ids[0] != ids[1], place, &what, "each date has a run of its own");
    for one in &begun {
        let run = trial.wait_for_end(&mut watcher, &one.id).await?;
        let what = format!("the state {:?}: {:?}", run.state, run.message);
        trial.expect(Area::Lifecycle, run.state == "success", place, &what, "all its tasks succeed");
        let what = format!("the cause {:?}", run.cause);
        let why = "a run has the cause that it was started with";
        trial.expect(Area::Lifecycle, run.cause == "backfill", place, &what, why);
        let what = format!("{:?} for {:?}", run.business_time, one.request.business_time);
        let holds = run.business_time == one.request.business_time;
        trial.expect(Area::Lifecycle, holds, place, &what, "the business date is the one that was asked for");
    }
    Ok(())
}
