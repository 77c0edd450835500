//! A workflow in DolphinScheduler's form, and what is read of a definition that is there.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lakeport_sdk::engine::{Error, Param, Problem, Task, Workflow};
use lakeport_sdk::serde_json::{self, Value, json};

use crate::about::{self, SHELL, SQL};
use crate::api::{ANSWER_MAX_BYTES, Params};
use crate::body;
use crate::config::Settings;
use crate::flavour::{Flavour, Tenant};
use crate::scan::Dialect;
use crate::values::{Globals, MARK};

/// Codes that DolphinScheduler gave the tasks, by Lakeport's ids.
pub type Codes = BTreeMap<u64, i64>;

/// The largest form that DolphinScheduler's web server takes, in bytes as they are sent. Its setting
/// `max-http-form-post-size` is 5 MB by default.
pub const FORM_MAX_BYTES: usize = 5_000_000;
/// The longest description, in characters, less than the 255 that fit.
const DESCRIPTION_MAX_CHARS: usize = 250;
/// Where the tasks stand on the canvas, in pixels.
const COLUMN_WIDTH: usize = 220;
const ROW_HEIGHT: usize = 100;
const MARGIN: usize = 80;

/// A data source, as DolphinScheduler has it.
#[derive(Clone, Debug)]
pub struct Source {
    pub id: i64,
    /// `POSTGRESQL`.
    pub kind: String,
}

/// All that a definition is made of besides the workflow.
pub struct Parts<'p> {
    pub flavour: &'static Flavour,
    pub settings: &'p Settings,
    pub codes: &'p Codes,
    /// The versions of the tasks that are there, by code.
    pub versions: &'p HashMap<i64, i64>,
    /// By Lakeport's names.
    pub sources: &'p BTreeMap<String, Source>,
}

/// Whose definition it is, and of which revision: the value of its parameter [`MARK`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub id: u64,
    pub revision: String,
}

impl Mark {
    pub fn of(workflow: &Workflow) -> Mark {
        Mark { id: workflow.id, revision: workflow.revision.clone() }
    }

    fn written(&self) -> String {
        format!("{} {}", self.id, self.revision)
    }
}

/// The parameters of a creation or an update.
pub fn form(workflow: &Workflow, parts: &Parts<'_>) -> Result<Params, Error> {
    let mut globals = Globals::default();
    let code = |id: u64| parts.codes.get(&id).copied().unwrap_or_default();
    let version = |id: u64| parts.versions.get(&code(id)).copied().unwrap_or_default();
    let mut tasks = Vec::with_capacity(workflow.tasks.len());
    for task in &workflow.tasks {
        let params = task_params(task, workflow, parts, &mut globals).map_err(|why| {
            Error::unsupported(format!("the task `{}` {why}", task.name)).with("member", "sqlContent")
        })?;
        tasks.push(task_definition(task, parts.settings, (code(task.id), version(task.id)), params));
    }
    let after: BTreeSet<u64> = workflow.edges.iter().map(|edge| edge.after).collect();
    let roots = workflow.tasks.iter().map(|task| task.id).filter(|id| !after.contains(id));
    let pairs = roots.map(|root| (None, root));
    let pairs = pairs.chain(workflow.edges.iter().map(|edge| (Some(edge.before), edge.after)));
    let relations = pairs.map(|(before, after)| {
        json!({
            "name": "",
            "preTaskCode": before.map_or(0, code),
            "preTaskVersion": before.map_or(0, version),
            "postTaskCode": code(after),
            "postTaskVersion": version(after),
            "conditionType": "NONE",
            "conditionParams": {},
        })
    });
    let mut form: Params = vec![
        ("name", workflow.name.clone()),
        ("description", workflow.description.chars().take(DESCRIPTION_MAX_CHARS).collect()),
        ("globalParams", globals.written(&Mark::of(workflow).written())),
        ("locations", locations(workflow, code).to_string()),
        ("timeout", "0".to_owned()),
        ("taskRelationJson", Value::Array(relations.collect()).to_string()),
        ("taskDefinitionJson", Value::Array(tasks).to_string()),
        ("executionType", execution_type(&workflow.concurrency).to_owned()),
    ];
    if parts.flavour.tenant == Tenant::Definition {
        form.push(("tenantCode", parts.settings.tenant().to_owned()));
    }
    Ok(form)
}

/// The bytes of a form on the wire.
pub fn form_bytes(form: &Params) -> usize {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encoded = |text: &str| text.bytes().map(|byte| if plain(byte) { 1 } else { 3 }).sum::<usize>();
    form.iter().map(|(name, value)| name.len() + encoded(value) + 2).sum()
}

