//! Starts, and finding them again. DolphinScheduler knows no key of a start, so the key is one of the run's
//! parameters, and a run is found by reading those of its workflow's latest runs.

use lakeport_sdk::engine::{Error, Instance, RunQuery, RunRequest, Started, WorkflowRef, call, clock};
use lakeport_sdk::serde_json::{Value, json};

use crate::answer;
use crate::api::{self, Api, PAGE_ROWS, PARTS_MAX, Params};
use crate::definition::Existing;
use crate::deploy::{Place, State};
use crate::flavour::{self, Flavour, Tenant};
use crate::instance::{self, Given};
use crate::times;
use crate::values::{RUN_CAUSE, RUN_KEY};
use crate::watch::SPARE_MS;

/// How far the clocks of two machines may be apart.
pub const CLOCKS_APART_MS: i64 = 5 * 60_000;
/// How far back a repeated start looks for its run.
pub const REPEAT_MS: i64 = 60 * 60_000;
/// Details of runs that one search reads.
pub const DETAILS_MAX: usize = 40;
/// Pages of one workflow's runs in one search.
pub const PAGES_MAX: usize = 5;

pub fn start(request: &RunRequest) -> Result<Started, Error> {
    let api = Api::open()?;
    let project = api.project_of(&request.workflow);
    if !request.params.is_empty() {
        return Err(Error::unsupported("values of a single run cannot be given to DolphinScheduler's SQL"));
    }
    let definition = deployed(&api, project, &request.workflow)?;
    let now = clock::now();
    let mut search = Search { api: &api, project, details_left: DETAILS_MAX };
    // A repeat comes soon: its run is among the latest ones.
    let (rows, _) = search.rows(definition.code, now - REPEAT_MS, 1)?;
    if let Some((row, _)) = search.by_key(&rows, true, &request.key)? {
        let id = row["id"].as_i64().unwrap_or_default();
        return Ok(Started::run(id.to_string(), true));
    }
    let mut form = form(&api, &definition, request)?;
    // With a date all tasks of the run, and its retries, have the times of one moment.
    let business_time = request.business_time.or(api.flavour.fills_in_late.then_some(now));
    form.extend(when(&api, business_time)?);
    let path = ["projects", &project.to_string(), "executors", api.flavour.start];
    match api.send("POST", &path, form)? {
        Ok(data) => Ok(flavour::started(&data, &request.key)),
        Err(refusal) => {
            let error = refusal.error(&api::shown("POST", &path), true);
            let is_open = api.flavour.starts_at_master && refusal.is_of_master();
            Err(if is_open { error.may_have_applied() } else { error })
        }
    }
}

/// The definition, which is online: 3.3 would run one that is offline.
pub fn deployed(api: &Api, project: i64, workflow: &WorkflowRef) -> Result<Existing, Error> {
    let not_there =
        || Error::not_found(format!("the workflow `{}` is not deployed in DolphinScheduler", workflow.name));
    let place = Place { api, project };
    let detail = place.detail(workflow.code.as_deref().ok_or_else(not_there)?)?;
    let detail = detail.filter(|detail| !detail.is_null()).ok_or_else(not_there)?;
    let definition = Existing::read(&detail, api.flavour)
        .ok_or_else(|| answer::missing("the request for a definition", api.flavour.definition))?;
    if !definition.is_online {
        let name = &definition.name;
        return Err(Error::conflict(format!(
            "the definition `{name}` is offline in DolphinScheduler; set it online there, or publish it again"
        )));
    }
    Ok(definition)
}

