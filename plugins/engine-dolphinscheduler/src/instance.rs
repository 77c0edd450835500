//! Runs as DolphinScheduler shows them, in Lakeport's words.

use lakeport_sdk::engine::{Error, Instance, memo};
use lakeport_sdk::serde_json::{self, Value, json};

use crate::api::Api;
use crate::backfills;
use crate::times;
use crate::values::{RUN_CAUSE, RUN_KEY};

/// How long the key of a run is kept; it never changes.
const KEY_KEEP_S: u32 = 6 * 3_600;
/// How long a run that was begun again may still be shown with its old end.
const AGAIN_KEEP_S: u32 = 60;
/// How long a run that goes on may still be shown as paused.
const RESUMED_KEEP_S: u32 = 2;
/// How deep JSON is written within JSON, in the parameters of a start.
const NESTING_MAX: usize = 4;

const READY_STOP: &str = "READY_STOP";

/// What Lakeport gave a run when it started it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    pub key: Option<String>,
    pub cause: Option<String>,
}

/// The word for a run's state, from its row. 3.1 keeps a run as `READY_STOP` for good if it ended just before it was to stop:
/// it has an end then, and is stopped.
pub fn word(row: &Value) -> &str {
    let word = row["state"].as_str().unwrap_or_default();
    if word == READY_STOP && has_ended(row) { "STOP" } else { word }
}

/// Whether it has an end since it last began: a run that was begun again keeps its old one until the next.
fn has_ended(row: &Value) -> bool {
    let (Some(ended), Some(begun)) = (row["endTime"].as_str(), row["restartTime"].as_str()) else {
        return false;
    };
    // Times of one form, which their texts order.
    let is_first = row["runTimes"].as_u64().is_none_or(|runs| runs <= 1);
    ended > begun || (ended == begun && is_first)
}

/// Whether DolphinScheduler takes a run that has ended for one that is to stop.
pub fn is_stuck(row: &Value) -> bool {
    row["state"] == READY_STOP && word(row) != READY_STOP
}

/// The state of a run. What waits for its turn or its worker is `queued`. A run that is to pause goes on until
/// its tasks have ended, so it is `running`.
pub fn state(word: &str) -> &'static str {
    match word {
        "SUBMITTED_SUCCESS" | "SERIAL_WAIT" | "WAIT_TO_RUN" | "DELAY_EXECUTION" => "queued",
        "RUNNING_EXECUTION" | "READY_PAUSE" | "READY_BLOCK" | "FAILOVER" => "running",
        READY_STOP => "stopping",
        "PAUSE" | "BLOCK" => "paused",
        "STOP" => "stopped",
        "FAILURE" => "failed",
        "SUCCESS" => "success",
        _ => "unknown",
    }
}

/// The state of a try.
pub fn task_state(word: &str) -> &'static str {
    match word {
        "SUBMITTED_SUCCESS" | "DISPATCH" | "DELAY_EXECUTION" => "queued",
        "RUNNING_EXECUTION" | "READY_PAUSE" => "running",
        READY_STOP => "stopping",
        "PAUSE" => "paused",
        "KILL" | "STOP" => "stopped",
        "FAILURE" | "NEED_FAULT_TOLERANCE" => "failed",
        "SUCCESS" | "FORCED_SUCCESS" => "success",
        _ => "unknown",
    }
}

pub fn is_final(state: &str) -> bool {
    matches!(state, "success" | "failed" | "stopped")
}

/// A run of a workflow of Lakeport's, from a row of a list or from its detail. `None` if it has no id.
pub fn read(api: &Api, row: &Value, workflow: u64, given: &Given) -> Option<Instance> {
    let id = row["id"].as_i64()?;
    let word = word(row);
    let time = |name: &str| times::read(&row[name], api.zone());
    let runs = row["runTimes"].as_u64().and_then(|runs| u32::try_from(runs).ok()).unwrap_or(1).max(1);
    let now = state_now(id, word, runs);
    let attempt = if now == state(word) { runs } else { runs + 1 };
    let business_time = time("scheduleTime");
    Some(Instance {
        id: id.to_string(),
        workflow,
        key: given.key.clone().filter(|key| !backfills::is_key(key)),
        trigger: given.key.clone().filter(|key| backfills::is_key(key)),
        cause: cause(row, given, business_time.is_some()),
        business_time,
        state: now.to_owned(),
        engine_state: row["state"].as_str().unwrap_or_default().to_owned(),
        attempt,
        started: time("startTime"),
        ended: time("endTime").filter(|_| is_final(now)),
        message: None,
        extra: None,
    })
}

