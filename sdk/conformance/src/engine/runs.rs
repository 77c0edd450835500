//! Runs that succeed: started once per key, watched with a cursor, with their tasks and logs.

use lakeport_bindings::engine::model::{Instance, OpenRun, TaskRun, WatchRequest, WorkflowRef};

use super::deploys::CHAIN;
use super::logs;
use super::samples;
use super::subject::Subject;
use super::trial::{Checked, Trial};
use super::watcher::{SEES_ALL, StartedRun, Watcher};
use crate::report::Area;

/// Three runs of the chain.
pub async fn runs<S: Subject>(trial: &mut Trial<'_, S>, chain: &WorkflowRef) -> Checked<()> {
    let since = (trial.setting.now_ms)();
    let mut watcher = Watcher::new(&[chain], since);
    trial.poll(&mut watcher).await?;
    let before = watcher.clone();
    let request = trial.run(chain);
    let first = trial.start_run(request).await?;
    same_key(trial, &first, since).await?;
    let run = trial.wait_for_end(&mut watcher, &first.id).await?;
    check_success(trial, &first, &run);
    poll_from_before(trial, before.clone(), &run).await?;
    let tries = tasks(trial, &first).await?;
    logs::logs(trial, &first, &tries).await?;

    let mut begun = vec![first];
    for _ in 0..2 {
        let request = trial.run(chain);
        let one = trial.start_run(request).await?;
        let run = trial.wait_for_end(&mut watcher, &one.id).await?;
        check_success(trial, &one, &run);
        begun.push(one);
    }
    let started = watcher.runs_of(chain.id).filter(|run| run.cause == "manual").count();
    let known = before.seen.values().filter(|run| run.cause == "manual").count();
    let what = format!("3 keys, and {} runs", started - known);
    let why = "the same key never starts a second run";
    trial.expect(Area::Determinism, started - known == begun.len(), "runs.start", &what, why);
    small_pages(trial, chain, since, &begun).await?;
    unknown_runs(trial, chain).await
}

/// The same key names the same run.
async fn same_key<S: Subject>(trial: &mut Trial<'_, S>, first: &StartedRun, asked: i64) -> Checked<()> {
    let subject = trial.subject;
    if trial.has("run_key") {
        let again = trial.must("runs.start", "the same key again", subject.start(&first.request)).await?;
        let what = format!("{again:?} after {:?}", first.started);
        let holds = again.found
            && (&again.instance, &again.trigger) == (&first.started.instance, &first.started.trigger);
        let why = "an engine with `run_key` finds the run of a key that was used";
        trial.expect(Area::Determinism, holds, "runs.start, the same key again", &what, why);
    }
    let found = trial.find(&first.request, &first.started, asked).await?;
    let what = format!("the run {}, and the start said {}", found.id, first.id);
    trial.expect(Area::Determinism, found.id == first.id, "runs.find", &what, "a key names one run");
    Ok(())
}

fn check_success<S: Subject>(trial: &mut Trial<'_, S>, begun: &StartedRun, run: &Instance) {
    let (place, request) = ("watch.instances, a run that succeeds", &begun.request);
    let what = format!("the state {:?}: {:?}", run.state, run.message);
    trial.expect(Area::Lifecycle, run.state == "success", place, &what, "all its tasks succeed");
    let what = format!("the cause {:?}", run.cause);
    trial.expect(Area::Lifecycle, run.cause == "manual", place, &what, "it was started by hand");
    let what = format!("the key {:?} for {:?}", run.key, request.key);
    let holds = run.key.as_ref().is_none_or(|key| *key == request.key);
    trial.expect(Area::Contract, holds, place, &what, "a key is the one that the run was started with");
    let can_be_told = begun.started.instance.is_some() || run.key.is_some() || run.trigger.is_some();
    let why = "the host must recognise a run whose start named a trigger alone";
    trial.expect(Area::Contract, can_be_told, place, "neither key nor trigger", why);
    if trial.has("business_time") {
        let what = format!("{:?} for {:?}", run.business_time, request.business_time);
        let holds = run.business_time == request.business_time;
        trial.expect(Area::Lifecycle, holds, place, &what, "the business date is the one that was asked for");
    }
}

/// A poll from an old cursor shows what changed since.
async fn poll_from_before<S: Subject>(
    trial: &mut Trial<'_, S>,
    mut before: Watcher,
    run: &Instance,
) -> Checked<()> {
    trial.poll(&mut before).await?;
    let found = before.seen.get(&run.id).map(|run| run.state.clone());
    let what = format!("the run {} is {found:?} from the cursor before its start", run.id);
    let holds = found.as_deref() == Some(run.state.as_str());
    trial.expect(Area::Lifecycle, holds, "watch.instances", &what, SEES_ALL);
    Ok(())
}

