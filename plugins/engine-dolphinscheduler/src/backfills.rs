//! Backfills by DolphinScheduler itself, where the setting `nativeBackfill` asks for them: one start with all dates. It
//! begins a date when the one before has succeeded, and no more after one that failed. Side by side are as many such
//! chains as asked for; 3.3.0 to 3.3.2 take the number for the length of a chain. 3.1 knows no order, and loses that of
//! the list.
//!
//! Each run has the key of the backfill among its parameters, by which it is told from others. The same text is its
//! trigger code.

use lakeport_sdk::engine::{
    BackfillRequest, BackfillStarted, Dates, Error, Receipt, RunRequest, Target, WorkflowRef, clock,
};
use lakeport_sdk::serde_json::{Value, json};

use crate::api::Api;
use crate::config::Settings;
use crate::control;
use crate::instance;
use crate::runs::{self, CLOCKS_APART_MS, DETAILS_MAX, Order, PAGES_MAX, Search};
use crate::times;

/// Dates of one start: 3.2 and later refuse more.
pub const DATES_MAX: u32 = 100;
/// Begins the keys of backfills. Those of runs never do.
const KEY: &str = "backfill-";
/// The cause of its runs.
const CAUSE: &str = "backfill";
/// How far back a cancel looks for runs that are active.
const ACTIVE_MS: i64 = 7 * 24 * 60 * 60_000;

/// Whether the key of a run is that of a backfill, which has several.
pub fn is_key(key: &str) -> bool {
    key.starts_with(KEY)
}

pub fn start(request: &BackfillRequest) -> Result<BackfillStarted, Error> {
    if !Settings::read()?.native_backfill {
        return Err(Error::unsupported("the setting `nativeBackfill` is off"));
    }
    let (api, workflow) = (Api::open()?, &request.workflow);
    // The watch lists the runs of the configured one.
    let project = api.project;
    if api.project_of(workflow) != project {
        return Err(Error::unsupported("`workflow`: it is in another project than the configured one"));
    }
    if request.dependent_mode != "OFF_MODE" {
        return Err(Error::unsupported("`dependent-mode`: not all versions run the dependents"));
    }
    if !request.params.is_empty() {
        return Err(Error::unsupported(
            "`params`: values of a backfill cannot be given to DolphinScheduler's SQL",
        ));
    }
    let zone = api.zone();
    let date = |at: i64| {
        let text = times::written(at, zone)?;
        // Of a time that the clock shows twice, the server takes one.
        match times::read(&json!(text), zone) {
            Some(read) if read == at => Ok(text),
            _ => Err(Error::unsupported(format!("`dates`: {text} is two times in the zone {zone}"))),
        }
    };
    let dates = match &request.dates {
        Dates::Listed(dates) if dates.len() > DATES_MAX as usize => {
            return Err(Error::unsupported(format!("`dates`: DolphinScheduler takes {DATES_MAX} at most")));
        }
        Dates::Listed(dates) => {
            let dates = dates.iter().map(|at| date(*at)).collect::<Result<Vec<_>, Error>>()?;
            json!({"complementScheduleDateList": dates.join(",")})
        }
        Dates::Range(range) => json!({
            "complementStartDate": times::written(range.start, zone)?,
            "complementEndDate": times::written(range.end, zone)?,
        }),
    };
    if let (Some(found), _) = found(&api, workflow, &request.key, clock::now() - runs::REPEAT_MS)? {
        return Ok(found);
    }
    let definition = runs::deployed(&api, project, workflow)?;
    let trigger = format!("{KEY}{}", request.key);
    let run = RunRequest {
        workflow: workflow.clone(),
        key: trigger.clone(),
        cause: CAUSE.to_owned(),
        business_time: None,
        params: Vec::new(),
        failure_strategy: request.failure_strategy.clone(),
        start_at: None,
        reach: "all".to_owned(),
        extra: None,
    };
    let order = Order {
        parallelism: request.parallelism.filter(|_| request.run_mode == "RUN_MODE_PARALLEL"),
        is_descending: request.execution_order == "DESC_ORDER",
    };
    let mut form = runs::form(&api, &definition, &run)?;
    form.extend(runs::dates(api.flavour, &order));
    form.extend(runs::complement(&dates));
    api.ask("POST", &["projects", &project.to_string(), "executors", api.flavour.start], form)?;
    Ok(BackfillStarted {
        trigger,
        instances: Vec::new(),
        found: false,
        notes: notes(&api, order.parallelism),
    })
}

