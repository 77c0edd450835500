//! A backfill as JSON.

use std::collections::HashMap;

use chrono_tz::Tz;
use lakeport_base::time;
use schemars::JsonSchema;
use serde::Serialize;

use super::plan::{LeftOut, Plan, Step};
use super::store::{Backfill, Begun, Counts, Listed};

/// The most dates of one answer.
pub const DATES_SHOWN: usize = 1_000;

/// What a backfill would run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackfillPreview {
    /// In the order of their runs, at most 1,000.
    dates: Vec<String>,
    /// Of the dates.
    total: usize,
    /// Not all dates are sent.
    truncated: bool,
    /// Dates with a successful run of the workflow.
    already_succeeded: usize,
    /// The workflow, and those that depend on it.
    runs_per_date: usize,
    /// The workflows of each date, in their order.
    workflows: Vec<BackfillWorkflow>,
    /// Workflows that read the outputs and do not run.
    left_out: Vec<LeftOutWorkflow>,
    preview_token: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackfillWorkflow {
    workflow_id: i64,
    workflow_name: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOutWorkflow {
    workflow_id: i64,
    workflow_name: String,
    reason: String,
}

impl BackfillPreview {
    pub fn new(plan: Plan, already_succeeded: usize, zone: Tz) -> BackfillPreview {
        let shown = plan.dates.iter().take(DATES_SHOWN).map(|date| time::shown(*date, zone));
        let left_out = |one: LeftOut| LeftOutWorkflow {
            workflow_id: one.workflow_id,
            workflow_name: one.name,
            reason: one.why.to_owned(),
        };
        BackfillPreview {
            dates: shown.collect(),
            total: plan.dates.len(),
            truncated: plan.dates.len() > DATES_SHOWN,
            already_succeeded,
            runs_per_date: plan.steps.len(),
            workflows: plan.steps.iter().map(workflow).collect(),
            left_out: plan.left_out.into_iter().map(left_out).collect(),
            preview_token: plan.token,
        }
    }
}

fn workflow(step: &Step) -> BackfillWorkflow {
    BackfillWorkflow { workflow_id: step.workflow_id, workflow_name: step.name.clone() }
}

/// A backfill in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackfillSummary {
    /// What `GET /api/v1/backfills/{code}` takes.
    code: String,
    /// `running`, `stopping`, `success`, `failed` or `cancelled`.
    state: String,
    /// Of the dates.
    total: i64,
    first_date: Option<String>,
    last_date: Option<String>,
    requested_by: String,
    requested_at: String,
    ended_at: Option<String>,
}

impl BackfillSummary {
    pub fn new(backfill: Listed, zone: Tz) -> BackfillSummary {
        let shown = |at_ms: i64| time::shown(at_ms, zone);
        // They are in the order of their runs, forwards or backwards.
        let ends = backfill.ends_ms.map(|(first, last)| (first.min(last), first.max(last)));
        BackfillSummary {
            total: backfill.total,
            first_date: ends.map(|(first, _)| shown(first)),
            last_date: ends.map(|(_, last)| shown(last)),
            code: backfill.code,
            state: backfill.state.as_str().to_owned(),
            requested_by: backfill.requested_by,
            requested_at: shown(backfill.requested_at_ms),
            ended_at: backfill.ended_at_ms.map(shown),
        }
    }
}

