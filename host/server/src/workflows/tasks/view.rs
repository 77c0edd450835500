//! Tasks in answers, and the definition behind their `ETag`.

use chrono_tz::Tz;
use lakeport_base::time;
use lakeport_http::etag_of;
use schemars::JsonSchema;
use serde::Serialize;

use super::Task;
use super::definition::{Content, Unresolved};
use super::dependencies::Bound;
use super::forms::Priority;
use super::saving::Warning;
use crate::datasources::Rights;
use crate::execution_records::ExecutionView;
use crate::tables::TableView;

/// A node of a workflow.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Task")]
pub struct TaskView {
    id: i64,
    /// Null: its workflow was deleted.
    workflow_id: Option<i64>,
    workflow_name: Option<String>,
    task_name: String,
    task_type: String,
    datasource_id: Option<i64>,
    /// The task's text, of any type. Null, too, if `withheld`.
    sql_content: Option<String>,
    /// The caller may not use the task's data source: its text is left out.
    withheld: bool,
    priority: Priority,
    /// Seconds; 0: none.
    timeout: u32,
    retry_times: u32,
    /// Seconds.
    retry_interval: u32,
    input_table_ids: Vec<i64>,
    output_table_ids: Vec<i64>,
    /// Names of an import that the catalogue does not have; null: none.
    unresolved: Option<Unresolved>,
    created_at: String,
    updated_at: String,
}

impl TaskView {
    pub fn new(task: Task, workflow_name: Option<&str>, rights: &Rights<'_>, zone: Tz) -> TaskView {
        let content = task.content;
        let is_open = rights.may_use(content.rights_id());
        TaskView {
            id: task.id,
            workflow_id: task.workflow_id,
            workflow_name: workflow_name.map(str::to_owned),
            task_name: content.task_name,
            task_type: content.task_type,
            datasource_id: content.datasource_id,
            sql_content: content.sql_content.filter(|_| is_open),
            withheld: !is_open,
            priority: content.priority,
            timeout: content.timeout,
            retry_times: content.retry_times,
            retry_interval: content.retry_interval,
            input_table_ids: content.input_table_ids,
            output_table_ids: content.output_table_ids,
            unresolved: Some(content.unresolved).filter(|unresolved| !unresolved.is_empty()),
            created_at: time::shown(task.created_at_ms, zone),
            updated_at: time::shown(task.updated_at_ms, zone),
        }
    }
}

/// A task that was saved, with why it could not be published as it is.
#[derive(Serialize, JsonSchema)]
pub struct SavedTaskView {
    #[serde(flatten)]
    pub task: TaskView,
    pub warnings: Vec<Warning>,
}

/// The defined members.
#[derive(Serialize)]
pub struct Definition<'d> {
    id: i64,
    workflow_id: Option<i64>,
    content: &'d Content,
}

impl Task {
    pub fn definition(&self) -> Definition<'_> {
        Definition { id: self.id, workflow_id: self.workflow_id, content: &self.content }
    }

    pub fn etag(&self) -> String {
        etag_of(&self.definition())
    }

    pub fn bound(&self) -> Bound<'_> {
        Bound {
            task_id: self.id,
            inputs: &self.content.input_table_ids,
            outputs: &self.content.output_table_ids,
        }
    }
}

/// A task's latest execution.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "TaskExecutionStatus")]
pub enum ExecutionStatus {
    Latest(Box<ExecutionView>),
    Never(NeverRun),
}

/// The status of a task that has never run.
#[derive(Serialize, JsonSchema)]
pub struct NeverRun {
    status: NeverRunStatus,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum NeverRunStatus {
    NeverRun,
}

impl ExecutionStatus {
    pub fn of(latest: Option<ExecutionView>) -> ExecutionStatus {
        match latest {
            Some(latest) => ExecutionStatus::Latest(Box::new(latest)),
            None => ExecutionStatus::Never(NeverRun { status: NeverRunStatus::NeverRun }),
        }
    }
}

/// The tables that a task reads and writes.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskLineage {
    pub input_tables: Vec<TableView>,
    pub output_tables: Vec<TableView>,
    /// Unparsed parts of its SQL, and differences between the given and the derived tables; the given ones
    /// are used.
    pub warnings: Vec<String>,
}
