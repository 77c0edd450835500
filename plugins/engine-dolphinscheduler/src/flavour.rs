//! The generations of the API, and all that differs between them.
//!
//! | | 3.1 | 3.2 | 3.3 and later |
//! |---|---|---|---|
//! | paths, members | `process-…` | `process-…` | `workflow-…` |
//! | tenant | of the definition, required | of the start | of the start |
//! | answer to a start | null | a trigger code | ids of runs |
//! | `startParams` | any | every global parameter, or 3.2.1 loses the run | any |
//! | order of dates | no parameter | parameter | parameter |
//! | `$[month_first_day(…)]` and others | no | yes | yes |
//! | cuts the statement of a SQL task at semicolons | no | yes | yes |
//! | the times of a run without a date | of its start | of each task | of each task |
//! | a task at its timeout | fails | fails | is killed, and its run has the state `STOP` |
//!
//! Newer ones differ in what a list shows: 3.4.3 leaves the start parameters out, as 3.1 does. That is seen in
//! the answer, so it is no entry here.

use lakeport_sdk::engine::{Error, Started};
use lakeport_sdk::serde_json::Value;

/// A generation.
#[derive(Debug, PartialEq, Eq)]
pub struct Flavour {
    /// `3.1`, for the cache and for people.
    pub name: &'static str,
    /// Path segments below a project.
    pub definitions: &'static str,
    pub instances: &'static str,
    pub start: &'static str,
    /// Names of parameters and members.
    pub definition_code: &'static str,
    pub instance_id: &'static str,
    pub instance_priority: &'static str,
    /// The filter of the list of runs.
    pub listed_definition: &'static str,
    /// Members of a definition's detail.
    pub definition: &'static str,
    pub relations: &'static str,
    /// The path of the list of workers.
    pub workers: [&'static str; 2],
    /// Where the tenant is said.
    pub tenant: Tenant,
    /// Whether a start may say the order of dates and the depth of dependents.
    pub has_order: bool,
    /// Whether a start that says some parameters must say all of them (3.2.1 loses the run otherwise).
    pub needs_all_params: bool,
    /// Whether it knows `month_first_day` and other names of time expressions, see [`crate::moment::is_new`].
    pub has_new_times: bool,
    /// Whether it cuts the statement of a SQL task itself, see [`crate::body`].
    pub cuts_sql: bool,
    /// Whether a schedule may say what becomes of missed times.
    pub may_miss: bool,
    /// Whether each task of a run without a date works out the times of its parameters by itself, when it begins.
    pub fills_in_late: bool,
    /// Whether a task that came to its timeout ends as one that was stopped, see [`crate::timeouts`].
    pub stops_at_timeout: bool,
    /// Whether a start is handed to a master within the request, whose failure says nothing of the run.
    pub starts_at_master: bool,
}

/// Where the tenant is said.
#[derive(Debug, PartialEq, Eq)]
pub enum Tenant {
    Definition,
    Start,
}

static V31: Flavour = Flavour {
    name: "3.1",
    definitions: "process-definition",
    instances: "process-instances",
    start: "start-process-instance",
    definition_code: "processDefinitionCode",
    instance_id: "processInstanceId",
    instance_priority: "processInstancePriority",
    listed_definition: "processDefineCode",
    definition: "processDefinition",
    relations: "processTaskRelationList",
    workers: ["monitor", "workers"],
    tenant: Tenant::Definition,
    has_order: false,
    needs_all_params: false,
    has_new_times: false,
    cuts_sql: false,
    may_miss: false,
    fills_in_late: false,
    stops_at_timeout: false,
    starts_at_master: false,
};

static V32: Flavour = Flavour {
    name: "3.2",
    tenant: Tenant::Start,
    has_order: true,
    needs_all_params: true,
    has_new_times: true,
    cuts_sql: true,
    may_miss: false,
    fills_in_late: true,
    stops_at_timeout: false,
    starts_at_master: false,
    definitions: V31.definitions,
    instances: V31.instances,
    start: V31.start,
    definition_code: V31.definition_code,
    instance_id: V31.instance_id,
    instance_priority: V31.instance_priority,
    listed_definition: V31.listed_definition,
    definition: V31.definition,
    relations: V31.relations,
    workers: V31.workers,
};

static V33: Flavour = Flavour {
    name: "3.3",
    definitions: "workflow-definition",
    instances: "workflow-instances",
    start: "start-workflow-instance",
    definition_code: "workflowDefinitionCode",
    instance_id: "workflowInstanceId",
    instance_priority: "workflowInstancePriority",
    listed_definition: "workflowDefinitionCode",
    definition: "workflowDefinition",
    relations: "workflowTaskRelationList",
    workers: ["monitor", "WORKER"],
    tenant: Tenant::Start,
    has_order: true,
    needs_all_params: false,
    has_new_times: true,
    cuts_sql: true,
    may_miss: true,
    fills_in_late: true,
    stops_at_timeout: true,
    starts_at_master: true,
};

/// Begins the trigger of a start that the engine answered with nothing: the key stands in its place.
const KEY_TRIGGER: &str = "key-";

/// The generation of a pinned version, or of a name in the cache. What is newer than 3.3 keeps its names.
pub fn of_version(version: &str) -> Result<&'static Flavour, Error> {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(3), Some(1)) => Ok(&V31),
        (Some(3), Some(2)) => Ok(&V32),
        (Some(3), Some(minor)) if minor >= 3 => Ok(&V33),
        _ => Err(Error::unsupported(format!(
            "this plugin works with DolphinScheduler 3.1 and later 3.x; the setting `version` is {version:?}"
        ))),
    }
}

/// The generation that has the new paths.
pub fn newest() -> &'static Flavour {
    &V33
}

/// A generation with the old paths, by a page of one of its lists: 3.1 shows the first row's number as
/// `start`, 3.2 as `pageNo`.
pub fn of_page(page: &Value) -> &'static Flavour {
    if page.get("start").is_some() && page.get("pageNo").is_none() { &V31 } else { &V32 }
}

/// What the answer to a start says of the run. 3.1 says nothing, so that it is found by its key.
pub fn started(data: &Value, key: &str) -> Started {
    let first = data.as_array().and_then(|ids| ids.first()).and_then(Value::as_i64);
    match (first, data.as_i64()) {
        (Some(id), _) => Started::run(id.to_string(), false),
        (None, Some(code)) => Started { instance: None, trigger: Some(code.to_string()), found: false },
        (None, None) => Started { instance: None, trigger: Some(key_trigger(key)), found: false },
    }
}

pub fn key_trigger(key: &str) -> String {
    format!("{KEY_TRIGGER}{key}")
}

/// The engine's own trigger code.
pub fn trigger_code(trigger: &str) -> Option<i64> {
    trigger.parse().ok()
}
