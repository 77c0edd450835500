//! A workflow as a document: the format `lakeport.workflow/1`. Equal definitions have equal texts on every server: it
//! refers to data sources, tables and tasks by their names, and its lists have one order.

use std::collections::{BTreeSet, HashMap};

use chrono_tz::Tz;
use lakeport_base::time;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::workflows::api::EDGES_MAX;
use crate::workflows::definition::Schedule;
use crate::workflows::forms::{Concurrency, FailureStrategy, GlobalParam, WarningType};
use crate::workflows::tasks::definition::TableRef;
use crate::workflows::tasks::dependencies::{self, Bound};
use crate::workflows::tasks::forms::Priority;
use crate::workflows::tasks::part::{Names, TableName};
use crate::workflows::versions::{SavedTask, Snapshot};

/// The format's name and version.
pub const FORMAT: &str = "lakeport.workflow/1";
/// The path of the format's JSON Schema. It never changes: another format gets another one.
pub const SCHEMA_PATH: &str = "/schemas/lakeport.workflow-1.json";

/// A workflow for another server, or for a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "WorkflowDocument")]
pub struct Document {
    #[schemars(extend("const" = FORMAT))]
    pub format: String,
    pub workflow: WorkflowPart,
    /// By name.
    pub tasks: Vec<TaskPart>,
    /// The order of the tasks, by their names. It follows from their tables; an import compares it only.
    #[schemars(default)]
    pub edges: Vec<EdgePart>,
    #[schemars(default)]
    pub schedule: Option<SchedulePart>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DocumentWorkflow")]
pub struct WorkflowPart {
    #[schemars(length(min = 1, max = 100))]
    pub name: String,
    #[schemars(default)]
    pub description: Option<String>,
    /// The name of an engine configuration; absent: `local`.
    #[schemars(default)]
    pub scheduler_engine: String,
    #[schemars(default)]
    pub global_params: Vec<GlobalParam>,
    #[schemars(default)]
    #[serde(skip_serializing_if = "Concurrency::is_default")]
    pub concurrency: Concurrency,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DocumentTask")]
pub struct TaskPart {
    /// Unique within the workflow.
    #[schemars(length(min = 1, max = 100))]
    pub task_name: String,
    pub task_type: String,
    /// A data source, by name.
    #[schemars(default)]
    pub datasource: Option<String>,
    /// The task's text, of any type.
    #[schemars(default)]
    pub sql_content: Option<String>,
    #[schemars(default)]
    pub priority: Priority,
    /// Seconds; 0: none.
    #[schemars(default)]
    pub timeout: u32,
    #[schemars(default)]
    pub retry_times: u32,
    /// Seconds.
    #[schemars(default)]
    pub retry_interval: u32,
    /// The tables follow from the SQL, and follow it again when it changes. Without lists they are found at the import.
    #[schemars(default)]
    pub tables_from_sql: bool,
    /// Tables that it reads.
    #[schemars(default)]
    pub input_tables: Vec<TableRef>,
    /// Tables that it writes.
    #[schemars(default)]
    pub output_tables: Vec<TableRef>,
}

/// The source comes before the target; both are names of tasks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "DocumentEdge")]
pub struct EdgePart {
    pub source: String,
    pub target: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DocumentSchedule")]
pub struct SchedulePart {
    /// Quartz cron with seven fields.
    pub crontab: String,
    /// yyyy-MM-dd HH:mm:ss in `timezone`, or RFC 3339; null: at once.
    #[schemars(default)]
    pub start_time: Option<String>,
    /// The same; null: no end.
    #[schemars(default)]
    pub end_time: Option<String>,
    /// The name of a time zone, such as `Asia/Shanghai`.
    pub timezone: String,
    #[schemars(default)]
    pub failure_strategy: FailureStrategy,
    #[schemars(default)]
    pub warning_type: WarningType,
}

impl Document {
    /// A version as a document.
    pub fn of(snapshot: &Snapshot) -> Document {
        let content = &snapshot.content;
        let mut tasks: Vec<TaskPart> = snapshot.tasks.values().map(TaskPart::of).collect();
        tasks.sort_by(|one, other| one.task_name.cmp(&other.task_name));
        Document {
            format: FORMAT.to_owned(),
            workflow: WorkflowPart {
                name: content.name.clone(),
                description: content.description.clone(),
                scheduler_engine: content.scheduler_engine.clone(),
                global_params: content.global_params.clone(),
                concurrency: content.concurrency,
            },
            edges: edges(&tasks),
            tasks,
            schedule: content.schedule.as_ref().map(SchedulePart::of),
        }
    }

    /// The text of a file.
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("texts and numbers are JSON");
        text + "\n"
    }

    /// The name of its file.
    pub fn file_name(&self) -> String {
        file_name(&self.workflow.name)
    }

