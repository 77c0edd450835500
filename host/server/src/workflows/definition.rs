//! The definition of a workflow without its tasks: the forms of requests, checked and applied to the current
//! definition. Pure functions.

use std::collections::HashSet;

use chrono_tz::Tz;
use lakeport_base::error::Detail;
use lakeport_base::time;
use lakeport_http::form::{Amend, Patch, Text};
use serde::{Deserialize, Serialize};

use super::forms::{
    Concurrency, CreateWorkflow, FailureStrategy, GlobalParam, SetSchedule, UpdateWorkflow, WarningType,
    WorkflowStatus,
};
use crate::cron::Cron;
use crate::scheduler::parameters;

/// The default engine.
const ENGINE_DEFAULT: &str = "local";
pub const PARAMS_MAX: usize = 200;
pub const PARAM_NAME_MAX_CHARS: usize = 100;
pub const PARAM_VALUE_MAX_CHARS: usize = 4_000;
/// The prefix of system parameters.
const SYSTEM_PREFIX: &str = "system.";

/// The content of a workflow without its tasks, as stored in versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    pub name: String,
    pub description: Option<String>,
    pub scheduler_engine: String,
    pub global_params: Vec<GlobalParam>,
    /// Left out where it is the default: older versions' texts have none.
    #[serde(default, skip_serializing_if = "Concurrency::is_default")]
    pub concurrency: Concurrency,
    pub schedule: Option<Schedule>,
}

/// When it runs automatically.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    pub crontab: String,
    /// `None`: at once.
    pub start_ms: Option<i64>,
    /// `None`: no end.
    pub end_ms: Option<i64>,
    pub timezone: String,
    pub failure_strategy: FailureStrategy,
    pub warning_type: WarningType,
}

impl Content {
    /// The stored text; equal contents have equal texts.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers are JSON")
    }

    /// The stored text of its schedule.
    pub fn schedule_text(&self) -> Option<String> {
        self.schedule.as_ref().map(|schedule| serde_json::to_string(schedule).expect("texts are JSON"))
    }

    /// The values for parameters in tasks' texts.
    pub fn params(&self) -> Vec<(String, String)> {
        self.global_params.iter().map(|param| (param.name.clone(), param.value.clone())).collect()
    }
}

impl Schedule {
    /// The next due times after a time.
    pub fn next_after(&self, now_ms: i64, count: usize) -> Vec<i64> {
        let (Ok(cron), Ok(zone)) = (Cron::parse(&self.crontab), self.timezone.parse::<Tz>()) else {
            return Vec::new();
        };
        let mut after = self.start_ms.map_or(now_ms, |start| now_ms.max(start - 1));
        let mut times = Vec::with_capacity(count);
        while times.len() < count {
            match cron.next_after(after, zone) {
                Some(next) if self.end_ms.is_none_or(|end| next <= end) => times.push(next),
                _ => break,
            }
            after = times.last().copied().unwrap_or(after);
        }
        times
    }
}

impl WorkflowStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            WorkflowStatus::Draft => "draft",
            WorkflowStatus::Offline => "offline",
            WorkflowStatus::Online => "online",
        }
    }
}

impl FailureStrategy {
    pub fn as_str(self) -> &'static str {
        match self {
            FailureStrategy::Continue => "CONTINUE",
            FailureStrategy::End => "END",
        }
    }
}

impl Concurrency {
    pub fn as_str(self) -> &'static str {
        match self {
            Concurrency::Parallel => "parallel",
            Concurrency::Wait => "wait",
            Concurrency::Discard => "discard",
        }
    }

    pub fn is_default(&self) -> bool {
        *self == Concurrency::default()
    }
}

impl WarningType {
    pub fn as_str(self) -> &'static str {
        match self {
            WarningType::None => "NONE",
            WarningType::Success => "SUCCESS",
            WarningType::Failure => "FAILURE",
            WarningType::All => "ALL",
        }
    }
}

/// The content of a new workflow; or all problems of the form. `engines` are the existing names.
pub fn created(form: &CreateWorkflow, engines: &[String]) -> Result<Content, Vec<Detail>> {
    let content = Content {
        name: form.name.0.clone(),
        description: form.description.as_ref().map(|description| description.0.clone()),
        scheduler_engine: form.scheduler_engine.clone().unwrap_or_else(|| ENGINE_DEFAULT.to_owned()),
        global_params: form.global_params.clone().unwrap_or_default(),
        concurrency: form.concurrency.unwrap_or_default(),
        schedule: None,
    };
    check(&content, engines)?;
    Ok(content)
}

/// Applies the form to the current content; or returns all problems.
pub fn changed(form: &UpdateWorkflow, before: &Content, engines: &[String]) -> Result<Content, Vec<Detail>> {
    let mut content = before.clone();
    if let Amend(Some(Text(name))) = &form.name {
        content.name.clone_from(name);
    }
    content.description = form.description.clone().map(|Text(text)| text).over(content.description);
    if let Amend(Some(engine)) = &form.scheduler_engine {
        content.scheduler_engine.clone_from(engine);
    }
    content.global_params = form.global_params.clone().over(Some(content.global_params)).unwrap_or_default();
    content.concurrency = form.concurrency.0.unwrap_or(content.concurrency);
    // A workflow can be renamed even if its engine was removed.
    let kept = std::slice::from_ref(&before.scheduler_engine);
    let is_kept = content.scheduler_engine == before.scheduler_engine;
    check(&content, if is_kept { kept } else { engines })?;
    Ok(content)
}

