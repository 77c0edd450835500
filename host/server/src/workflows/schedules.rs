//! Schedules: set, turned on and off. For a deployed workflow the engine is called first; a refused change is
//! not stored.

use lakeport_base::Error;
use lakeport_base::time;
use lakeport_bindings::engine::model;
use lakeport_http::form::Draft;
use lakeport_http::{Data, Nothing};
use lakeport_store::Held;
use schemars::JsonSchema;
use serde::Serialize;

use super::api::{deployed, engine_client, latest, shown, unknown};
use super::definition::{self, Schedule};
use super::forms::{SetSchedule, WorkflowPath, WorkflowStatus};
use super::versions::{self, Made, Source};
use super::view::WorkflowView;
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
    call.body.checked(|form| definition::scheduled(form, before, call.state.config.time_zone))
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
    let workflow = super::get(state, id).await?;
    rights::check(&state.db, &call.caller, &workflow).await?;
    let schedule = check(call, &workflow)?;
    let latest = latest(state, &Rights::of(&state.db, &call.caller).await?, id).await?;
    let told = match workflow.in_engine() {
        Some(deployed) => {
            let client = engine_client(state, &deployed.engine, call.request_id.as_str()).await?;
            engine_lock::asked(turn, tell(&client, deployed, &schedule)).await?
        }
        None => None,
    };
    let mut tx = state.db.begin().await?;
    tx.guard(turn).await?;
    let before = store::lock(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    if workflow.in_engine().is_none() {
        // Otherwise the engine has the schedule already: it was set for the version that was compared before.
        call.check_if_match(&before.etag())?;
    }
    let mut after = before.clone();
    let mut content = before.content.clone();
    content.schedule = Some(schedule);
    let by = &call.caller.name;
    let made = Made { source: Source::Update, comment: None, by, now_ms: state.clock.now_ms() };
    if workflow.in_engine().is_some() {
        after.engine_schedule = content.schedule_text();
    }
    if !versions::change_content(&mut tx, &mut after, content, made).await? {
        // After a rollback the engine may have had another one.
        after.note_change(false);
    }
    // Also if the definition has it already, from a rollback or an import.
    after.schedule_version = after.version;
    store::set_engine_schedule(&mut tx, &after).await?;
    versions::check_tasks(&mut tx, &mut after).await?;
    if let Some(told) = told {
        store::set_deployed(&mut tx, &told).await?;
    }
    tx.changed(TOPIC, id.to_string());
    let change = Change::of("workflow", id).before(&before.definition()).after(&after.definition());
    call.commit(tx, change, shown(state, &after, latest)).await
}

/// Sets the schedule in an engine with a timer; returns the deployment to store.
async fn tell(
    client: &EngineClient,
    deployed: &Deployed,
    schedule: &Schedule,
) -> Result<Option<Deployed>, Error> {
    let reference = deployed.reference();
    if !client.has_schedules(reference.id)? {
        return Ok(None);
    }
    let schedule = for_engine(client, reference.id, schedule).await?;
    let receipt = client.set_schedule(&reference, Some(&schedule)).await?;
    Ok(kept(deployed, receipt))
}

fn kept(deployed: &Deployed, receipt: model::Receipt) -> Option<Deployed> {
    receipt.state.map(|state| Deployed { state: Some(state), ..deployed.clone() })
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
    let workflow = super::get(state, id).await?;
    rights::check(&state.db, &call.caller, &workflow).await?;
    let deployed = refuse_without(state, &workflow, status)?;
    let latest = latest(state, &Rights::of(&state.db, &call.caller).await?, id).await?;
    let told = tell_state(state, &workflow, deployed, status, call.request_id.as_str());
    let told = engine_lock::asked(turn, told).await?;
    let mut tx = state.db.begin().await?;
    tx.guard(turn).await?;
    let mut after = store::lock(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    after.status = status;
    store::set_status(&mut tx, id, status).await?;
    if status == WorkflowStatus::Online {
        after.engine_schedule = workflow.content.schedule_text();
        // The version that was read: meanwhile there may be others.
        after.schedule_version = workflow.version;
        after.note_change(false);
        store::set_engine_schedule(&mut tx, &after).await?;
        versions::check_tasks(&mut tx, &mut after).await?;
    }
    if let Some(told) = told {
        store::set_deployed(&mut tx, &told).await?;
    }
    tx.changed(TOPIC, id.to_string());
    let change = Change::of("workflow", id).before(&workflow.status).after(&status);
    call.commit(tx, change, shown(state, &after, latest)).await
}

/// Switches the schedule; one that a rollback or an import has changed is set first. Returns the deployment to store.
async fn tell_state(
    state: &Workflows,
    workflow: &Workflow,
    deployed: &Deployed,
    status: WorkflowStatus,
    call_id: &str,
) -> Result<Option<Deployed>, Error> {
    let client = engine_client(state, &deployed.engine, call_id).await?;
    let reference = deployed.reference();
    if !client.has_schedules(reference.id)? {
        let message = format!(
            "the engine `{}` has no timer of its own, and this version of Lakeport keeps none for it",
            deployed.engine
        );
        return Err(Error::not_yet(message));
    }
    let mut deployed = deployed.clone();
    let is_online = status == WorkflowStatus::Online;
    let schedule = workflow.content.schedule.as_ref().filter(|_| is_online);
    if let (Some(schedule), true) = (schedule, workflow.engine_schedule != workflow.content.schedule_text()) {
        let told = tell(&client, &deployed, schedule).await?;
        deployed = told.unwrap_or(deployed);
    }
    let reference = deployed.reference();
    let receipt =
        if is_online { client.online(&reference).await? } else { client.offline(&reference).await? };
    Ok(Some(kept(&deployed, receipt).unwrap_or(deployed)))
}