    pub fn schema() -> Schema {
        let mut schema = schema_for!(Document);
        schema.insert("$id".to_owned(), SCHEMA_PATH.into());
        schema.insert("title".to_owned(), "A Lakeport workflow".into());
        schema
    }
}

/// The longest name of a file without its extension, in bytes.
const FILE_NAME_MAX_BYTES: usize = 180;

/// The file of a workflow: its name, where characters that a file system may refuse are `_`; a long one is cut, and told
/// from others by a part of its digest.
pub fn file_name(workflow: &str) -> String {
    let kept = |c: char| if c.is_control() || "/\\:*?\"<>|".contains(c) { '_' } else { c };
    let mut name: String = workflow.chars().map(kept).collect();
    if name.starts_with('.') {
        // It would be hidden.
        name.insert(0, '_');
    }
    if name.len() > FILE_NAME_MAX_BYTES {
        name.truncate(name.floor_char_boundary(FILE_NAME_MAX_BYTES));
        name = format!("{name}-{}", &hex::encode(Sha256::digest(workflow))[..8]);
    }
    format!("{name}.json")
}

impl TaskPart {
    fn of(task: &SavedTask) -> TaskPart {
        let content = &task.content;
        let unresolved = &content.unresolved;
        TaskPart {
            task_name: content.task_name.clone(),
            task_type: content.task_type.clone(),
            datasource: task.names.datasource.clone().or_else(|| unresolved.datasource.clone()),
            sql_content: content.sql_content.clone(),
            priority: content.priority,
            timeout: content.timeout,
            retry_times: content.retry_times,
            retry_interval: content.retry_interval,
            tables_from_sql: !task.given.any(),
            input_tables: table_refs(&task.names, &content.input_table_ids, &unresolved.inputs),
            output_tables: table_refs(&task.names, &content.output_table_ids, &unresolved.outputs),
        }
    }
}

pub fn table_ref(table: &TableName) -> TableRef {
    TableRef {
        datasource: table.datasource.clone(),
        db_name: table.db_name.clone(),
        table_name: table.table_name.clone(),
    }
}

pub fn table_name(table: &TableRef, id: i64) -> TableName {
    TableName {
        id,
        datasource: table.datasource.clone(),
        db_name: table.db_name.clone(),
        table_name: table.table_name.clone(),
    }
}

/// The names of tables, in order, and those that have no id here.
pub fn table_refs(names: &Names, ids: &[i64], unresolved: &[TableRef]) -> Vec<TableRef> {
    let named = names.tables.iter().filter(|table| ids.contains(&table.id)).map(table_ref);
    let all: BTreeSet<TableRef> = named.chain(unresolved.iter().cloned()).collect();
    all.into_iter().collect()
}

impl SchedulePart {
    fn of(schedule: &Schedule) -> SchedulePart {
        let zone = schedule.timezone.parse::<Tz>().unwrap_or(Tz::UTC);
        let shown = |at: i64| time::shown_exactly(at, zone);
        SchedulePart {
            crontab: schedule.crontab.clone(),
            start_time: schedule.start_ms.map(shown),
            end_time: schedule.end_ms.map(shown),
            timezone: schedule.timezone.clone(),
            failure_strategy: schedule.failure_strategy,
            warning_type: schedule.warning_type,
        }
    }
}

/// The order that follows from the tables of tasks, sorted, and at most [`EDGES_MAX`].
pub fn edges(tasks: &[TaskPart]) -> Vec<EdgePart> {
    let mut ids: HashMap<&TableRef, i64> = HashMap::new();
    let mut numbered = Vec::with_capacity(tasks.len());
    for task in tasks {
        let mut lists = [Vec::new(), Vec::new()];
        for (list, tables) in lists.iter_mut().zip([&task.input_tables, &task.output_tables]) {
            for table in tables {
                let next = ids.len() as i64;
                list.push(*ids.entry(table).or_insert(next));
            }
        }
        numbered.push(lists);
    }
    let bound = numbered.iter().enumerate();
    let bound: Vec<Bound<'_>> =
        bound.map(|(at, [inputs, outputs])| Bound { task_id: at as i64, inputs, outputs }).collect();
    let name = |at: i64| tasks[at as usize].task_name.clone();
    let pairs = dependencies::edges(&bound, EDGES_MAX).into_iter().take(EDGES_MAX);
    let mut edges: Vec<EdgePart> =
        pairs.map(|(source, target)| EdgePart { source: name(source), target: name(target) }).collect();
    edges.sort();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_stays_in_its_folder() {
        assert_eq!(file_name("daily load"), "daily load.json");
        assert_eq!(file_name("../../etc/x"), "_.._.._etc_x.json");
        assert_eq!(file_name(".."), "_...json");
        let long = file_name(&"数".repeat(100));
        assert!(long.len() < 200 && long.ends_with(".json"), "{long}");
        assert_ne!(long, file_name(&"数".repeat(99)));
        assert_eq!(file_name("日报"), "日报.json");
    }
}