/// The parameters of a start, but for its dates and their order.
pub fn form(api: &Api, definition: &Existing, request: &RunRequest) -> Result<Params, Error> {
    let (flavour, settings) = (api.flavour, &api.settings);
    let state = State::read(&request.workflow);
    let start_node = match (request.reach.as_str(), request.start_at) {
        ("all", _) => None,
        ("from" | "only", Some(task)) => Some(state.codes.get(&task).copied().ok_or_else(|| {
            Error::invalid_input(format!("the deployed workflow has no task {task} to begin at"))
        })?),
        (reach, _) => return Err(Error::unsupported(format!("a run of the reach {reach:?} is not known"))),
    };
    let mut params = lakeport_sdk::serde_json::Map::new();
    if flavour.needs_all_params {
        params.extend(definition.params.iter().map(|(name, value)| (name.clone(), json!(value))));
    }
    params.insert(RUN_KEY.to_owned(), json!(request.key));
    params.insert(RUN_CAUSE.to_owned(), json!(request.cause));
    let mut form: Params = vec![
        (flavour.definition_code, definition.code.to_string()),
        ("failureStrategy", request.failure_strategy.clone()),
        ("warningType", "NONE".to_owned()),
        ("warningGroupId", "0".to_owned()),
        ("taskDependType", if request.reach == "only" { "TASK_ONLY" } else { "TASK_POST" }.to_owned()),
        (flavour.instance_priority, "MEDIUM".to_owned()),
        ("workerGroup", settings.worker_group.clone()),
        ("environmentCode", settings.environment_code.to_string()),
        ("startParams", Value::Object(params).to_string()),
        ("complementDependentMode", "OFF_MODE".to_owned()),
        ("dryRun", "0".to_owned()),
    ];
    if let Some(code) = start_node {
        form.push(("startNodeList", code.to_string()));
    }
    if flavour.tenant == Tenant::Start {
        form.push(("tenantCode", settings.tenant().to_owned()));
    }
    if flavour.has_order {
        form.push(("allLevelDependent", "false".to_owned()));
    }
    Ok(form)
}

/// Of one date, or of none.
fn when(api: &Api, business_time: Option<i64>) -> Result<Params, Error> {
    let mut form = dates(api.flavour, &Order::ONE);
    match business_time {
        None => form.extend([("execType", "START_PROCESS".to_owned()), ("scheduleTime", String::new())]),
        // A wrong date makes a failed run each second, for good, in 3.1: it comes from the host's clock alone.
        Some(at) => {
            let date = times::written(at, api.zone())?;
            form.extend(complement(&json!({"complementScheduleDateList": date})));
        }
    }
    Ok(form)
}

/// How the dates of a start follow each other.
pub struct Order {
    /// Side by side; `None`: one after the other.
    pub parallelism: Option<u32>,
    pub is_descending: bool,
}

impl Order {
    const ONE: Order = Order { parallelism: None, is_descending: false };
}

pub fn dates(flavour: &Flavour, order: &Order) -> Params {
    let mode = if order.parallelism.is_some() { "RUN_MODE_PARALLEL" } else { "RUN_MODE_SERIAL" };
    let mut form = vec![
        ("runMode", mode.to_owned()),
        // 3.3 needs it for a single date as well.
        ("expectedParallelismNumber", order.parallelism.unwrap_or(1).to_string()),
    ];
    if flavour.has_order {
        let word = if order.is_descending { "DESC_ORDER" } else { "ASC_ORDER" };
        form.push(("executionOrder", word.to_owned()));
    }
    form
}

pub fn complement(dates: &Value) -> Params {
    vec![("execType", "COMPLEMENT_DATA".to_owned()), ("scheduleTime", dates.to_string())]
}

/// Project and code.
type Definition = (i64, i64);
/// Runs, and whether these are all.
type Listed = (Vec<Value>, bool);

pub fn find(queries: &[RunQuery]) -> Result<Vec<Option<Instance>>, Error> {
    let api = Api::open()?;
    let mut lists: Vec<(Definition, Listed)> = Vec::new();
    let mut details_left = DETAILS_MAX;
    let mut found = Vec::with_capacity(queries.len());
    for query in queries {
        let project = api.project_of(&query.workflow);
        let mut search = Search { api: &api, project, details_left };
        let id = query.workflow.id;
        let triggered = query.trigger.as_deref().and_then(flavour::trigger_code);
        if let Some(code) = triggered
            && let Some(row) = search.by_trigger(code)?
        {
            let given = Given { key: Some(query.key.clone()), ..search.given(&row)?.unwrap_or_default() };
            found.push(instance::read(&api, &row, id, &given).map(|run| with_trigger(run, query)));
            details_left = search.details_left;
            continue;
        }
        let Some(code) = query.workflow.code.as_deref().and_then(|code| code.parse().ok()) else {
            found.push(None);
            continue;
        };
        let known = lists.iter().position(|(of, _)| *of == (project, code));
        let at = match known {
            Some(at) => at,
            None => {
                let of_workflow = queries.iter().filter(|other| other.workflow.id == id);
                let oldest = of_workflow.map(|other| other.asked).min().unwrap_or(query.asked);
                lists.push(((project, code), search.rows(code, oldest - CLOCKS_APART_MS, PAGES_MAX)?));
                lists.len() - 1
            }
        };
        let (rows, is_whole) = &lists[at].1;
        let row = search.by_key(rows, *is_whole, &query.key)?;
        details_left = search.details_left;
        let run = row.and_then(|(row, given)| instance::read(&api, row, id, &given));
        found.push(run.map(|run| with_trigger(run, query)));
    }
    Ok(found)
}