/// The progress of a backfill; the numbers are those of dates.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackfillView {
    /// Null: nothing has started yet.
    code: Option<String>,
    workflow_id: i64,
    workflow_name: String,
    /// `running`, `stopping`, `success`, `failed` or `cancelled`.
    state: String,
    total: i64,
    /// Successful ones.
    done: i64,
    failed: i64,
    running: i64,
    /// Those that were not begun, or were stopped.
    left: i64,
    /// In the order of their runs, from `offset` on, at most 1,000.
    dates: Vec<BackfillDate>,
    /// There are more dates behind these.
    truncated: bool,
    /// Why a run was not started. Null, too, if `withheld`.
    message: Option<String>,
    /// Where its engine begins the dates itself: what it does otherwise than asked.
    notes: Option<String>,
    /// A task of the workflow has used a data source that the caller may not use: texts of errors are left out.
    withheld: bool,
    requested_by: String,
    requested_at: String,
    ended_at: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackfillDate {
    /// yyyy-MM-dd HH:mm:ss
    date: String,
    /// `waiting`, `running`, `success`, `failed`, `cancelled` or `skipped`: of all its workflows together.
    state: String,
    /// The engine's id of the workflow's run; null: it was not started.
    instance_id: Option<String>,
    /// The runs of dependent workflows.
    dependents: Vec<DependentRun>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DependentRun {
    workflow_id: i64,
    workflow_name: String,
    state: String,
    instance_id: Option<String>,
}

/// What a view is made of.
pub struct Shown {
    pub backfill: Backfill,
    pub counts: Counts,
    /// Of the dates from `from` on.
    pub begun: Vec<Begun>,
    pub from: usize,
    pub zone: Tz,
    pub withheld: bool,
}

impl BackfillView {
    pub fn new(shown: Shown) -> BackfillView {
        let Shown { backfill, counts, begun, from, zone, withheld } = shown;
        let total = backfill.dates.len();
        let mut of_date: HashMap<usize, HashMap<usize, Begun>> = HashMap::new();
        for one in begun {
            of_date.entry(one.position).or_default().insert(one.place, one);
        }
        let has_ended = backfill.ended_at_ms.is_some();
        let running = if has_ended { 0 } else { counts.running };
        let dates = backfill.dates.iter().enumerate().skip(from).take(DATES_SHOWN);
        let dates = dates.map(|(position, date)| {
            let runs = of_date.remove(&position).unwrap_or_default();
            BackfillDate::new(time::shown(*date, zone), &backfill.steps, &runs, has_ended)
        });
        BackfillView {
            dates: dates.collect(),
            truncated: total > from.saturating_add(DATES_SHOWN),
            workflow_id: backfill.workflow_id,
            state: backfill.state.as_str().to_owned(),
            total: total as i64,
            done: counts.success,
            failed: counts.failed,
            running,
            left: total as i64 - counts.success - counts.failed - running,
            message: backfill.message.filter(|_| !withheld),
            notes: backfill.notes,
            withheld,
            requested_at: time::shown(backfill.requested_at_ms, zone),
            ended_at: backfill.ended_at_ms.map(|at_ms| time::shown(at_ms, zone)),
            code: backfill.code,
            workflow_name: backfill.workflow_name,
            requested_by: backfill.requested_by,
        }
    }
}

impl BackfillDate {
    fn new(date: String, steps: &[Step], runs: &HashMap<usize, Begun>, has_ended: bool) -> BackfillDate {
        let unbegun = if has_ended { "skipped" } else { "waiting" };
        let state = |place: usize| match runs.get(&place).map(|run| run.state.as_str()) {
            None => unbegun,
            // Its engine has not taken it on.
            Some("running") if has_ended => "cancelled",
            Some(state) => state,
        };
        let instance = |place: usize| runs.get(&place).and_then(|run| run.instance_id.clone());
        let all: Vec<&str> = (0..steps.len()).map(state).collect();
        let has = |wanted: &str| all.contains(&wanted);
        let is_all = |wanted: &str| all.iter().all(|state| *state == wanted);
        let whole = if is_all(unbegun) {
            unbegun
        } else if has("running") {
            "running"
        } else if has("failed") {
            "failed"
        } else if has("cancelled") || has("skipped") {
            "cancelled"
        } else if is_all("success") {
            "success"
        } else {
            "running"
        };
        let dependents = steps.iter().enumerate().skip(1).map(|(place, step)| DependentRun {
            workflow_id: step.workflow_id,
            workflow_name: step.name.clone(),
            state: state(place).to_owned(),
            instance_id: instance(place),
        });
        BackfillDate {
            date,
            state: whole.to_owned(),
            instance_id: instance(0),
            dependents: dependents.collect(),
        }
    }
}