/// Checks all but the schedule, which has rules of its own, and the lengths that forms check.
pub fn check(content: &Content, engines: &[String]) -> Result<(), Vec<Detail>> {
    let mut wrong = Vec::new();
    wrong.extend(check_name(&content.name).err().map(|why| Detail::new("name", why)));
    if !engines.contains(&content.scheduler_engine) {
        wrong.push(unknown_engine(engines));
    }
    check_params(&content.global_params, &mut wrong);
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// The problem of a name that is none of these engines'.
pub fn unknown_engine(engines: &[String]) -> Detail {
    let known = if engines.is_empty() { "none".to_owned() } else { engines.join(", ") };
    Detail::new("schedulerEngine", format!("must be a configured engine; there are: {known}"))
}

fn check_name(name: &str) -> Result<(), String> {
    if name.trim() != name {
        return Err("must not begin or end with a blank".to_owned());
    }
    if name.chars().any(char::is_control) {
        return Err("must have no control characters".to_owned());
    }
    Ok(())
}

fn check_params(params: &[GlobalParam], wrong: &mut Vec<Detail>) {
    if params.len() > PARAMS_MAX {
        wrong.push(Detail::new("globalParams", format!("must be {PARAMS_MAX} at most")));
        return;
    }
    let mut seen = HashSet::new();
    for (at, param) in params.iter().enumerate() {
        let name = &param.name;
        let why = match name.chars().count() {
            0 => Some("must not be empty".to_owned()),
            count if count > PARAM_NAME_MAX_CHARS => {
                Some(format!("must have {PARAM_NAME_MAX_CHARS} characters at most"))
            }
            _ if name.chars().any(|c| c.is_control() || c.is_whitespace() || "${}".contains(c)) => {
                Some("must have no blanks and none of `$ { }`".to_owned())
            }
            _ if name.starts_with(SYSTEM_PREFIX) => {
                Some(format!("must not begin with `{SYSTEM_PREFIX}`, which is the system's own"))
            }
            _ if !seen.insert(name) => Some("is there more than once".to_owned()),
            _ => None,
        };
        wrong.extend(why.map(|why| Detail::new(format!("globalParams[{at}].name"), why)));
        if param.value.chars().count() > PARAM_VALUE_MAX_CHARS {
            let why = format!("must have {PARAM_VALUE_MAX_CHARS} characters at most");
            wrong.push(Detail::new(format!("globalParams[{at}].value"), why));
        }
    }
    let values: Vec<(String, String)> =
        params.iter().map(|param| (param.name.clone(), param.value.clone())).collect();
    let problems = parameters::check_globals(&values).into_iter();
    wrong.extend(problems.map(|(at, why)| Detail::new(format!("globalParams[{at}].value"), why)));
}

/// Applies the form to the current schedule; or returns all problems. Times are in the server's `zone`.
pub fn scheduled(form: &SetSchedule, before: Option<&Schedule>, zone: Tz) -> Result<Schedule, Vec<Detail>> {
    let mut wrong = Vec::new();
    let own = || zone.name().to_owned();
    let timezone = match &form.timezone {
        Patch::Keep => before.map_or_else(own, |before| before.timezone.clone()),
        Patch::Clear => own(),
        Patch::Set(name) => name.clone(),
    };
    let due_in = timezone.parse::<Tz>();
    let crontab = form.crontab.0.clone().or_else(|| before.map(|before| before.crontab.clone()));
    let why = match &crontab {
        None => Some("is missing; the workflow has no schedule yet".to_owned()),
        Some(_) if form.crontab.0.is_none() && form.timezone == Patch::Keep => None,
        Some(crontab) => cron_problem(crontab, due_in.unwrap_or(zone)),
    };
    wrong.extend(why.map(|why| Detail::new("crontab", why)));
    let start_ms =
        laid_time("startTime", &form.start_time, before.and_then(|b| b.start_ms), zone, &mut wrong);
    let end_ms = laid_time("endTime", &form.end_time, before.and_then(|b| b.end_ms), zone, &mut wrong);
    if let (Some(start), Some(end)) = (start_ms, end_ms)
        && start > end
    {
        wrong.push(Detail::new("endTime", "must not be before startTime"));
    }
    if due_in.is_err() {
        wrong.push(Detail::new("timezone", "must be the name of a time zone, such as Asia/Shanghai"));
    }
    let kept_strategy = before.map_or(FailureStrategy::Continue, |before| before.failure_strategy);
    let kept_warning = before.map_or(WarningType::None, |before| before.warning_type);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    Ok(Schedule {
        crontab: crontab.unwrap_or_default(),
        start_ms,
        end_ms,
        timezone,
        failure_strategy: form.failure_strategy.0.unwrap_or(kept_strategy),
        warning_type: form.warning_type.0.unwrap_or(kept_warning),
    })
}

/// The problem of a cron expression, including one that is never due.
fn cron_problem(crontab: &str, zone: Tz) -> Option<String> {
    match Cron::parse(crontab) {
        Ok(cron) if cron.is_ever_due(zone) => None,
        Ok(_) => Some("is never due: no date and time fit it; change its fields".to_owned()),
        Err(why) => Some(why),
    }
}

fn laid_time(
    member: &str,
    form: &Patch<String>,
    before: Option<i64>,
    zone: Tz,
    wrong: &mut Vec<Detail>,
) -> Option<i64> {
    match form {
        Patch::Keep => before,
        Patch::Clear => None,
        Patch::Set(text) => match time::parse(text, zone) {
            // Cron knows no parts of a second.
            Ok(at) => Some(at - at.rem_euclid(time::SECOND_MS)),
            Err(why) => {
                wrong.push(Detail::new(member, why));
                None
            }
        },
    }
}

#[cfg(test)]
#[path = "definition_tests.rs"]
mod tests;