fn cause(row: &Value, given: &Given, has_time: bool) -> String {
    if let Some(cause) = &given.cause {
        return cause.clone();
    }
    let cause = match row["commandType"].as_str().unwrap_or_default() {
        "SCHEDULER" => "schedule",
        "COMPLEMENT_DATA" => "backfill",
        "START_PROCESS" => "manual",
        // It was begun again, or went on after a failure of a server: the first command is not shown.
        _ if has_time => "schedule",
        _ => "manual",
    };
    cause.to_owned()
}

/// What a row shows of what Lakeport gave; `None` if only the detail can tell.
pub fn shown(row: &Value) -> Option<Given> {
    let key = find_param(row, RUN_KEY);
    if key.is_some() {
        return Some(Given { key, cause: find_param(row, RUN_CAUSE) });
    }
    let is_timed = row["commandType"] == "SCHEDULER";
    let shows_params = !row["commandParam"].is_null() || !row["globalParams"].is_null();
    (is_timed || shows_params).then(Given::default)
}

/// A parameter that the run was started with. It stands in JSON within JSON: `{"StartParams":"{\"k\":\"v\"}"}`
/// or `{"commandParams":[{"prop":"k","value":"v"}]}`, and in the list of global parameters.
fn find_param(row: &Value, name: &str) -> Option<String> {
    ["commandParam", "globalParams"].iter().find_map(|member| find_in(&row[*member], name, 0))
}

fn find_in(value: &Value, name: &str, depth: usize) -> Option<String> {
    match value {
        Value::String(text) if depth < NESTING_MAX && text.starts_with(['{', '[']) => {
            find_in(&serde_json::from_str(text).ok()?, name, depth + 1)
        }
        Value::Object(members) => {
            let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
            let is_it = members.get("prop").is_some_and(|prop| prop == name);
            let found = if is_it { members.get("value").and_then(text) } else { None };
            let found = found.or_else(|| members.get(name).and_then(text));
            found.or_else(|| members.values().find_map(|value| find_in(value, name, depth + 1)))
        }
        Value::Array(items) => items.iter().find_map(|item| find_in(item, name, depth + 1)),
        _ => None,
    }
}

/// What the cache knows of a run.
pub fn kept(id: i64) -> Option<Given> {
    let kept: Value = serde_json::from_str(&memo::get(&format!("run {id}"))?).ok()?;
    let text = |name: &str| kept[name].as_str().map(str::to_owned);
    Some(Given { key: text("k"), cause: text("c") })
}

fn keep(id: i64, given: &Given) {
    let value = json!({"k": given.key, "c": given.cause});
    memo::put(&format!("run {id}"), &value.to_string(), KEY_KEEP_S);
}

/// Notes that a run was begun again, which had been run so many times.
pub fn note_again(id: i64, runs: u32) {
    memo::put(&format!("again {id}"), &runs.to_string(), AGAIN_KEEP_S);
}

/// The state of a run. One that was begun again is still shown with its old end for up to a second.
pub fn state_now(id: i64, word: &str, runs: u32) -> &'static str {
    let shown = state(word);
    if is_final(shown) && again(id).is_some_and(|before| runs <= before) { "queued" } else { shown }
}

/// Notes that a paused run goes on; DolphinScheduler may still show it as paused.
pub fn note_resumed(id: &str) {
    memo::put(&format!("resumed {id}"), "yes", RESUMED_KEEP_S);
}

/// It was paused since.
pub fn forget_resumed(id: &str) {
    memo::put(&format!("resumed {id}"), "", RESUMED_KEEP_S);
}

pub fn was_resumed(id: &str) -> bool {
    memo::get(&format!("resumed {id}")).is_some_and(|kept| !kept.is_empty())
}

fn again(id: i64) -> Option<u32> {
    memo::get(&format!("again {id}"))?.parse().ok()
}

/// The detail of a run; `None` if there is no such run.
pub fn detail(api: &Api, project: i64, id: &str) -> Result<Option<Value>, Error> {
    // What is no number would be another path.
    if id.parse::<u32>().is_err() {
        return Ok(None);
    }
    let project = project.to_string();
    let detail = api.get_if_there(&["projects", &project, api.flavour.instances, id], Vec::new())?;
    Ok(detail.filter(|detail| !detail.is_null()))
}

/// What Lakeport gave a run, by its detail.
pub fn given_in(detail: &Value) -> Given {
    let given = shown(detail).unwrap_or_default();
    if let Some(id) = detail["id"].as_i64() {
        keep(id, &given);
    }
    given
}
