//! The engine's timer.

use std::time::Duration;

use lakeport_bindings::engine::model::{Workflow, WorkflowRef};

use super::definitions;
use super::deploys::yearly;
use super::samples;
use super::subject::Subject;
use super::trial::{Change, Checked, Stop, Trial};
use super::watcher::Watcher;
use crate::report::Area;

/// Why a schedule that is on must stay so.
const STAYS_ON: &str = "whether a schedule is on stays as it is";

/// Schedules are set, switched on and off, each of it twice, kept over a later revision, and removed.
pub async fn schedules<S: Subject>(
    trial: &mut Trial<'_, S>,
    chain: &Workflow,
    workflow: &mut WorkflowRef,
) -> Checked<()> {
    let yearly = samples::schedule(trial.setting, yearly(&trial.info.cron_dialect));
    let mut later = chain.clone();
    later.version += 1;
    later.revision = samples::revision(later.id, later.version);
    later.schedule = Some(yearly.clone());
    let changes = [
        (Change::SetSchedule(Some(yearly.clone())), false),
        (Change::SetOnline(true), true),
        (Change::SetOnline(true), true),
        (Change::SetSchedule(Some(yearly)), true),
        (Change::Redeploy(Box::new(later.clone())), true),
        (Change::SetOnline(false), false),
        (Change::SetOnline(false), false),
    ];
    for (change, must_be_on) in &changes {
        trial.change(change, workflow).await?;
        is_listed(trial, change, workflow, *must_be_on).await?;
    }
    if trial.setting.fires {
        fires(trial, &later, workflow).await?;
    } else {
        trial.report.note("not checked: whether schedules fire, which the setting leaves out");
    }
    trial.change(&Change::SetSchedule(None), workflow).await?;
    trial.change(&Change::SetSchedule(None), workflow).await?;
    Ok(())
}

/// A schedule is not listed as off while it is on, nor as on while it is off, where the engine has a list.
async fn is_listed<S: Subject>(
    trial: &mut Trial<'_, S>,
    change: &Change,
    workflow: &WorkflowRef,
    is_on: bool,
) -> Checked<()> {
    if !trial.exports("definitions") {
        return Ok(());
    }
    let head = definitions::listed(trial, workflow).await?;
    let (state, scheduled) = head.map_or((None, None), |head| (Some(head.release_state), head.scheduled));
    let is_word = !is_on || matches!(state.as_deref(), Some("ONLINE" | "UNKNOWN"));
    let holds = is_word && scheduled.is_none_or(|scheduled| scheduled == is_on);
    let place = format!("{}, of a schedule that is {}", change.function(), if is_on { "on" } else { "off" });
    let what = format!("it is listed as {state:?}, `scheduled` is {scheduled:?}");
    let why = if is_on { STAYS_ON } else { "a list says whether the schedule is on" };
    trial.expect(Area::Lifecycle, holds, &place, &what, why);
    Ok(())
}

/// A schedule starts runs while it is on, and none after. It stays on when it is set again, and when the workflow is
/// deployed again.
async fn fires<S: Subject>(
    trial: &mut Trial<'_, S>,
    deployed: &Workflow,
    workflow: &mut WorkflowRef,
) -> Checked<()> {
    let (cron, period) = match trial.info.cron_dialect.as_str() {
        "unix5" => ("* * * * *", Duration::from_secs(60)),
        _ => ("0/5 * * * * ? *", Duration::from_secs(5)),
    };
    let often = samples::schedule(trial.setting, cron);
    let since = (trial.setting.now_ms)();
    let mut later = deployed.clone();
    later.version += 1;
    later.revision = samples::revision(later.id, later.version);
    later.schedule = Some(often.clone());
    let set = Change::SetSchedule(Some(often));
    trial.change(&set, workflow).await?;
    trial.change(&Change::SetOnline(true), workflow).await?;
    let mut watcher = Watcher::new(&[workflow], since);
    let first = wait_for_scheduled(trial, &mut watcher, workflow.id, period, "schedules.online").await;
    if first.is_ok() {
        for change in [set, Change::Redeploy(Box::new(later))] {
            stays_on(trial, &change, &mut watcher, workflow, period).await.ok();
        }
    }
    // Also if none came: it must not go on firing.
    trial.change(&Change::SetOnline(false), workflow).await?;
    let run = trial.wait_for_end(&mut watcher, &first?).await?;
    let place = "schedules.online, a run that it started";
    let what = format!("the state {:?}, the business time {:?}", run.state, run.business_time);
    let holds = run.state == "success" && run.business_time.is_some();
    trial.expect(Area::Lifecycle, holds, place, &what, "it succeeds, and is for the scheduled time");
    // A run that was begun before the switch may still appear.
    trial.wait(period).await;
    trial.poll(&mut watcher).await?;
    let before = watcher.seen.len();
    trial.wait(period * 2).await;
    trial.poll(&mut watcher).await?;
    let what = format!("{} runs after the switch", watcher.seen.len() - before);
    let why = "no run is started while the schedule is off";
    trial.expect(Area::Lifecycle, watcher.seen.len() == before, "schedules.offline", &what, why);
    for id in watcher.open.clone().into_keys() {
        trial.wait_for_end(&mut watcher, &id).await?;
    }
    Ok(())
}

/// After the change the schedule starts runs as before.
async fn stays_on<S: Subject>(
    trial: &mut Trial<'_, S>,
    change: &Change,
    watcher: &mut Watcher,
    workflow: &mut WorkflowRef,
    period: Duration,
) -> Checked<()> {
    trial.change(change, workflow).await?;
    // A run that was begun before the change may still appear.
    trial.wait(period / 2).await;
    trial.poll(watcher).await?;
    let place = format!("{}, of a schedule that is on", change.function());
    wait_for_scheduled(trial, watcher, workflow.id, period, &place).await.map(drop)
}

/// The id of the next run that the schedule starts.
async fn wait_for_scheduled<S: Subject>(
    trial: &mut Trial<'_, S>,
    watcher: &mut Watcher,
    workflow: u64,
    period: Duration,
    place: &str,
) -> Checked<String> {
    let known: Vec<String> = watcher.seen.keys().cloned().collect();
    let mut waited = Duration::ZERO;
    while waited <= trial.setting.patience + period * 2 {
        trial.poll(watcher).await?;
        let run = watcher.runs_of(workflow).find(|run| run.cause == "schedule" && !known.contains(&run.id));
        if let Some(run) = run {
            return Ok(run.id.clone());
        }
        waited += trial.wait_between(watcher).await;
    }
    let what = format!("no run after {} s", waited.as_secs());
    trial.report.add(Area::Lifecycle, place, what, "a schedule that is on starts runs");
    Err(Stop)
}
