//! Runs in answers.

use chrono_tz::Tz;
use lakeport_base::time;
use schemars::JsonSchema;
use serde::Serialize;

use super::{MANUAL, Run};
use crate::execution_records::{ExecutionView, Status, duration_s};
use crate::workflows::EdgeView;

/// A run of a workflow.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Run")]
pub struct RunView {
    workflow_id: i64,
    /// When it began.
    workflow_name: String,
    scheduler_engine: String,
    /// The engine's id of the run; null: the engine has not confirmed it yet.
    instance_id: Option<String>,
    status: Status,
    /// `manual`, `schedule` or `backfill`.
    trigger_type: String,
    /// The business time; null: started manually.
    schedule_time: Option<String>,
    /// The version that was deployed when it began; null: unknown.
    workflow_version: Option<i64>,
    start_time: Option<String>,
    end_time: Option<String>,
    duration_seconds: Option<f64>,
    /// Null, too, if `withheld`.
    error_message: Option<String>,
    /// The caller may not use a data source that the workflow has used: the error text is left out.
    withheld: bool,
    /// When it was asked for, or first seen.
    created_at: String,
}

/// A run with its tasks.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunDetail")]
pub struct RunDetail {
    #[serde(flatten)]
    pub run: RunView,
    /// When the engine was last asked how the workflow's runs do, give or take five seconds. Null: never.
    pub seen_at: Option<String>,
    /// Those of the version that it runs, and others that it ran.
    pub tasks: Vec<RunTaskView>,
    /// The order of its tasks.
    pub edges: Vec<EdgeView>,
}

/// A task in a run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunTask")]
pub struct RunTaskView {
    /// Null: the engine does not report the task.
    pub task_id: Option<i64>,
    pub task_name: String,
    pub state: TaskState,
    /// Null: it was not begun.
    pub execution: Option<ExecutionView>,
}

/// What a run has made of a task: the status of its execution, or that it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RunTaskState")]
pub enum TaskState {
    /// Not begun yet.
    Waiting,
    Pending,
    Running,
    Success,
    Failed,
    Killed,
    Paused,
    /// The run ended without it: it was left out, done before by the run that this one repeats, or came after a failure.
    NotRun,
}

impl From<Status> for TaskState {
    fn from(status: Status) -> TaskState {
        match status {
            Status::Pending => TaskState::Pending,
            Status::Running => TaskState::Running,
            Status::Success => TaskState::Success,
            Status::Failed => TaskState::Failed,
            Status::Killed => TaskState::Killed,
            Status::Paused => TaskState::Paused,
        }
    }
}

impl RunView {
    pub fn new(run: &Run, zone: Tz) -> RunView {
        let shown = |at_ms: i64| time::shown(at_ms, zone);
        RunView {
            workflow_id: run.workflow_id,
            workflow_name: run.workflow_name.clone(),
            scheduler_engine: run.engine.clone(),
            instance_id: run.instance_id.clone(),
            status: status(&run.state),
            trigger_type: run.cause.clone(),
            schedule_time: run.business_time_ms.filter(|_| run.cause != MANUAL).map(shown),
            workflow_version: run.workflow_version,
            start_time: run.started_at_ms.map(shown),
            end_time: run.ended_at_ms.map(shown),
            duration_seconds: duration_s(run.started_at_ms, run.ended_at_ms),
            error_message: run.message.clone(),
            withheld: false,
            created_at: shown(run.asked_at_ms),
        }
    }

    /// Leaves out what shows data.
    pub fn withhold(&mut self) {
        self.error_message = None;
        self.withheld = true;
    }
}

/// Of an execution, from the engine's state of the run.
fn status(state: &str) -> Status {
    match state {
        "asked" | "queued" => Status::Pending,
        "paused" => Status::Paused,
        "success" => Status::Success,
        "failed" => Status::Failed,
        "stopped" => Status::Killed,
        _ => Status::Running,
    }
}
