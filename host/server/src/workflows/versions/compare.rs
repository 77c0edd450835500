//! The difference of two versions, as members: enough to turn one into the other. Pure functions.

use std::collections::BTreeSet;

use chrono_tz::Tz;
use lakeport_base::time;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::snapshot::{SavedTask, Snapshot};
use super::text;
use crate::workflows::definition::{Content, Schedule};
use crate::workflows::tasks::definition::Content as TaskContent;
use crate::workflows::view::EdgeView;

/// The most edges of one version that are compared; a workflow's details show no more.
const EDGES_MAX: usize = crate::workflows::api::EDGES_MAX;

/// The changes from one version to another.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "VersionComparison")]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The version before; null: there is none.
    pub v1: Option<i64>,
    /// The version after.
    pub v2: i64,
    pub identical: bool,
    /// Changed members of the workflow itself.
    pub workflow: Vec<FieldChange>,
    pub tasks: TaskChanges,
    /// Changes of the tasks' order.
    pub edges: EdgeChanges,
    /// Changed members of the schedule; a schedule that is new, or gone, changes all of them.
    pub schedule: Vec<FieldChange>,
    /// The same as text, in the format of `diff -u`; 1 MiB at most.
    pub unified_diff: String,
}

/// A changed member.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct FieldChange {
    pub field: String,
    /// Of the member's type; null: it was absent.
    pub before: Value,
    /// Of the member's type; null: it is absent.
    pub after: Value,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct TaskChanges {
    /// By id, with all members.
    pub added: Vec<ComparedTask>,
    /// By id, with all members.
    pub removed: Vec<ComparedTask>,
    pub modified: Vec<ModifiedTask>,
}

/// A task in a version.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparedTask {
    pub task_id: i64,
    #[serde(flatten)]
    pub content: TaskContent,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModifiedTask {
    pub task_id: i64,
    /// In the version after.
    pub task_name: String,
    pub changes: Vec<FieldChange>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct EdgeChanges {
    pub added: Vec<EdgeView>,
    pub removed: Vec<EdgeView>,
}

impl Comparison {
    /// `before` is `None` before the first deployment. Times are shown in the zone.
    pub fn of(before: Option<&Snapshot>, after: &Snapshot, zone: Tz) -> Comparison {
        let workflow = changes(before.map(|before| members(&before.content)), Some(members(&after.content)));
        let timed = |snapshot: &Snapshot| snapshot.content.schedule.as_ref().map(|one| times(one, zone));
        let schedule = changes(before.and_then(timed), timed(after));
        let tasks = TaskChanges::of(before, after);
        let edges = EdgeChanges::of(before, after);
        let identical = workflow.is_empty() && schedule.is_empty() && tasks.is_empty() && edges.is_empty();
        let unified_diff = if identical { String::new() } else { text::unified(before, after, zone) };
        let v1 = before.map(|before| before.version);
        Comparison { v1, v2: after.version, identical, workflow, tasks, edges, schedule, unified_diff }
    }
}

impl TaskChanges {
    fn of(before: Option<&Snapshot>, after: &Snapshot) -> TaskChanges {
        let mut all = TaskChanges::default();
        let old = |id: &i64| before.and_then(|before| before.tasks.get(id));
        let shown = |id: i64, task: &SavedTask| ComparedTask { task_id: id, content: task.content.clone() };
        for (id, task) in &after.tasks {
            match old(id) {
                None => all.added.push(shown(*id, task)),
                Some(old) if old.digest == task.digest => {}
                Some(old) => all.modified.push(ModifiedTask {
                    task_id: *id,
                    task_name: task.content.task_name.clone(),
                    changes: changes(Some(object(&old.content)), Some(object(&task.content))),
                }),
            }
        }
        let gone = before.iter().flat_map(|before| &before.tasks);
        let gone = gone.filter(|(id, _)| !after.tasks.contains_key(id));
        all.removed = gone.map(|(id, task)| shown(*id, task)).collect();
        all
    }

    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.modified.is_empty()
    }
}

impl EdgeChanges {
    fn of(before: Option<&Snapshot>, after: &Snapshot) -> EdgeChanges {
        let of = |snapshot: &Snapshot| -> BTreeSet<(i64, i64)> {
            snapshot.edges(EDGES_MAX).into_iter().take(EDGES_MAX).collect()
        };
        let (old, new) = (before.map(of).unwrap_or_default(), of(after));
        let only = |these: &BTreeSet<(i64, i64)>, others: &BTreeSet<(i64, i64)>| -> Vec<EdgeView> {
            these.difference(others).map(|&(source, target)| EdgeView { source, target }).collect()
        };
        EdgeChanges { added: only(&new, &old), removed: only(&old, &new) }
    }

    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

fn object<T: Serialize>(value: &T) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

/// The workflow's own members, as its answers name them.
fn members(content: &Content) -> Map<String, Value> {
    let mut members = object(content);
    members.remove("schedule");
    members
}

fn times(schedule: &Schedule, zone: Tz) -> Map<String, Value> {
    let shown = |at: Option<i64>| at.map(|at| time::shown_exactly(at, zone));
    object(&json!({
        "crontab": schedule.crontab,
        "startTime": shown(schedule.start_ms),
        "endTime": shown(schedule.end_ms),
        "timezone": schedule.timezone,
        "failureStrategy": schedule.failure_strategy,
        "warningType": schedule.warning_type,
    }))
}

/// The members that differ; a missing one counts as null.
fn changes(before: Option<Map<String, Value>>, after: Option<Map<String, Value>>) -> Vec<FieldChange> {
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let names: Vec<&String> = after.keys().chain(gone).collect();
    let value = |members: &Map<String, Value>, name: &str| members.get(name).cloned().unwrap_or_default();
    let all = names.into_iter().map(|name| FieldChange {
        field: name.clone(),
        before: value(&before, name),
        after: value(&after, name),
    });
    all.filter(|change| change.before != change.after).collect()
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