/// What it does otherwise than asked.
fn notes(api: &Api, parallelism: Option<u32>) -> Vec<String> {
    let mut notes = vec!["DolphinScheduler begins no date after one that failed".to_owned()];
    if !api.flavour.has_order {
        notes.push("this version of DolphinScheduler chooses the order of the dates itself".to_owned());
    }
    if parallelism.is_some() {
        notes.push(
            "3.3.0 to 3.3.2 take the number of dates side by side for the length of a chain".to_owned(),
        );
    }
    notes
}

pub fn find(workflow: &WorkflowRef, key: &str, asked: i64) -> Result<Option<BackfillStarted>, Error> {
    match found(&Api::open()?, workflow, key, asked - CLOCKS_APART_MS)? {
        (None, false) => Err(runs::too_many()),
        (found, _) => Ok(found),
    }
}

/// The one of a key, and whether all runs were looked at.
fn found(
    api: &Api,
    workflow: &WorkflowRef,
    key: &str,
    since_ms: i64,
) -> Result<(Option<BackfillStarted>, bool), Error> {
    let trigger = format!("{KEY}{key}");
    let (rows, is_whole) = rows_of(api, workflow, &trigger, since_ms, |_| true)?;
    let instances: Vec<String> =
        rows.iter().filter_map(|row| row["id"].as_i64()).map(|id| id.to_string()).collect();
    let is_there = !instances.is_empty();
    let notes = notes(api, None);
    Ok((is_there.then_some(BackfillStarted { trigger, instances, found: true, notes }), is_whole))
}

/// Stops the runs that are active: none follows one that was stopped.
pub fn cancel(workflow: &WorkflowRef, trigger: &str) -> Result<Receipt, Error> {
    let api = Api::open()?;
    let is_active = |row: &Value| !instance::is_final(instance::state(instance::word(row)));
    let (rows, is_whole) = rows_of(&api, workflow, trigger, clock::now() - ACTIVE_MS, is_active)?;
    let (mut is_settled, mut refused) = (is_whole, None);
    // One that cannot be stopped now must not keep the others.
    for id in rows.iter().filter_map(|row| row["id"].as_i64()) {
        match control::cancel(workflow, &Target::Instance(id.to_string())) {
            Ok(receipt) => is_settled &= receipt.settled,
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    if let Some(error) = refused {
        return Err(error);
    }
    let note = if is_settled { "none of its runs is active" } else { "DolphinScheduler stops its runs" };
    Ok(control::receipt(is_settled, note))
}

/// The runs of a backfill among these of the workflow, newest first, and whether all were looked at.
fn rows_of(
    api: &Api,
    workflow: &WorkflowRef,
    trigger: &str,
    since_ms: i64,
    is_wanted: impl Fn(&Value) -> bool,
) -> Result<(Vec<Value>, bool), Error> {
    let Some(code) = workflow.code.as_deref().and_then(|code| code.parse().ok()) else {
        return Ok((Vec::new(), true));
    };
    let project = api.project_of(workflow);
    let mut search = Search { api, project, details_left: DETAILS_MAX };
    let (rows, mut is_whole) = search.rows(code, since_ms, PAGES_MAX)?;
    let mut found = Vec::new();
    for row in rows.into_iter().filter(is_wanted) {
        let Some(given) = search.given(&row)? else {
            is_whole = false;
            continue;
        };
        if given.key.as_deref() == Some(trigger) {
            found.push(row);
        }
    }
    Ok((found, is_whole))
}
