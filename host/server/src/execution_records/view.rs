//! Executions in answers.

use chrono_tz::Tz;
use lakeport_base::Error;
use lakeport_base::time::{self, SECOND_MS};
use lakeport_store::ByName;
use schemars::JsonSchema;
use serde::Serialize;

use super::store::{self, Execution, Status};

/// The execution of a task in a run; its attempts form one record.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Execution")]
pub struct ExecutionView {
    pub id: i64,
    pub workflow_id: i64,
    pub workflow_name: String,
    /// Null: the engine does not report the task.
    pub task_id: Option<i64>,
    pub task_name: String,
    /// The engine's id of the run.
    pub instance_id: String,
    pub status: Status,
    /// `manual`, `schedule` or `backfill`.
    pub trigger_type: String,
    /// The business time; null: started manually.
    pub schedule_time: Option<String>,
    /// The number of the latest attempt; times and message are of that attempt.
    pub attempt: i64,
    pub start_time: Option<String>,
    pub end_time: Option<String>,
    pub duration_seconds: Option<f64>,
    /// Null, too, if `withheld`.
    pub error_message: Option<String>,
    /// The caller may not use a data source that the task has used: its error text and its log are left out.
    pub withheld: bool,
    pub rows_affected: Option<i64>,
    pub created_at: String,
    pub updated_at: String,
}

impl ExecutionView {
    /// Reads the columns of `join_latest!`, which are the next in the row; `None`: there is no execution.
    pub fn read(row: &mut ByName<'_>, zone: Tz) -> Result<Option<ExecutionView>, Error> {
        let shown = |at_ms: i64| time::shown(at_ms, zone);
        let Some(id) = row.get("id")? else { return Ok(None) };
        let (workflow_id, workflow_name) = (row.get("workflow_id")?, row.get("workflow_name")?);
        let (task_id, task_name) = (row.get("task_id")?, row.get("task_name")?);
        let instance_id = row.get("instance_id")?;
        let status = store::status(row)?;
        let trigger_type = row.get("trigger_type")?;
        let schedule_time = row.get::<Option<i64>>("schedule_time")?.map(shown);
        let attempt = row.get("attempt")?;
        let (start_ms, end_ms): (Option<i64>, Option<i64>) = (row.get("start_time")?, row.get("end_time")?);
        Ok(Some(ExecutionView {
            id,
            workflow_id,
            workflow_name,
            task_id,
            task_name,
            instance_id,
            status,
            trigger_type,
            schedule_time,
            attempt,
            start_time: start_ms.map(shown),
            end_time: end_ms.map(shown),
            duration_seconds: duration_s(start_ms, end_ms),
            error_message: row.get("error_message")?,
            withheld: false,
            rows_affected: row.get("rows_affected")?,
            created_at: shown(row.get("created_at")?),
            updated_at: shown(row.get("updated_at")?),
        }))
    }

    /// Leaves out what shows data.
    pub fn withhold(&mut self) {
        self.error_message = None;
        self.withheld = true;
    }

    pub fn new(execution: &Execution, zone: Tz) -> ExecutionView {
        let shown = |at_ms: i64| time::shown(at_ms, zone);
        let record = &execution.record;
        ExecutionView {
            id: execution.id,
            workflow_id: execution.workflow_id,
            workflow_name: execution.workflow_name.clone(),
            task_id: record.task_id,
            task_name: record.task_name.clone(),
            instance_id: execution.instance_id.clone(),
            status: record.status,
            trigger_type: execution.trigger_type.clone(),
            schedule_time: execution.schedule_time_ms.map(shown),
            attempt: record.attempt,
            start_time: record.start_time_ms.map(shown),
            end_time: record.end_time_ms.map(shown),
            duration_seconds: record.duration_ms().map(seconds),
            error_message: record.error_message.clone(),
            withheld: false,
            rows_affected: record.rows_affected,
            created_at: shown(execution.created_at_ms),
            updated_at: shown(execution.updated_at_ms),
        }
    }
}

fn seconds(ms: i64) -> f64 {
    ms as f64 / SECOND_MS as f64
}

/// How long something took, in seconds.
pub fn duration_s(start_ms: Option<i64>, end_ms: Option<i64>) -> Option<f64> {
    store::duration_ms(start_ms, end_ms).map(seconds)
}

/// An execution with a part of its log.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionDetail {
    #[serde(flatten)]
    pub execution: ExecutionView,
    /// Null if `withheld`.
    pub log: Option<LogView>,
}

/// A part of a log.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExecutionLog")]
pub struct LogView {
    /// Complete lines of all attempts, in order; if there are several attempts, a header line precedes each.
    pub text: String,
    /// The `logOffset` of the next part.
    pub next_offset: String,
    /// The log is complete.
    pub complete: bool,
    /// The error that stopped the reading of the log; null: none.
    pub error: Option<String>,
}
