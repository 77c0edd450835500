//! The forms of requests about workflows.

use lakeport_http::form::{Amend, Patch, Text};
use lakeport_http::{PageNum, PageSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::PublicationState;
use super::definition::{PARAM_NAME_MAX_CHARS, PARAM_VALUE_MAX_CHARS, PARAMS_MAX};
use crate::cron::MAX_CHARS as CRON_MAX_CHARS;

/// The default page size.
pub const PAGE_SIZE_DEFAULT: i64 = 20;
/// Of a workflow's name.
pub const NAME_MAX_CHARS: usize = 100;
/// Of a publication's comment.
pub const COMMENT_MAX_CHARS: usize = 2_000;
/// Workflows of one request.
pub const BATCH_MAX: usize = 200;
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
pub struct PreviewQuery {
    /// The version that would be published; absent: the current one.
    pub version: Option<i64>,
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

/// The deployed version compared with the definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PublishStatus {
    Never,
    /// Waits for approval, or is being deployed.
    Pending,
    Published,
    /// Its deployment failed; the previous deployment keeps running.
    Failed,
    /// The definition changed since the deployed version; changes of the schedule do not count.
    Outdated,
}

impl PublishStatus {
    pub fn of(publication: PublicationState, published: Option<i64>, changed_version: i64) -> PublishStatus {
        match (publication, published) {
            (PublicationState::Pending, _) => PublishStatus::Pending,
            (PublicationState::Failed, _) => PublishStatus::Failed,
            (PublicationState::None, None) => PublishStatus::Never,
            (PublicationState::None, Some(published)) if changed_version > published => {
                PublishStatus::Outdated
            }
            (PublicationState::None, Some(_)) => PublishStatus::Published,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListQuery {
    #[schemars(extend("default" = 1))]
    pub page_num: Option<PageNum>,
    #[schemars(extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<PageSize>,
    /// Part of the name, ignoring case.
    pub keyword: Option<String>,
    pub status: Option<WorkflowStatus>,
    /// `pending`: a publication waits for a decision or is being deployed.
    pub publish_status: Option<PublishStatus>,
}

/// A value for `${name}` in tasks' texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GlobalParam {
    #[schemars(length(min = 1, max = PARAM_NAME_MAX_CHARS))]
    pub name: String,
    #[schemars(length(max = PARAM_VALUE_MAX_CHARS))]
    pub value: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateWorkflow {
    /// Unique among live workflows.
    pub name: Text<1, NAME_MAX_CHARS>,
    pub description: Option<Text<0, DESCRIPTION_MAX_CHARS>>,
    /// The name of an engine configuration; absent: `local`.
    pub scheduler_engine: Option<String>,
    #[schemars(length(max = PARAMS_MAX))]
    pub global_params: Option<Vec<GlobalParam>>,
    /// Absent: `parallel`.
    pub concurrency: Option<Concurrency>,
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
    #[schemars(length(max = PARAMS_MAX))]
    pub global_params: Patch<Vec<GlobalParam>>,
    #[serde(default)]
    pub concurrency: Amend<Concurrency>,
}

#[derive(Deserialize, JsonSchema)]
pub struct CopyWorkflow {
    /// Absent: the old name and `copy`, with a number where that is taken.
    pub name: Option<Text<1, NAME_MAX_CHARS>>,
}

/// Several workflows, each once.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SeveralWorkflows {
    #[schemars(length(min = 1, max = BATCH_MAX))]
    pub workflow_ids: Vec<i64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishSeveral {
    #[schemars(length(min = 1, max = BATCH_MAX))]
    pub workflow_ids: Vec<i64>,
    /// Of each publication.
    pub comment: Option<Text<0, COMMENT_MAX_CHARS>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteQuery {
    /// Also deletes its tasks; otherwise they remain without a workflow.
    #[serde(default)]
    pub cascade_delete_tasks: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionsQuery {
    #[schemars(extend("default" = 1))]
    pub page_num: Option<PageNum>,
    #[schemars(extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<PageSize>,
}

/// Two version numbers of one workflow.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
pub struct CompareVersions {
    pub v1: i64,
    pub v2: i64,
}

#[derive(Deserialize, JsonSchema)]
pub struct ExportQuery {
    /// Returns the export as a file.
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
    /// Part of the name, ignoring case.
    pub keyword: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImportSource {
    /// A workflow of the engine: `schedulerEngine`, `projectCode` and `workflowCode` identify it.
    Scheduler,
    /// The `definition` in the request.
    Json,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportWorkflow {
    pub source: ImportSource,
    /// The engine of the new workflow and, for `scheduler`, of the source; absent: `local`.
    pub scheduler_engine: Option<String>,
    pub project_code: Option<i64>,
    pub workflow_code: Option<String>,
    /// `content` of `export-json`, or an engine's export: JSON, or its text.
    #[schemars(with = "Option<Value>", extend("type" = ["object", "array", "string", "null"], "items" = {}))]
    pub definition: Option<Box<RawValue>>,
    /// The name of the new workflow; absent: the name in the source.
    pub name: Option<Text<1, NAME_MAX_CHARS>>,
    /// The workflow that gets the definition as its next version, in which tasks of the same name keep their ids; absent:
    /// a new one.
    pub workflow_id: Option<i64>,
    /// The token from the preview: the import is refused if the source changed since.
    pub preview_token: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct PublishWorkflow {
    #[schemars(length(max = COMMENT_MAX_CHARS))]
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
    #[schemars(length(max = COMMENT_MAX_CHARS))]
    pub comment: Option<String>,
}

/// The behaviour of a run, or of a backfill's remaining dates, after a failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum FailureStrategy {
    /// Independent parts continue.
    #[default]
    Continue,
    /// Nothing more is started.
    End,
}

/// What a run does while another one of the workflow is active.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Concurrency {
    /// It runs, too.
    #[default]
    Parallel,
    /// It waits for the end of earlier ones.
    Wait,
    /// It is not run.
    Discard,
}

/// The results that cause a notification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum WarningType {
    #[default]
    None,
    Success,
    Failure,
    All,
}

/// A schedule; `crontab` is required if the workflow has none yet.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetSchedule {
    /// Quartz cron with seven fields, including seconds and year; either day-of-month or day-of-week is `?`.
    #[serde(default)]
    #[schemars(length(max = CRON_MAX_CHARS))]
    pub crontab: Amend<String>,
    /// yyyy-MM-dd HH:mm:ss; null: at once.
    #[serde(default)]
    pub start_time: Patch<String>,
    /// yyyy-MM-dd HH:mm:ss, not before `startTime`; null: no end.
    #[serde(default)]
    pub end_time: Patch<String>,
    /// The name of a time zone, such as `Asia/Shanghai`; null: the server's.
    #[serde(default)]
    pub timezone: Patch<String>,
    /// Default: `CONTINUE`.
    #[serde(default)]
    pub failure_strategy: Amend<FailureStrategy>,
    /// Default: `NONE`.
    #[serde(default)]
    pub warning_type: Amend<WarningType>,
}
