//! The forms of requests about executions.

use lakeport_http::form::{Number, TimeText};
use lakeport_http::{PageNum, PageSize};
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