/// The bytes of a definition's detail, about: its global parameters come three times, and each task with its times and users.
fn detail_bytes(form: &Params) -> usize {
    let times = |name: &str| if name == "globalParams" { 3 } else { 1 };
    form.iter().map(|(name, value)| (value.len() + value.len() / 8) * times(name)).sum()
}

fn execution_type(concurrency: &str) -> &'static str {
    match concurrency {
        "wait" => "SERIAL_WAIT",
        "discard" => "SERIAL_DISCARD",
        _ => "PARALLEL",
    }
}

/// Whole minutes, and not fewer.
pub fn minutes(seconds: u32) -> u32 {
    seconds.div_ceil(60)
}

fn task_definition(task: &Task, settings: &Settings, (code, version): (i64, i64), params: Value) -> Value {
    let has_timeout = task.timeout_s > 0;
    json!({
        "code": code,
        "version": version,
        "name": task.name,
        "description": "",
        "delayTime": "0",
        "taskType": task.kind,
        "taskParams": params,
        "flag": "YES",
        "isCache": "NO",
        "taskPriority": task.priority,
        "workerGroup": settings.worker_group,
        "environmentCode": settings.environment_code,
        "failRetryTimes": task.retries.to_string(),
        "failRetryInterval": minutes(task.retry_interval_s).to_string(),
        "timeoutFlag": if has_timeout { "OPEN" } else { "CLOSE" },
        "timeoutNotifyStrategy": if has_timeout { "FAILED" } else { "" },
        "timeout": minutes(task.timeout_s),
        "taskGroupId": 0,
        "taskGroupPriority": 0,
        "cpuQuota": -1,
        "memoryMax": -1,
        "taskExecuteType": "BATCH",
    })
}

/// The dialect of a kind of data source.
pub fn dialect(kind: &str) -> Dialect {
    match kind {
        "postgres" => Dialect::Postgres,
        "doris" => Dialect::Doris,
        _ => Dialect::MySql,
    }
}

/// What a task runs. The member `lakeport` is not DolphinScheduler's: it has the text as it was written, for
/// an import, and is left out when the task is edited there.
fn task_params(
    task: &Task,
    workflow: &Workflow,
    parts: &Parts<'_>,
    globals: &mut Globals,
) -> Result<Value, String> {
    let mut written = json!({"body": task.text()});
    // Once is enough.
    if workflow.tasks.first().is_some_and(|first| first.id == task.id) && !workflow.params.is_empty() {
        let params = workflow.params.iter().map(|param| json!({"prop": param.name, "value": param.value}));
        written["globalParams"] = params.collect();
    }
    let params = known_params(task, workflow);
    let params = match task.kind.as_str() {
        SQL => {
            let source = task.datasource.as_ref().ok_or("has no data source")?;
            let there = parts.sources.get(&source.name).ok_or("has a data source that is not there")?;
            let cuts = parts.flavour.cuts_sql;
            let sql = body::sql(&task.body, dialect(&source.kind), &params, globals, cuts)?;
            json!({
                "type": there.kind,
                "datasource": there.id,
                "sql": sql.main,
                "sqlType": if sql.is_query { "0" } else { "1" },
                "preStatements": sql.before,
                "postStatements": sql.after,
                "displayRows": 10,
                "sendEmail": false,
                "localParams": [],
                "resourceList": [],
                "connParams": "",
                "lakeport": written,
            })
        }
        SHELL => {
            let script = body::script(&task.body, &params, globals)?;
            json!({"localParams": [], "rawScript": script, "resourceList": [], "lakeport": written})
        }
        kind => return Err(format!("is of the type {kind}; this plugin deploys {SQL} and {SHELL}")),
    };
    refuse_new_words(parts.flavour, globals)?;
    Ok(params)
}

/// The workflow's parameters, and the names and codes that are the same in each run: Lakeport's own.
fn known_params(task: &Task, workflow: &Workflow) -> Vec<Param> {
    let constant =
        |name: &str, value: String| Param { name: name.to_owned(), kind: "text".to_owned(), value };
    let constants = [
        constant("system.task.definition.name", task.name.clone()),
        constant("system.task.definition.code", task.id.to_string()),
        constant("system.workflow.definition.name", workflow.name.clone()),
        constant("system.workflow.definition.code", workflow.id.to_string()),
    ];
    constants.into_iter().chain(workflow.params.iter().cloned()).collect()
}

/// 3.1 would drop each run of the workflow.
fn refuse_new_words(flavour: &Flavour, globals: &mut Globals) -> Result<(), String> {
    match globals.take_new_words() {
        Some(words) if !flavour.has_new_times => Err(format!(
            "has {words}, which DolphinScheduler {} does not know; use another expression, or 3.2 and later",
            flavour.name
        )),
        _ => Ok(()),
    }
}