/// Each task of the chain was run once and succeeded, in the order of the edges. SQL says how many rows it has
/// changed, where the engine counts them.
async fn tasks<S: Subject>(trial: &mut Trial<'_, S>, begun: &StartedRun) -> Checked<Vec<TaskRun>> {
    let place = "watch.task-runs, a run that succeeds";
    let tries = trial.tries(&[begun.reference()], 100).await?;
    let id = begun.request.workflow.id;
    for (index, (name, _)) in CHAIN.iter().enumerate() {
        let task_id = id * 100 + index as u64 + 1;
        let states: Vec<&str> =
            tries.iter().filter(|one| is_task(one, task_id, name)).map(|one| one.state.as_str()).collect();
        let what = format!("the task {name} is {states:?}");
        trial.expect(Area::Lifecycle, states == ["success"], place, &what, "each task is run once");
    }
    if trial.has("rows_affected") && trial.setting.tasks.kind == "SQL" {
        let is_without = |one: &&TaskRun| one.state == "success" && one.rows_affected.is_none();
        let without: Vec<&str> = tries.iter().filter(is_without).map(|one| one.task_name.as_str()).collect();
        let what = format!("no number of rows of the tasks {without:?}");
        let why = "an engine with `rows_affected` says how many rows SQL has changed, also if none";
        trial.expect(Area::Lifecycle, without.is_empty(), place, &what, why);
    }
    let one_by_one = trial.tries(&[begun.reference()], 1).await?;
    let ids = |tries: &[TaskRun]| {
        let mut ids: Vec<String> = tries.iter().map(|one| one.id.clone()).collect();
        ids.sort_unstable();
        ids
    };
    let what = format!("{:?} on one page, {:?} one by one", ids(&tries), ids(&one_by_one));
    let why = "small pages lose nothing and repeat nothing";
    trial.expect(Area::Determinism, ids(&tries) == ids(&one_by_one), place, &what, why);
    Ok(tries)
}

/// Whether a try is of this task: by Lakeport's id, or else by name.
pub fn is_task(one: &TaskRun, id: u64, name: &str) -> bool {
    one.task.map_or(one.task_name == name, |task| task == id)
}

/// With the limit 1 all runs are found.
async fn small_pages<S: Subject>(
    trial: &mut Trial<'_, S>,
    chain: &WorkflowRef,
    since: i64,
    begun: &[StartedRun],
) -> Checked<()> {
    let mut watcher = Watcher { limit: 1, ..Watcher::new(&[chain], since) };
    trial.poll(&mut watcher).await?;
    for one in begun {
        let found = watcher.seen.get(&one.id).map(|run| run.state.as_str());
        let what = format!("with the limit 1 the run {} is {found:?}", one.id);
        let why = "pages together show all runs from `since` on";
        trial.expect(Area::Contract, found == Some("success"), "watch.instances", &what, why);
    }
    Ok(())
}

/// Open runs that the engine does not know are gone, and workflows that it does not know have no runs.
async fn unknown_runs<S: Subject>(trial: &mut Trial<'_, S>, chain: &WorkflowRef) -> Checked<()> {
    let mut watcher = Watcher::new(&[chain], (trial.setting.now_ms)());
    let ids = ["999999999", "no such run"];
    watcher.open = ids.iter().map(|id| ((*id).to_owned(), chain.id)).collect();
    trial.poll(&mut watcher).await?;
    for id in ids {
        let what = format!("the unknown run {id:?} is not in `gone`");
        let why = "an open run that the engine does not know is gone";
        trial.expect(Area::Contract, watcher.gone.contains(id), "watch.instances", &what, why);
    }
    let never = trial.workflow("never-watched", &CHAIN, &[]);
    let request = WatchRequest {
        workflows: vec![samples::watched(&samples::unknown(&never))],
        open: Vec::<OpenRun>::new(),
        cursor: None,
        since: (trial.setting.now_ms)(),
        limit: 10,
    };
    let subject = trial.subject;
    let call = subject.instances(&request);
    let page = trial.must("watch.instances", "a workflow that was never deployed", call).await?;
    let what = format!("{} runs of a workflow that was never deployed", page.instances.len());
    trial.expect(Area::Contract, page.instances.is_empty(), "watch.instances", &what, "it has no runs");
    Ok(())
}