fn with_trigger(run: Instance, query: &RunQuery) -> Instance {
    Instance { trigger: query.trigger.clone(), ..run }
}

/// Looks for runs in a project.
pub struct Search<'a> {
    pub api: &'a Api,
    pub project: i64,
    pub details_left: usize,
}

impl Search<'_> {
    /// The first run of a trigger code: the others continue it. Some versions fail at this call: then it is looked for by
    /// its key.
    fn by_trigger(&self, code: i64) -> Result<Option<Value>, Error> {
        let path = ["projects", &self.project.to_string(), self.api.flavour.instances, "trigger"];
        let Ok(data) = self.api.send("GET", &path, vec![("triggerCode", code.to_string())])? else {
            return Ok(None);
        };
        Ok(Some(data).and_then(|rows| rows.as_array().and_then(|rows| rows.first().cloned())))
    }

    /// A workflow's runs since then, newest first, as many as stand on so many pages, and whether these are all.
    pub fn rows(&self, code: i64, since_ms: i64, pages: usize) -> Result<(Vec<Value>, bool), Error> {
        let path = ["projects", &self.project.to_string(), self.api.flavour.instances];
        let since = times::written(since_ms, self.api.zone())?;
        let mut all = Vec::new();
        for _ in 0..pages * PARTS_MAX {
            let params =
                vec![(self.api.flavour.listed_definition, code.to_string()), ("startDate", since.clone())];
            let (rows, total) = self.api.rows(&path, params, all.len())?;
            let is_last = rows.is_empty() || all.len() + rows.len() >= total;
            all.extend(rows);
            if is_last || all.len() >= pages * PAGE_ROWS {
                return Ok((all, is_last));
            }
        }
        Ok((all, false))
    }

    /// The run of a key, `None` only if none of them has it: `unavailable` if it may be one that was not looked at.
    /// `is_enough`: it can be no other one.
    fn by_key<'r>(
        &mut self,
        rows: &'r [Value],
        is_enough: bool,
        key: &str,
    ) -> Result<Option<(&'r Value, Given)>, Error> {
        let mut knows_all = is_enough;
        for row in rows {
            match self.given(row)? {
                Some(given) if given.key.as_deref() == Some(key) => return Ok(Some((row, given))),
                Some(_) => {}
                None => knows_all = false,
            }
        }
        if knows_all { Ok(None) } else { Err(too_many()) }
    }

    /// What Lakeport gave a run. Its detail is read where the list does not show it; `None` if none is left to be read.
    pub fn given(&mut self, row: &Value) -> Result<Option<Given>, Error> {
        let Some(id) = row["id"].as_i64() else { return Ok(Some(Given::default())) };
        if let Some(given) = instance::shown(row).or_else(|| instance::kept(id)) {
            return Ok(Some(given));
        }
        if self.details_left == 0 || call::remaining_ms() < SPARE_MS {
            return Ok(None);
        }
        self.details_left -= 1;
        let detail = instance::detail(self.api, self.project, &id.to_string())?;
        Ok(Some(detail.map(|detail| instance::given_in(&detail)).unwrap_or_default()))
    }
}

/// The details that were read are kept, so the next search knows more.
pub fn too_many() -> Error {
    let message = "the workflow has had more runs since than can be looked through at once";
    Error::unavailable(message).retryable()
}