/// A column for each step: a task stands right of all that come before it. Without this the canvas of
/// DolphinScheduler shows all tasks in one place.
fn locations(workflow: &Workflow, code: impl Fn(u64) -> i64) -> Value {
    let mut column: HashMap<u64, usize> = workflow.tasks.iter().map(|task| (task.id, 0)).collect();
    // As often as the longest chain is long: the edges form no circle.
    for _ in 0..workflow.tasks.len() {
        let mut is_moved = false;
        for edge in &workflow.edges {
            let least = column.get(&edge.before).copied().unwrap_or_default() + 1;
            let here = column.entry(edge.after).or_default();
            (*here, is_moved) = ((*here).max(least), is_moved || *here < least);
        }
        if !is_moved {
            break;
        }
    }
    let mut rows: HashMap<usize, usize> = HashMap::new();
    let place = |task: &Task| {
        let column = column.get(&task.id).copied().unwrap_or_default();
        let row = rows.entry(column).or_default();
        *row += 1;
        json!({
            "taskCode": code(task.id),
            "x": MARGIN + column * COLUMN_WIDTH,
            "y": MARGIN + (*row - 1) * ROW_HEIGHT,
        })
    };
    workflow.tasks.iter().map(place).collect()
}

/// A definition that is there.
#[derive(Clone, Debug)]
pub struct Existing {
    pub code: i64,
    pub name: String,
    pub version: i64,
    pub is_online: bool,
    pub mark: Option<Mark>,
    /// Its global parameters.
    pub params: Vec<(String, String)>,
    /// Names of its tasks, with code and version.
    pub tasks: Vec<(String, i64, i64)>,
}

impl Existing {
    /// Reads the detail of a definition.
    pub fn read(detail: &Value, flavour: &Flavour) -> Option<Existing> {
        let definition = detail.get(flavour.definition)?;
        let tasks = detail["taskDefinitionList"].as_array().into_iter().flatten();
        let params = params(definition);
        let mark = params.iter().find(|(name, _)| name == MARK).and_then(|(_, value)| mark(value));
        Some(Existing {
            code: definition["code"].as_i64()?,
            name: definition["name"].as_str()?.to_owned(),
            version: definition["version"].as_i64().unwrap_or_default(),
            is_online: definition["releaseState"] == "ONLINE",
            mark,
            params,
            tasks: tasks
                .filter_map(|task| {
                    let name = task["name"].as_str()?.to_owned();
                    Some((name, task["code"].as_i64()?, task["version"].as_i64().unwrap_or_default()))
                })
                .collect(),
        })
    }

    pub fn versions(&self) -> HashMap<i64, i64> {
        self.tasks.iter().map(|(_, code, version)| (*code, *version)).collect()
    }

    pub fn is_of(&self, id: u64) -> bool {
        self.mark.as_ref().is_some_and(|mark| mark.id == id)
    }
}

fn mark(value: &str) -> Option<Mark> {
    let (id, revision) = value.split_once(' ')?;
    Some(Mark { id: id.parse().ok()?, revision: revision.to_owned() })
}

/// The global parameters of a definition, which are JSON within JSON.
pub fn params(definition: &Value) -> Vec<(String, String)> {
    let parsed = match &definition["globalParams"] {
        Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
        other => other.clone(),
    };
    let list = parsed.as_array().into_iter().flatten();
    let pair = |param: &Value| {
        let value = param["value"].as_str().unwrap_or_default();
        Some((param["prop"].as_str()?.to_owned(), value.to_owned()))
    };
    list.filter_map(pair).collect()
}

