//! Tries of tasks. Each try is a row of its own; rows of earlier tries have the flag `NO`, and are tries as well.

use std::collections::HashMap;

use lakeport_sdk::engine::{Error, InstanceRef, TaskRun, TaskRunPage, TaskRunRequest, call};
use lakeport_sdk::serde_json::Value;

use crate::api::{Api, PAGE_ROWS};
use crate::deploy::State;
use crate::instance::{is_final, task_state};
use crate::timeouts::{self, Timeouts};
use crate::times;

/// Pages of one run's tries.
const PAGES_MAX: usize = 50;
/// The time that is left for the answer.
const SPARE_MS: u32 = 4_000;

/// Which run of the request comes next, and how many of its tries were answered.
fn read_cursor(text: &str, runs: usize) -> Option<(usize, usize)> {
    let (run, tries) = text.split_once(',')?;
    let run = run.parse().ok().filter(|run| *run < runs)?;
    Some((run, tries.parse().ok()?))
}

pub fn task_runs(request: &TaskRunRequest) -> Result<TaskRunPage, Error> {
    let (mut at, mut skip) = match &request.cursor {
        None => (0, 0),
        Some(text) => read_cursor(text, request.instances.len()).ok_or_else(|| {
            Error::invalid_input(format!("the cursor {text:?} is not one of this plugin's"))
        })?,
    };
    let api = Api::open()?;
    let (limit, mut task_runs) = (request.limit as usize, Vec::new());
    while let Some(run) = request.instances.get(at) {
        if !task_runs.is_empty() && call::remaining_ms() < SPARE_MS {
            return Ok(TaskRunPage { task_runs, next: Some(format!("{at},{skip}")) });
        }
        let tries = of_run(&api, run)?;
        let room = limit - task_runs.len();
        let rest = tries.len().saturating_sub(skip);
        task_runs.extend(tries.into_iter().skip(skip).take(room));
        if rest > room {
            return Ok(TaskRunPage { task_runs, next: Some(format!("{at},{}", skip + room)) });
        }
        (at, skip) = (at + 1, 0);
        if task_runs.len() >= limit && at < request.instances.len() {
            return Ok(TaskRunPage { task_runs, next: Some(format!("{at},0")) });
        }
    }
    Ok(TaskRunPage { task_runs, next: None })
}

/// All tries of a run, older before newer.
fn of_run(api: &Api, run: &InstanceRef) -> Result<Vec<TaskRun>, Error> {
    // What is no number is no run.
    if run.id.parse::<u32>().is_err() {
        return Ok(Vec::new());
    }
    let project = api.project_of(&run.workflow);
    let rows = rows(api, &project.to_string(), &run.id)?;
    let may_be_late = api.flavour.stops_at_timeout && rows.iter().any(timeouts::is_killed);
    let timeouts = match run.workflow.code.as_deref().filter(|_| may_be_late) {
        Some(code) => Some(Timeouts::of(api, project, code)?),
        None => None,
    };
    let state = State::read(&run.workflow);
    let mut attempts: HashMap<String, u32> = HashMap::new();
    let read = |row: &Value| {
        let (id, name) = (row["id"].as_i64()?, row["name"].as_str()?.to_owned());
        let code = row["taskCode"].as_i64();
        let key = code.map_or_else(|| name.clone(), |code| code.to_string());
        let attempt = attempts.entry(key).or_default();
        *attempt += 1;
        let word = row["state"].as_str().unwrap_or_default();
        let is_late = timeouts.as_ref().is_some_and(|timeouts| timeouts.ended(api, row));
        let now = if is_late { "failed" } else { task_state(word) };
        let time = |name: &str| times::read(&row[name], api.zone());
        Some(TaskRun {
            id: id.to_string(),
            instance: run.id.clone(),
            task: code.and_then(|code| state.task(code)),
            task_name: name,
            attempt: *attempt,
            state: now.to_owned(),
            engine_state: word.to_owned(),
            started: time("startTime"),
            ended: time("endTime").filter(|_| is_final(now)),
            message: is_late.then(|| "the task came to its timeout".to_owned()),
            rows_affected: None,
            extra: None,
        })
    };
    Ok(rows.iter().filter_map(read).collect())
}

/// The rows of all tries of a run, older before newer.
pub fn rows(api: &Api, project: &str, run: &str) -> Result<Vec<Value>, Error> {
    let mut rows: Vec<Value> = Vec::new();
    for number in 1..=PAGES_MAX {
        let params = vec![(api.flavour.instance_id, run.to_owned()), ("taskExecuteType", "BATCH".to_owned())];
        let (page, total) = api.page(&["projects", project, "task-instances"], params, number, PAGE_ROWS)?;
        let is_last = page.is_empty() || number * PAGE_ROWS >= total;
        rows.extend(page);
        if is_last {
            break;
        }
    }
    // The list is sorted by begin, and may have shifted between two pages.
    rows.sort_by_key(|row| row["id"].as_i64());
    rows.dedup_by_key(|row| row["id"].as_i64());
    Ok(rows)
}
