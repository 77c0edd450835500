//! Schedules, at most one of a definition, and when they fire.

use chrono::NaiveDateTime;
use serde_json::{Value, json};

use super::answers::{Args, Outcome, Refusal, named, refuse};
use super::cron::Cron;
use super::definitions::{self, release_word};
use super::state::{State, now, read_time, time};
use super::{PROJECT_NAME, TENANT, USER};

/// A schedule.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub id: i64,
    /// Of its definition.
    pub code: i64,
    pub is_online: bool,
    /// When it fires next, while it is online.
    pub next: Option<NaiveDateTime>,
    pub settings: Settings,
    created: NaiveDateTime,
    updated: NaiveDateTime,
}

/// What a form says of a schedule.
#[derive(Clone, Debug)]
pub struct Settings {
    start: NaiveDateTime,
    end: NaiveDateTime,
    zone: String,
    text: String,
    cron: Cron,
    pub failure_strategy: String,
    pub warning_type: String,
    pub priority: String,
    pub worker_group: String,
    pub tenant: String,
    pub environment: i64,
    warning_group: i64,
}

impl Schedule {
    /// The first time after this one, within its begin and end.
    pub fn next_after(&self, at: NaiveDateTime) -> Option<NaiveDateTime> {
        let next = self.settings.cron.next_after(at.max(self.settings.start))?;
        (next <= self.settings.end).then_some(next)
    }
}

pub fn is_online(state: &State, code: i64) -> bool {
    state.schedules.values().any(|schedule| schedule.code == code && schedule.is_online)
}

/// Switches the schedule of a definition off, if it has one.
pub fn switch_off(state: &mut State, code: i64) {
    for schedule in state.schedules.values_mut().filter(|schedule| schedule.code == code) {
        (schedule.is_online, schedule.next) = (false, None);
    }
}

fn read(state: &mut State, args: &Args) -> Result<Settings, Refusal> {
    let not_valid = || Refusal::new(10_076, "create schedule error");
    let form: Value = serde_json::from_str(args.text("schedule")).map_err(|_| not_valid())?;
    let text = |name: &str| form[name].as_str().map(str::to_owned).ok_or_else(not_valid);
    let moment = |name: &str| read_time(&text(name)?).ok_or_else(not_valid);
    let (start, end, zone) = (moment("startTime")?, moment("endTime")?, text("timezoneId")?);
    if start == end {
        return refuse(10_141, "The start time must not be the same as the end");
    }
    if start > end {
        return refuse(80_003, "start time bigger than end time error");
    }
    if zone != "UTC" {
        state.note(format!("the test server fires in UTC alone, and a schedule is in {zone}"));
    }
    let text = text("crontab")?;
    let wrong = || Refusal::new(10_024, format!("scheduler crontab expression validation failure: {text}"));
    let cron = Cron::read(&text).ok_or_else(wrong)?;
    let tenant = args.word("tenantCode", TENANT);
    if tenant != TENANT {
        return refuse(10_017, format!("tenant [{tenant}] not exists"));
    }
    Ok(Settings {
        start,
        end,
        zone,
        text,
        cron,
        failure_strategy: args.word("failureStrategy", "CONTINUE"),
        warning_type: args.word("warningType", "NONE"),
        priority: args.word("processInstancePriority", "MEDIUM"),
        worker_group: args.word("workerGroup", "default"),
        tenant,
        environment: args.number("environmentCode").unwrap_or(-1),
        warning_group: args.number("warningGroupId").unwrap_or(1),
    })
}

fn refuse_offline(state: &State, code: i64) -> Result<(), Refusal> {
    let definition = definitions::existing(state, code)?;
    if definition.is_online {
        return Ok(());
    }
    let (name, version) = (&definition.form.name, definition.version);
    refuse(50_004, format!("process definition {name} process version {version} not online"))
}

pub fn create(state: &mut State, args: &Args) -> Outcome {
    let code = args.number("processDefinitionCode").unwrap_or_default();
    refuse_offline(state, code)?;
    if let Some(other) = state.schedules.values().find(|schedule| schedule.code == code) {
        let text = format!("workflow definition {code} schedule {} already exist", other.id);
        return refuse(10_204, text);
    }
    let settings = read(state, args)?;
    let (id, at) = (state.new_id("schedule"), now());
    let schedule = Schedule { id, code, is_online: false, next: None, settings, created: at, updated: at };
    let answer = row(state, &schedule);
    state.schedules.insert(id, schedule);
    Ok(answer)
}

fn existing(state: &State, id: i64) -> Result<&Schedule, Refusal> {
    let not_there = || Refusal::new(10_022, format!("scheduler crontab {id} does not exist"));
    state.schedules.get(&id).ok_or_else(not_there)
}

pub fn update(state: &mut State, args: &Args) -> Outcome {
    let before = existing(state, args.id())?.clone();
    definitions::existing(state, before.code)?;
    if before.is_online {
        return refuse(10_023, "online status does not allow update operations");
    }
    let settings = read(state, args)?;
    let after = Schedule { settings, updated: now(), ..before };
    let answer = row(state, &after);
    state.schedules.insert(after.id, after);
    Ok(answer)
}

pub fn delete(state: &mut State, args: &Args) -> Outcome {
    let schedule = existing(state, args.id())?;
    if schedule.is_online {
        return refuse(50_023, format!("the status of schedule {} is already online", schedule.id));
    }
    state.schedules.remove(&args.id());
    Ok(Value::Null)
}

pub fn online(state: &mut State, args: &Args) -> Outcome {
    let schedule = existing(state, args.id())?;
    refuse_offline(state, schedule.code)?;
    if let Some(schedule) = state.schedules.get_mut(&args.id()) {
        schedule.is_online = true;
        schedule.next = schedule.next_after(now());
    }
    Ok(json!(true))
}

pub fn offline(state: &mut State, args: &Args) -> Outcome {
    let code = existing(state, args.id())?.code;
    switch_off(state, code);
    Ok(json!(true))
}

pub fn list(state: &mut State, args: &Args) -> Outcome {
    let code = args.number("processDefinitionCode").unwrap_or_default();
    if code != 0 {
        definitions::existing(state, code)?;
    }
    let found = state.schedules.values().filter(|schedule| code == 0 || schedule.code == code);
    let rows: Vec<Value> = found.map(|schedule| row(state, schedule)).collect();
    args.page(&rows)
}

pub fn row(state: &State, schedule: &Schedule) -> Value {
    let Settings { start, end, zone, text, .. } = &schedule.settings;
    let settings = &schedule.settings;
    let definition = state.definitions.get(&schedule.code);
    let row = json!({
        "id": schedule.id, "processDefinitionCode": schedule.code,
        "processDefinitionName": definition.map(|definition| &definition.form.name),
        "projectName": PROJECT_NAME,
        "definitionDescription": definition.map(|definition| &definition.form.description),
        "startTime": time(*start), "endTime": time(*end), "timezoneId": zone, "crontab": text,
        "failureStrategy": settings.failure_strategy, "warningType": settings.warning_type,
        "createTime": time(schedule.created), "updateTime": time(schedule.updated), "userId": 1,
        "userName": USER, "releaseState": release_word(schedule.is_online),
        "warningGroupId": settings.warning_group, "processInstancePriority": settings.priority,
        "workerGroup": settings.worker_group, "tenantCode": settings.tenant,
        "environmentCode": settings.environment, "environmentName": null,
    });
    named(state.generation, row)
}
