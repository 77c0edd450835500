//! Schedules: set, turned on and off. A change of a deployed workflow is made in its engine, see [`reconcile`]; one that
//! the engine refuses is not stored.

use lakeport_base::Error;
use lakeport_base::time;
use lakeport_bindings::engine::model;
use lakeport_http::form::Draft;
use lakeport_http::{Data, Nothing};
use lakeport_store::Held;
use schemars::JsonSchema;
use serde::Serialize;

use super::api::{deployed, latest, shown, unknown};
use super::definition::{self, Content, Schedule};
use super::forms::{FailureStrategy, SetSchedule, WorkflowPath, WorkflowStatus};
use super::reconcile::{self, Changed};
use super::versions::{Made, Source};
use super::view::WorkflowView;
use super::wanted::{By, EngineChange, Wanted};
use super::{Deployed, TOPIC, Workflow, engine_lock, rights, store};
use crate::audit::{Change, Commit};
use crate::datasources::Rights;
use crate::engines::EngineClient;
use crate::workflows::{Call, Workflows};

/// The cron dialect of schedules.
pub const QUARTZ: &str = "quartz7";

type SetCall = Call<WorkflowPath, Nothing, Draft<SetSchedule>>;

/// `PUT /api/v1/workflows/{id}/schedule`
pub async fn set(call: SetCall) -> Result<Data<WorkflowView>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let workflow = super::get(state, id).await?;
    rights::check(&state.db, &call.caller, &workflow).await?;
    check(&call, &workflow)?;
    let turn = engine_lock::take(state, id).await?;
    let set = set_in_turn(&call, &turn).await;
    engine_lock::give_back(turn).await;
    set
}

fn check(call: &SetCall, workflow: &Workflow) -> Result<Schedule, Error> {
    call.check_if_match(&workflow.etag())?;
    let before = workflow.content.schedule.as_ref();
    let schedule =
        call.body.checked(|form| definition::scheduled(form, before, call.state.config.time_zone))?;
    if workflow.status == WorkflowStatus::Online {
        refuse_over(&call.state, &schedule)?;
    }
    Ok(schedule)
}

/// The due times of a preview.
const PREVIEWED_TIMES: usize = 10;

/// When a schedule would be due.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulePreview {
    crontab: String,
    timezone: String,
    /// The next ten due times, within `startTime` and `endTime`.
    next_fire_times: Vec<String>,
}

/// `POST /api/v1/workflows/{id}/schedule/preview`
pub async fn preview(call: SetCall) -> Result<Data<SchedulePreview>, Error> {
    let (state, zone) = (&call.state, call.state.config.time_zone);
    let workflow = super::get(state, call.path.id).await?;
    let before = workflow.content.schedule.as_ref();
    let schedule = call.body.checked(|form| definition::scheduled(form, before, zone))?;
    let next = schedule.next_after(state.clock.now_ms(), PREVIEWED_TIMES);
    Ok(Data::new(&SchedulePreview {
        next_fire_times: next.into_iter().map(|at| time::shown(at, zone)).collect(),
        crontab: schedule.crontab,
        timezone: schedule.timezone,
    }))
}

async fn set_in_turn(call: &SetCall, turn: &Held) -> Result<Data<WorkflowView>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let is_replaced = |open: &EngineChange| matches!(open, EngineChange::SetSchedule { .. });
    let workflow = reconcile::settled(state, id, turn, is_replaced).await?;
    rights::check(&state.db, &call.caller, &workflow).await?;
    let schedule = check(call, &workflow)?;
    let latest = latest(state, &Rights::of(&state.db, &call.caller).await?, id).await?;
    let Changed { tx, before, after } = match workflow.in_engine() {
        Some(deployed) => {
            let wanted = Wanted::new(EngineChange::SetSchedule { schedule }, By::of(call));
            reconcile::carry_out(state, turn, &workflow, deployed, wanted).await?
        }
        None => {
            let mut tx = state.db.begin().await?;
            tx.guard(turn).await?;
            let before = store::lock(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
            call.check_if_match(&before.etag())?;
            let mut after = before.clone();
            let content = Content { schedule: Some(schedule), ..before.content.clone() };
            let by = &call.caller.name;
            let made = Made { source: Source::Update, comment: None, by, now_ms: state.clock.now_ms() };
            reconcile::set_schedule(&mut tx, &mut after, content, made).await?;
            tx.changed(TOPIC, id.to_string());
            Changed { tx, before, after }
        }
    };
    let change = Change::of("workflow", id).before(&before.definition()).after(&after.definition());
    call.commit(tx, change, shown(state, &call.caller, &after, latest)).await
}

