//! The forms of requests about executions.

use lakeport_base::error::{Detail, Error};
use lakeport_http::form::{Number, TimeText};
use lakeport_http::{PageNum, PageSize};
use schemars::JsonSchema;
use serde::Deserialize;

use super::runs::{Part, Reach};
use crate::workflows::forms::FailureStrategy;

/// The default page size.
pub const PAGE_SIZE_DEFAULT: i64 = 10;
/// The default number of failed executions.
pub const FAILED_DEFAULT: i64 = 50;
/// The most failed executions of an answer.
pub const FAILED_MAX: i64 = 500;

#[derive(Deserialize, JsonSchema)]
pub struct ExecutionPath {
    pub id: i64,
}

/// How a workflow is run; every member has a default.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecuteWorkflow {
    /// The task to begin at; absent: the whole workflow runs.
    pub start_task_id: Option<i64>,
    /// How far a run that begins at a task goes. Default: `from`.
    pub reach: Option<Reach>,
    /// Default: `CONTINUE`.
    pub failure_strategy: Option<FailureStrategy>,
}

impl ExecuteWorkflow {
    /// The part of the workflow that is to run; 400 for a reach without a task.
    pub fn part(&self) -> Result<Option<Part>, Error> {
        match (self.start_task_id, self.reach) {
            (Some(..=0), _) => Err(Error::invalid(vec![Detail::new(
                "startTaskId",
                "must be the id of a task of the workflow",
            )])),
            (Some(task_id), reach) => Ok(Some(Part { task_id, reach: reach.unwrap_or(Reach::From) })),
            (None, None) => Ok(None),
            (None, Some(_)) => {
                let why = "is missing; reach says how far the run goes that begins at a task";
                Err(Error::invalid(vec![Detail::new("startTaskId", why)]))
            }
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunPath {
    pub id: i64,
    /// The engine's id of the run.
    pub instance_id: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunsQuery {
    #[schemars(extend("default" = 1))]
    pub page_num: Option<PageNum>,
    #[schemars(extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<PageSize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryQuery {
    pub task_id: Option<i64>,
    #[schemars(extend("default" = 1))]
    pub page_num: Option<PageNum>,
    #[schemars(extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<PageSize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DetailQuery {
    /// The `nextOffset` of the previous part of the log; absent: from the beginning.
    pub log_offset: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatisticsQuery {
    pub task_id: Option<i64>,
    /// yyyy-MM-dd HH:mm:ss
    pub start_time: Option<TimeText>,
    /// yyyy-MM-dd HH:mm:ss
    pub end_time: Option<TimeText>,
}

#[derive(Deserialize, JsonSchema)]
pub struct FailedQuery {
    #[serde(default = "failed_default")]
    pub limit: Number<1, FAILED_MAX>,
}

fn failed_default() -> Number<1, FAILED_MAX> {
    Number(FAILED_DEFAULT)
}
