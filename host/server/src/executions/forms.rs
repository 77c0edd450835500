//! The forms of requests about executions.

use schemars::JsonSchema;
use serde::Deserialize;

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

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryQuery {
    pub task_id: Option<i64>,
    #[schemars(range(min = 1), extend("default" = 1))]
    pub page_num: Option<i64>,
    #[schemars(range(min = 1, max = 500), extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<i64>,
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
    pub start_time: Option<String>,
    /// yyyy-MM-dd HH:mm:ss
    pub end_time: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct FailedQuery {
    #[serde(default = "failed_default")]
    #[schemars(range(min = 1, max = FAILED_MAX))]
    pub limit: i64,
}

fn failed_default() -> i64 {
    FAILED_DEFAULT
}