/// Why an engine cannot keep to a schedule, if it cannot.
pub fn unfit(
    client: &EngineClient,
    workflow_id: u64,
    schedule: &Schedule,
) -> Result<Option<&'static str>, Error> {
    let ends = schedule.failure_strategy == FailureStrategy::End;
    Ok((ends && !client.has_feature(workflow_id, "failure_end")?)
        .then_some("the engine cannot end a run at a failure; set failureStrategy to CONTINUE"))
}

/// In a plugin's form; 409 if its engine uses another form.
pub async fn for_engine(
    client: &EngineClient,
    workflow_id: u64,
    schedule: &Schedule,
) -> Result<model::Schedule, Error> {
    let info = client.info(Some(workflow_id)).await?;
    if info.cron_dialect != QUARTZ {
        let message = format!("schedules cannot be given to the engine {} yet", info.title);
        return Err(Error::conflict("unsupported_by_engine", message));
    }
    Ok(model::Schedule {
        cron: schedule.crontab.clone(),
        time_zone: schedule.timezone.clone(),
        start: schedule.start_ms.unwrap_or_default(),
        end: schedule.end_ms,
        failure_strategy: schedule.failure_strategy.as_str().to_owned(),
        warning_type: schedule.warning_type.as_str().to_owned(),
        extra: None,
    })
}

/// `POST /api/v1/workflows/{id}/schedule/online`
pub async fn online(call: Call<WorkflowPath>) -> Result<Data<WorkflowView>, Error> {
    switch(&call, WorkflowStatus::Online).await
}

/// `POST /api/v1/workflows/{id}/schedule/offline`
pub async fn offline(call: Call<WorkflowPath>) -> Result<Data<WorkflowView>, Error> {
    switch(&call, WorkflowStatus::Offline).await
}

pub async fn switch(call: &Call<WorkflowPath>, status: WorkflowStatus) -> Result<Data<WorkflowView>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let workflow = super::get(state, id).await?;
    rights::check(&state.db, &call.caller, &workflow).await?;
    refuse_without(state, &workflow, status)?;
    let turn = engine_lock::take(state, id).await?;
    let switched = switch_in_turn(call, status, &turn).await;
    engine_lock::give_back(turn).await;
    switched
}

fn refuse_without<'w>(
    state: &Workflows,
    workflow: &'w Workflow,
    status: WorkflowStatus,
) -> Result<&'w Deployed, Error> {
    let deployed = deployed(workflow)?;
    if status == WorkflowStatus::Online {
        let missing = || Error::conflict("no_schedule", "the workflow has no schedule; set one first");
        refuse_over(state, workflow.content.schedule.as_ref().ok_or_else(missing)?)?;
    }
    Ok(deployed)
}

/// 409 for a schedule that will never be due.
fn refuse_over(state: &Workflows, schedule: &Schedule) -> Result<(), Error> {
    let now_ms = state.clock.now_ms();
    if !schedule.next_after(now_ms, 1).is_empty() {
        return Ok(());
    }
    let why = match schedule.end_ms {
        Some(end_ms) if end_ms <= now_ms => {
            let end = time::shown(end_ms, state.config.time_zone);
            format!("its endTime {end} has passed; set a later one, or null for none")
        }
        Some(_) => {
            format!("its crontab `{}` has no time before its endTime; change either", schedule.crontab)
        }
        None => format!("its crontab `{}` has no time from now on; change it", schedule.crontab),
    };
    Err(Error::conflict("schedule_expired", format!("the schedule is never due again: {why}")))
}

async fn switch_in_turn(
    call: &Call<WorkflowPath>,
    status: WorkflowStatus,
    turn: &Held,
) -> Result<Data<WorkflowView>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let is_replaced = |open: &EngineChange| matches!(open, EngineChange::Switch { .. });
    let workflow = reconcile::settled(state, id, turn, is_replaced).await?;
    rights::check(&state.db, &call.caller, &workflow).await?;
    let deployed = refuse_without(state, &workflow, status)?;
    let latest = latest(state, &Rights::of(&state.db, &call.caller).await?, id).await?;
    let wanted = Wanted::new(EngineChange::Switch { status }, By::of(call));
    let Changed { tx, after, .. } = reconcile::carry_out(state, turn, &workflow, deployed, wanted).await?;
    let change = Change::of("workflow", id).before(&workflow.status).after(&status);
    call.commit(tx, change, shown(state, &call.caller, &after, latest)).await
}
