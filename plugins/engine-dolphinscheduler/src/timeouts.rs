//! 3.3 and later end a task at its timeout as if somebody had stopped it: its try has the state `KILL`, and the run `STOP`. Such a
//! try is known by its duration.

use std::collections::HashMap;

use lakeport_sdk::engine::{Error, memo};
use lakeport_sdk::serde_json::Value;

use crate::api::Api;
use crate::times;
use crate::tries;

/// How long it is kept of an ended run; one that is begun again is another one.
const KEEP_S: u32 = 3_600;
/// Times have whole seconds.
const ROUNDED_OFF_MS: i64 = 1_000;
const KILLED: &str = "KILL";

/// The timeouts of tasks that have one, in milliseconds, by code.
pub struct Timeouts(HashMap<i64, i64>);

impl Timeouts {
    /// Those of a definition; none of one that is not there any more.
    pub fn of(api: &Api, project: i64, definition: &str) -> Result<Timeouts, Error> {
        let project = project.to_string();
        let path = ["projects", &project, api.flavour.definitions, definition];
        let detail = api.get_if_there(&path, Vec::new())?.unwrap_or_default();
        let tasks = detail["taskDefinitionList"].as_array().into_iter().flatten();
        let limited = tasks.filter(|task| task["timeoutFlag"] == "OPEN");
        let limit = |task: &Value| Some((task["code"].as_i64()?, task["timeout"].as_i64()? * 60_000));
        Ok(Timeouts(limited.filter_map(limit).collect()))
    }

    /// Whether this row of a try says so. The time counts from its submission, before a worker has it.
    pub fn ended(&self, api: &Api, row: &Value) -> bool {
        let time = |name: &str| times::read(&row[name], api.zone());
        let limit = row["taskCode"].as_i64().and_then(|code| self.0.get(&code));
        let began = ["submitTime", "firstSubmitTime", "startTime"].into_iter().find_map(time);
        match (limit, began, time("endTime")) {
            (Some(limit), Some(began), Some(ended)) => {
                is_killed(row) && ended - began >= limit - ROUNDED_OFF_MS
            }
            _ => false,
        }
    }
}

pub fn is_killed(row: &Value) -> bool {
    row["state"] == KILLED
}

/// What was found before of a run that is shown as stopped.
pub fn known(run: &Value) -> Option<bool> {
    memo::get(&name(run)).map(|kept| kept == "yes")
}

fn name(run: &Value) -> String {
    format!("timeout {} {}", run["id"], run["runTimes"])
}

/// Whether a run that is shown as stopped was stopped by a timeout: of the last try of a task.
pub fn ended_run(api: &Api, project: i64, run: &Value) -> Result<bool, Error> {
    if let Some(known) = known(run) {
        return Ok(known);
    }
    let rows = tries::rows(api, &project.to_string(), &run["id"].to_string())?;
    let latest: HashMap<Option<i64>, &Value> =
        rows.iter().map(|row| (row["taskCode"].as_i64(), row)).collect();
    let is_any_killed = latest.values().any(|row| is_killed(row));
    let has_ended = match run[api.flavour.definition_code].as_i64().filter(|_| is_any_killed) {
        Some(code) => {
            let timeouts = Timeouts::of(api, project, &code.to_string())?;
            latest.values().any(|row| timeouts.ended(api, row))
        }
        None => false,
    };
    memo::put(&name(run), if has_ended { "yes" } else { "no" }, KEEP_S);
    Ok(has_ended)
}
