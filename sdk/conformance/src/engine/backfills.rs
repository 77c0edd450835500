//! Backfills by the engine itself.

use std::collections::BTreeSet;
use std::time::Duration;

use lakeport_bindings::engine::backfills::{BackfillRequest, Dates, TimeRange};
use lakeport_bindings::engine::model::{Instance, Target, WorkflowRef};

use super::samples;
use super::subject::Subject;
use super::trial::{Change, Checked, Stop, Trial};
use super::watcher::{Watcher, is_final};
use crate::report::Area;

const PLACE: &str = "backfills.start";
const HOUR_MS: i64 = 60 * 60 * 1_000;
/// The dates lie so many days back, where no run of the kit is.
const DAYS_AGO: u64 = 400;

/// Two dates, one after the other; nothing where the instance is not configured for backfills.
pub async fn backfills<S: Subject>(trial: &mut Trial<'_, S>, workflow: &mut WorkflowRef) -> Checked<()> {
    let subject = trial.subject;
    let asked = (trial.setting.now_ms)();
    let call = subject.find_backfill(workflow, "conformance-none", asked);
    let found = trial.must("backfills.find", "a key that was never used", call).await?;
    let what = "a backfill for a key that was never used";
    trial.expect(Area::Contract, found.is_none(), "backfills.find", what, "there is no such backfill");
    let daily = if trial.info.cron_dialect == "unix5" { "0 3 * * *" } else { "0 0 3 * * ? *" };
    let daily = samples::schedule(trial.setting, daily);
    trial.change(&Change::SetSchedule(Some(daily)), workflow).await?;
    trial.change(&Change::SetOnline(true), workflow).await?;
    let request = request(trial, workflow);
    let asked = (trial.setting.now_ms)();
    let started = match trial.ask(PLACE, subject.start_backfill(&request)).await? {
        Ok(started) => started,
        Err(error) if error.code == "unsupported" => {
            let note = format!(
                "not checked: backfills, for which the instance is not configured: {}",
                error.message
            );
            trial.report.note(note);
            return offline(trial, workflow).await;
        }
        Err(error) => {
            let what = format!("refused with {}: {}", error.code, error.message);
            trial.expect(Area::Lifecycle, false, PLACE, &what, "the engine of the setting can do this");
            return Err(Stop);
        }
    };
    trial.expect(Area::Contract, !started.found, PLACE, "`found`", "a new key names no backfill");
    let states = wait_for_two_runs(trial, workflow, &started.trigger, asked).await?;
    // Some engines show it by its runs.
    let call = subject.find_backfill(workflow, &request.key, asked);
    let found = trial.must("backfills.find", "a started backfill", call).await?;
    let what = format!("{:?} for the trigger {}", found.as_ref().map(|one| &one.trigger), started.trigger);
    let holds = found.is_some_and(|found| found.trigger == started.trigger);
    trial.expect(Area::Determinism, holds, "backfills.find", &what, "a key names one backfill");
    let call = subject.start_backfill(&request);
    let again = trial.must(PLACE, "the same key", call).await?;
    let what = format!("`found` is {}, for the trigger {}", again.found, again.trigger);
    let holds = again.found && again.trigger == started.trigger;
    trial.expect(Area::Determinism, holds, PLACE, &what, "the same key starts nothing more");
    let first = samples::midnight(trial.setting, DAYS_AGO) + 3 * HOUR_MS;
    let wanted: BTreeSet<(i64, String)> =
        [first, first + 24 * HOUR_MS].map(|date| (date, "success".to_owned())).into();
    let what = format!("{states:?}; expected: {wanted:?}");
    let why = "a backfill makes one run for each date";
    trial.expect(Area::Lifecycle, states == wanted, PLACE, &what, why);
    let target = Target::Backfill(started.trigger);
    trial.must("runs.cancel", "a backfill that has ended", subject.cancel(workflow, &target)).await?;
    offline(trial, workflow).await
}

/// Without a schedule, as it was before.
async fn offline<S: Subject>(trial: &mut Trial<'_, S>, workflow: &mut WorkflowRef) -> Checked<()> {
    trial.change(&Change::SetOnline(false), workflow).await?;
    trial.change(&Change::SetSchedule(None), workflow).await?;
    Ok(())
}

fn request<S: Subject>(trial: &mut Trial<'_, S>, workflow: &WorkflowRef) -> BackfillRequest {
    let midnight = samples::midnight(trial.setting, DAYS_AGO);
    let first = midnight + 3 * HOUR_MS;
    let dates = if trial.has("backfill_list") {
        Dates::Listed(vec![first, first + 24 * HOUR_MS])
    } else {
        Dates::Range(TimeRange { start: midnight, end: midnight + 47 * HOUR_MS })
    };
    BackfillRequest {
        workflow: workflow.clone(),
        key: trial.run(workflow).key,
        dates,
        run_mode: "RUN_MODE_SERIAL".to_owned(),
        parallelism: None,
        dependent_mode: "OFF_MODE".to_owned(),
        all_level_dependent: false,
        execution_order: "ASC_ORDER".to_owned(),
        failure_strategy: "CONTINUE".to_owned(),
        params: Vec::new(),
        extra: None,
    }
}

/// The dates and states of the runs of the backfill.
async fn wait_for_two_runs<S: Subject>(
    trial: &mut Trial<'_, S>,
    workflow: &WorkflowRef,
    trigger: &str,
    asked: i64,
) -> Checked<BTreeSet<(i64, String)>> {
    let mut watcher = Watcher::new(&[workflow], asked);
    let mut waited = Duration::ZERO;
    loop {
        trial.poll(&mut watcher).await?;
        let is_of = |run: &&Instance| run.cause == "backfill" && run.trigger.as_deref() == Some(trigger);
        let of = watcher.runs_of(workflow.id).filter(is_of);
        let runs: Vec<(i64, String)> =
            of.map(|run| (run.business_time.unwrap_or_default(), run.state.clone())).collect();
        if runs.len() >= 2 && runs.iter().all(|(_, state)| is_final(state)) {
            return Ok(runs.into_iter().collect());
        }
        if waited > trial.setting.patience {
            let what = format!("after {} s its runs are {runs:?}", waited.as_secs());
            trial.report.add(Area::Lifecycle, PLACE, what, "a backfill makes one run for each date");
            return Err(Stop);
        }
        waited += trial.wait_between(&watcher).await;
    }
}
