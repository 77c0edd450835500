//! The forms of requests about backfills.

use lakeport_http::form::Number;
use schemars::JsonSchema;
use serde::Deserialize;

use super::request::DATES_MAX;
use crate::workflows::forms::FailureStrategy;

#[derive(Deserialize, JsonSchema)]
pub struct BackfillPath {
    /// The engine's code of the first run, as returned by the start of the backfill, or the backfill's key.
    pub code: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct BackfillQuery {
    /// So many dates are left out; an answer has at most 1,000.
    pub offset: Option<Number<0, { DATES_MAX as i64 }>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BackfillMode {
    /// From `startTime` to `endTime`.
    Range,
    /// `scheduleDateList`
    List,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum RunMode {
    #[serde(rename = "RUN_MODE_SERIAL")]
    Serial,
    #[serde(rename = "RUN_MODE_PARALLEL")]
    Parallel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum DependentMode {
    /// Only this workflow.
    #[serde(rename = "OFF_MODE")]
    Off,
    /// Also the workflows that read its outputs.
    #[serde(rename = "ALL_DEPENDENT")]
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum ExecutionOrder {
    /// The latest date first.
    #[serde(rename = "DESC_ORDER")]
    Descending,
    #[serde(rename = "ASC_ORDER")]
    Ascending,
}

/// The schedule periods to rerun, and the options of the rerun.
// Its words are read as texts, and nothing is required, because the order of its checks follows rules of its
// own.
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
    /// Times yyyy-MM-dd HH:mm:ss separated by commas, none of them after today.
    pub schedule_date_list: Option<String>,
    /// Absent: `RUN_MODE_SERIAL`.
    #[schemars(with = "Option<RunMode>")]
    pub run_mode: Option<String>,
    /// Greater than 0 for `RUN_MODE_PARALLEL`; ignored otherwise. More than 100 means 100.
    pub expected_parallelism_number: Option<i64>,
    /// Absent: `OFF_MODE`.
    #[schemars(with = "Option<DependentMode>")]
    pub complement_dependent_mode: Option<String>,
    /// With `ALL_DEPENDENT`: includes indirect dependents.
    pub all_level_dependent: Option<bool>,
    /// Absent: `DESC_ORDER`.
    #[schemars(with = "Option<ExecutionOrder>")]
    pub execution_order: Option<String>,
    /// Absent: `CONTINUE`.
    #[schemars(with = "Option<FailureStrategy>")]
    pub failure_strategy: Option<String>,
    /// The token from the preview: the backfill is refused if anything changed since.
    pub preview_token: Option<String>,
}
