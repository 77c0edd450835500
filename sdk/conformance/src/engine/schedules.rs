//! The engine's timer.

use std::time::Duration;

use lakeport_bindings::engine::model::WorkflowRef;

use super::deploys::yearly;
use super::samples;
use super::subject::Subject;
use super::trial::{Change, Checked, Stop, Trial};
use super::watcher::Watcher;
use crate::report::Area;

/// Schedules are set, switched on and off, each of it twice, and removed.
pub async fn schedules<S: Subject>(trial: &mut Trial<'_, S>, workflow: &mut WorkflowRef) -> Checked<()> {
    let yearly = samples::schedule(trial.setting, yearly(&trial.info.cron_dialect));
    let changes = [
        Change::SetSchedule(Some(yearly.clone())),
        Change::SetOnline(true),
        Change::SetOnline(true),
        // Whether it is on stays as it is.
        Change::SetSchedule(Some(yearly)),
        Change::SetOnline(false),
        Change::SetOnline(false),
    ];
    for change in &changes {
        trial.change(change, workflow).await?;
    }
    if trial.setting.fires {
        fires(trial, workflow).await?;
    }
    trial.change(&Change::SetSchedule(None), workflow).await?;
    trial.change(&Change::SetSchedule(None), workflow).await?;
    Ok(())
}

/// A schedule starts runs while it is on, and none after.
async fn fires<S: Subject>(trial: &mut Trial<'_, S>, workflow: &mut WorkflowRef) -> Checked<()> {
    let (cron, period) = match trial.info.cron_dialect.as_str() {
        "unix5" => ("* * * * *", Duration::from_secs(60)),
        _ => ("0/5 * * * * ? *", Duration::from_secs(5)),
    };
    let often = samples::schedule(trial.setting, cron);
    let since = (trial.setting.now_ms)();
    trial.change(&Change::SetSchedule(Some(often)), workflow).await?;
    trial.change(&Change::SetOnline(true), workflow).await?;
    let mut watcher = Watcher::new(&[workflow], since);
    let first = wait_for_scheduled(trial, &mut watcher, workflow.id, period).await;
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

/// The id of the first run that the schedule started.
async fn wait_for_scheduled<S: Subject>(
    trial: &mut Trial<'_, S>,
    watcher: &mut Watcher,
    workflow: u64,
    period: Duration,
) -> Checked<String> {
    let mut waited = Duration::ZERO;
    while waited <= trial.setting.patience + period * 2 {
        trial.poll(watcher).await?;
        let run = watcher.runs_of(workflow).find(|run| run.cause == "schedule");
        if let Some(run) = run {
            return Ok(run.id.clone());
        }
        waited += trial.wait_between(watcher).await;
    }
    let what = format!("no run after {} s", waited.as_secs());
    trial.report.add(Area::Lifecycle, "schedules.online", what, "a schedule that is on starts runs");
    Err(Stop)
}
