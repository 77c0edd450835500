//! The forms of requests about tasks.

use lakeport_http::form::{Amend, Patch, Text};
use lakeport_http::{PageNum, PageSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::definition::{
    RETRIES_MAX, RETRY_INTERVAL_MAX_S, TABLES_MAX, TEXT_MAX_BYTES, TIMEOUT_MAX_S, TYPE_MAX_CHARS,
};

/// The default page size.
pub const PAGE_SIZE_DEFAULT: i64 = 20;
/// Of a task's name.
pub const NAME_MAX_CHARS: usize = 100;

#[derive(Deserialize, JsonSchema)]
pub struct TaskPath {
    pub id: i64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListQuery {
    #[schemars(extend("default" = 1))]
    pub page_num: Option<PageNum>,
    #[schemars(extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<PageSize>,
    /// Part of the name, ignoring case.
    pub task_name: Option<String>,
    pub task_type: Option<String>,
    pub workflow_id: Option<i64>,
    /// Only direct successors of this task.
    pub upstream_task_id: Option<i64>,
    /// Only direct predecessors of this task.
    pub downstream_task_id: Option<i64>,
    /// Only tasks that read or write this table.
    pub table_id: Option<i64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(rename = "TaskPriority")]
pub enum Priority {
    Highest,
    High,
    #[default]
    Medium,
    Low,
    Lowest,
}

/// A task and its tables. If neither list is given, both are derived from its SQL. An empty list counts as
/// given.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateTask {
    pub task: NewTask,
    #[schemars(length(max = TABLES_MAX))]
    pub input_table_ids: Option<Vec<i64>>,
    #[schemars(length(max = TABLES_MAX))]
    pub output_table_ids: Option<Vec<i64>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewTask {
    pub workflow_id: i64,
    /// Unique within the workflow.
    pub task_name: Text<1, NAME_MAX_CHARS>,
    /// `SQL`, or another type of the engine's plugin, such as `SHELL`.
    #[schemars(length(min = 1, max = TYPE_MAX_CHARS))]
    pub task_type: String,
    /// Required for `SQL`.
    pub datasource_id: Option<i64>,
    /// The task's text, of any type; required for `SQL` and `SHELL`. 1 MiB at most.
    #[schemars(length(max = TEXT_MAX_BYTES))]
    pub sql_content: Option<String>,
    #[schemars(extend("default" = Priority::default()))]
    pub priority: Option<Priority>,
    /// Seconds; 0: none.
    #[schemars(range(max = TIMEOUT_MAX_S), extend("default" = 0))]
    pub timeout: Option<u32>,
    #[schemars(range(max = RETRIES_MAX), extend("default" = 0))]
    pub retry_times: Option<u32>,
    /// Seconds.
    #[schemars(range(max = RETRY_INTERVAL_MAX_S), extend("default" = 0))]
    pub retry_interval: Option<u32>,
}

/// Changes the given members. A null list counts as not given; if neither list remains given, both are
/// derived from the SQL again.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateTask {
    #[serde(default)]
    pub task: Amend<TaskChange>,
    #[serde(default)]
    #[schemars(length(max = TABLES_MAX))]
    pub input_table_ids: Patch<Vec<i64>>,
    #[serde(default)]
    #[schemars(length(max = TABLES_MAX))]
    pub output_table_ids: Patch<Vec<i64>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskChange {
    #[serde(default)]
    pub workflow_id: Amend<i64>,
    #[serde(default)]
    pub task_name: Amend<Text<1, NAME_MAX_CHARS>>,
    #[serde(default)]
    #[schemars(length(min = 1, max = TYPE_MAX_CHARS))]
    pub task_type: Amend<String>,
    #[serde(default)]
    pub datasource_id: Patch<i64>,
    #[serde(default)]
    #[schemars(length(max = TEXT_MAX_BYTES))]
    pub sql_content: Patch<String>,
    #[serde(default)]
    pub priority: Amend<Priority>,
    /// Seconds; 0: none.
    #[serde(default)]
    #[schemars(range(max = TIMEOUT_MAX_S))]
    pub timeout: Amend<u32>,
    #[serde(default)]
    #[schemars(range(max = RETRIES_MAX))]
    pub retry_times: Amend<u32>,
    /// Seconds.
    #[serde(default)]
    #[schemars(range(max = RETRY_INTERVAL_MAX_S))]
    pub retry_interval: Amend<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParseSql {
    pub sql_content: String,
    /// The data source whose dialect is used and whose tables are searched.
    pub datasource_id: Option<i64>,
    /// Overrides the data source's dialect; an unknown dialect is parsed as `ansi`, with a warning.
    pub dialect: Option<String>,
}
