//! What requests about workflows say.

use lakeport_http::form::{Amend, Patch, Text};
use lakeport_http::{PageNum, PageSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Records of a page where the request does not say.
pub const PAGE_SIZE_DEFAULT: i64 = 20;
/// Of a workflow's name.
pub const NAME_MAX_CHARS: usize = 100;
/// Of a workflow's description.
pub const DESCRIPTION_MAX_CHARS: usize = 10_000;

#[derive(Deserialize, JsonSchema)]
pub struct WorkflowPath {
    pub id: i64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionPath {
    pub id: i64,
    /// The version's number.
    pub version_id: i64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublicationPath {
    pub id: i64,
    pub record_id: i64,
}

#[derive(Deserialize, JsonSchema)]
pub struct BackfillPath {
    /// The engine's code of the first run, as the backfill answered it.
    pub code: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkflowStatus {
    /// Never deployed.
    Draft,
    /// Deployed, its timer is off.
    Offline,
    /// Deployed, its timer is on.
    Online,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListQuery {
    #[schemars(extend("default" = 1))]
    pub page_num: Option<PageNum>,
    #[schemars(extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<PageSize>,
    /// Part of the name, case ignored.
    pub keyword: Option<String>,
    pub status: Option<WorkflowStatus>,
}

/// A value that the text of tasks names as `${name}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GlobalParam {
    pub name: String,
    pub value: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateWorkflow {
    /// No two live workflows share one.
    pub name: Text<1, NAME_MAX_CHARS>,
    pub description: Option<Text<0, DESCRIPTION_MAX_CHARS>>,
    /// The name of an engine configuration; absent: `local`.
    pub scheduler_engine: Option<String>,
    pub global_params: Option<Vec<GlobalParam>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateWorkflow {
    #[serde(default)]
    pub name: Amend<Text<1, NAME_MAX_CHARS>>,
    #[serde(default)]
    pub description: Patch<Text<0, DESCRIPTION_MAX_CHARS>>,
    #[serde(default)]
    pub scheduler_engine: Amend<String>,
    #[serde(default)]
    pub global_params: Patch<Vec<GlobalParam>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteQuery {
    /// Its tasks are deleted too; otherwise they stay, unbound.
    #[serde(default)]
    pub cascade_delete_tasks: bool,
}

/// Two version numbers of one workflow.
#[derive(Deserialize, JsonSchema)]
pub struct CompareVersions {
    pub v1: i64,
    pub v2: i64,
}

#[derive(Deserialize, JsonSchema)]
pub struct ExportQuery {
    /// The answer is the file itself.
    #[serde(default)]
    pub download: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportableQuery {
    #[schemars(extend("default" = 1))]
    pub page_num: Option<PageNum>,
    #[schemars(extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<PageSize>,
    /// The name of an engine configuration; absent: `local`.
    pub scheduler_engine: Option<String>,
    pub project_code: Option<i64>,
    /// Part of the name, case ignored.
    pub keyword: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImportSource {
    /// A workflow that the engine has: `schedulerEngine`, `projectCode` and `workflowCode` say which.
    Scheduler,
    /// The `definition` that is sent along.
    Json,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportWorkflow {
    pub source: ImportSource,
    /// Where it comes from, and what it will run on; absent: `local`.
    pub scheduler_engine: Option<String>,
    pub project_code: Option<i64>,
    pub workflow_code: Option<String>,
    /// What `export-json` gave as `content`, or what an engine exported: JSON, or its text.
    #[schemars(extend("type" = ["object", "array", "string", "null"], "items" = {}))]
    pub definition: Option<Value>,
    /// Absent: the name that it has.
    #[schemars(length(min = 1, max = 100))]
    pub name: Option<String>,
    /// What the preview answered: the commit is refused when the source changed since.
    pub preview_token: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct PublishWorkflow {
    pub comment: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(rename = "PublicationDecision")]
pub enum Decision {
    Approved,
    Rejected,
}

#[derive(Deserialize, JsonSchema)]
pub struct DecidePublication {
    pub status: Decision,
    pub comment: Option<String>,
}

/// What becomes of a run, or of a backfill's further dates, when something in it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum FailureStrategy {
    /// What does not depend on the failure goes on.
    Continue,
    /// Nothing more is begun.
    End,
}

/// Which ends of a run are told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum WarningType {
    None,
    Success,
    Failure,
    All,
}

/// A schedule; the first time, `crontab` must be given.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetSchedule {
    /// Quartz, seven fields with seconds and year; one of day-of-month and day-of-week is `?`.
    #[serde(default)]
    pub crontab: Amend<String>,
    /// yyyy-MM-dd HH:mm:ss; null: at once.
    #[serde(default)]
    pub start_time: Patch<String>,
    /// yyyy-MM-dd HH:mm:ss, not before `startTime`; null: without end.
    #[serde(default)]
    pub end_time: Patch<String>,
    /// The name of a time zone, such as `Asia/Shanghai`; null: the server's.
    #[serde(default)]
    pub timezone: Patch<String>,
    /// At first `CONTINUE`.
    #[serde(default)]
    pub failure_strategy: Amend<FailureStrategy>,
    /// At first `NONE`.
    #[serde(default)]
    pub warning_type: Amend<WarningType>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BackfillMode {
    /// From `startTime` to `endTime`.
    Range,
    /// `scheduleDateList`
    List,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RunMode {
    #[serde(rename = "RUN_MODE_SERIAL")]
    Serial,
    #[serde(rename = "RUN_MODE_PARALLEL")]
    Parallel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DependentMode {
    /// This workflow alone.
    #[serde(rename = "OFF_MODE")]
    Off,
    /// The workflows that read its outputs, too.
    #[serde(rename = "ALL_DEPENDENT")]
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ExecutionOrder {
    /// The latest date first.
    #[serde(rename = "DESC_ORDER")]
    Descending,
    #[serde(rename = "ASC_ORDER")]
    Ascending,
}

/// Which periods of the schedule to run again, and how.
// Its words are read as texts, and nothing is required: what is refused first is a rule of its own.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Backfill")]
pub struct BackfillBody {
    /// Absent: `range`.
    #[schemars(with = "Option<BackfillMode>")]
    pub mode: Option<String>,
    /// yyyy-MM-dd HH:mm:ss; both ends of a range are included.
    pub start_time: Option<String>,
    /// yyyy-MM-dd HH:mm:ss, not after today.
    pub end_time: Option<String>,
    /// Times yyyy-MM-dd HH:mm:ss between commas, none of them after today.
    pub schedule_date_list: Option<String>,
    /// Absent: `RUN_MODE_SERIAL`.
    #[schemars(with = "Option<RunMode>")]
    pub run_mode: Option<String>,
    /// Needed for `RUN_MODE_PARALLEL`, ignored otherwise.
    #[schemars(range(min = 1))]
    pub expected_parallelism_number: Option<i64>,
    /// Absent: `OFF_MODE`.
    #[schemars(with = "Option<DependentMode>")]
    pub complement_dependent_mode: Option<String>,
    /// With `ALL_DEPENDENT`: those that depend on the dependent ones, too.
    pub all_level_dependent: Option<bool>,
    /// Absent: `DESC_ORDER`.
    #[schemars(with = "Option<ExecutionOrder>")]
    pub execution_order: Option<String>,
    /// Absent: `CONTINUE`.
    #[schemars(with = "Option<FailureStrategy>")]
    pub failure_strategy: Option<String>,
    /// What the preview answered: the backfill is refused when anything changed since.
    pub preview_token: Option<String>,
}