/// All that this workflow cannot have in DolphinScheduler.
pub fn problems(workflow: &Workflow, settings: &Settings, flavour: &'static Flavour) -> Vec<Problem> {
    /// A deployment's state has the code of each task.
    const TASKS_MAX: usize = 500;
    if workflow.tasks.len() > TASKS_MAX {
        let count = workflow.tasks.len();
        let message = format!("it has {count} tasks; this plugin deploys workflows of up to {TASKS_MAX}");
        return vec![Problem::new("tasks", "unsupported_by_engine", message)];
    }
    let mut problems: Vec<Problem> = Vec::new();
    let (mut globals, mut sources) = (Globals::default(), BTreeMap::new());
    for (index, task) in workflow.tasks.iter().enumerate() {
        task_problems(index, task, workflow, flavour, &mut globals, &mut problems);
        if let Some(source) = &task.datasource {
            sources.insert(
                source.name.clone(),
                Source { id: i64::from(u32::MAX), kind: "POSTGRESQL".to_owned() },
            );
        }
    }
    schedule_problems(workflow, settings, &mut problems);
    if flavour.tenant == Tenant::Definition && settings.tenant.is_none() {
        let message = "DolphinScheduler 3.1 has a tenant `default` only if it was made there; else set `tenant` in the engine's \
             configuration";
        problems.push(Problem::new("", "adjusted", message));
    }
    if workflow.description.chars().count() > DESCRIPTION_MAX_CHARS {
        let message = format!("DolphinScheduler gets the first {DESCRIPTION_MAX_CHARS} characters");
        problems.push(Problem::new("description", "adjusted", message));
    }
    if problems.iter().any(|problem| problem.code != "adjusted") {
        return problems;
    }
    // Codes have fourteen digits, and some more in later years.
    let codes = workflow.tasks.iter().map(|task| (task.id, 999_999_999_999_999)).collect();
    let parts = Parts { flavour, settings, codes: &codes, versions: &HashMap::new(), sources: &sources };
    let form = form(workflow, &parts).unwrap_or_default();
    let bytes = form_bytes(&form);
    let read_bytes = detail_bytes(&form);
    if bytes > FORM_MAX_BYTES {
        let message = format!(
            "its definition has {bytes} bytes as a form; DolphinScheduler takes {FORM_MAX_BYTES} at most"
        );
        problems.push(Problem::new("tasks", "unsupported_by_engine", message));
    } else if read_bytes > ANSWER_MAX_BYTES as usize {
        let message = format!(
            "its definition would have about {read_bytes} bytes when it is read from DolphinScheduler; Lakeport reads \
             {ANSWER_MAX_BYTES} at most"
        );
        problems.push(Problem::new("tasks", "unsupported_by_engine", message));
    }
    problems
}

fn task_problems(
    index: usize,
    task: &Task,
    workflow: &Workflow,
    flavour: &Flavour,
    globals: &mut Globals,
    problems: &mut Vec<Problem>,
) {
    let mut problem = |member: &str, code: &str, message: String| {
        let message = format!("the task `{}` {message}", task.name);
        problems.push(Problem::new(format!("tasks[{index}].{member}"), code, message));
    };
    for (member, seconds) in [("timeout", task.timeout_s), ("retryInterval", task.retry_interval_s)] {
        if seconds % 60 != 0 {
            let message = format!(
                "has {seconds} seconds; DolphinScheduler counts in minutes and gets {}",
                minutes(seconds)
            );
            problem(member, "adjusted", message);
        }
    }
    let is_known = [SQL, SHELL].contains(&task.kind.as_str());
    if !is_known {
        let message = format!("is of the type {}; this plugin deploys {SQL} and {SHELL}", task.kind);
        return problem("taskType", "unsupported_by_engine", message);
    }
    if task.text().trim().is_empty() {
        return problem("sqlContent", "missing", "has no text to run".to_owned());
    }
    let written = match (&task.datasource, task.kind.as_str()) {
        (None, SQL) => {
            return problem("datasourceId", "missing", "has no data source to run on".to_owned());
        }
        (Some(source), SQL) => {
            if !about::SOURCES.iter().any(|(kind, _)| *kind == source.kind) {
                let message =
                    format!("has a data source of the kind {}, which this plugin does not map", source.kind);
                return problem("datasourceId", "unsupported_by_engine", message);
            }
            let (dialect, params) = (dialect(&source.kind), known_params(task, workflow));
            body::sql(&task.body, dialect, &params, globals, flavour.cuts_sql).map(drop)
        }
        _ => body::script(&task.body, &known_params(task, workflow), globals).map(drop),
    };
    let written = written.and_then(|()| refuse_new_words(flavour, globals));
    if let Err(why) = written {
        problem("sqlContent", "unsupported_by_engine", why);
    }
}

/// A schedule has an end after its start. Its dates are of its own zone, and those of other runs of the server's.
fn schedule_problems(workflow: &Workflow, settings: &Settings, problems: &mut Vec<Problem>) {
    let Some(schedule) = &workflow.schedule else { return };
    if schedule.end.is_some_and(|end| end <= schedule.start) {
        let message = "its schedule ends as it starts; DolphinScheduler takes one that ends later";
        problems.push(Problem::new("schedule", "unsupported_by_engine", message));
    }
    if schedule.time_zone != settings.time_zone {
        let message = format!(
            "its schedule is in the zone {}, and the server in {}: runs that Lakeport starts have the server's \
             dates",
            schedule.time_zone, settings.time_zone
        );
        problems.push(Problem::new("schedule", "adjusted", message));
    }
}
