//! Replaces all tasks of a workflow at once, as one version: rollback and import.

use std::collections::{HashMap, HashSet};

use lakeport_base::Error;
use lakeport_store::Tx;

use super::definition::{Content, Given};
use super::part::{self, Names};
use super::store::{self, many};
use super::{TOPIC, Task};
use crate::workflows::Workflow;
use crate::workflows::definition::Content as WorkflowContent;
use crate::workflows::versions::{self, Made, PartChange};

/// A task of the new version.
pub struct Wanted {
    /// `None`: it is new.
    pub id: Option<i64>,
    pub content: Content,
    pub given: Given,
    pub names: Names,
}

/// The workflows of tasks that exist; `None`: the task has none.
pub async fn places_of(
    tx: &mut Tx,
    ids: impl Iterator<Item = i64>,
) -> Result<HashMap<i64, Option<i64>>, Error> {
    let ids: Vec<i64> = ids.collect();
    Ok(many::places_of(&ids).all_in(tx).await?.into_iter().collect())
}

/// Gives the workflow, which is locked, this content and these tasks; returns their ids, in order. A task of the
/// workflow that is not among them is deleted. The names of the tasks must be unique, and their references exist.
pub async fn replace(
    tx: &mut Tx,
    workflow: &mut Workflow,
    content: WorkflowContent,
    wanted: Vec<Wanted>,
    made: Made<'_>,
) -> Result<Vec<i64>, Error> {
    let selects = (store::of_workflow(workflow.id), store::tables_of_workflow(workflow.id));
    let (mut current, tables) = tx.query_all(selects).await?;
    store::bind(&mut current, tables);
    let mut current: HashMap<i64, Task> = current.into_iter().map(|task| (task.id, task)).collect();
    let mut ids = Vec::with_capacity(wanted.len());
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for (place, wanted) in wanted.into_iter().enumerate() {
        let digest = versions::part_digest(&part::text(&wanted.content));
        let before = wanted.id.and_then(|id| current.remove(&id));
        ids.push(wanted.id.unwrap_or_default());
        if before.as_ref().is_some_and(|task| task.digest == digest && task.given == wanted.given) {
            continue;
        }
        let task = Task {
            id: wanted.id.unwrap_or_default(),
            workflow_id: Some(workflow.id),
            content: wanted.content,
            given: wanted.given,
            digest,
            created_at_ms: before.as_ref().map_or(made.now_ms, |task| task.created_at_ms),
            updated_at_ms: made.now_ms,
        };
        new.push((place, task, wanted.names));
        old.extend(before);
    }
    old.extend(current.into_values());
    let mut before: HashMap<i64, part::Held> = old.iter().map(|task| (task.id, part::held(task))).collect();
    many::delete(tx, &before.keys().copied().collect::<Vec<i64>>()).await?;
    let mut tasks: Vec<&mut Task> = new.iter_mut().map(|(_, task, _)| task).collect();
    many::insert(tx, &mut tasks).await?;
    let mut changes = Vec::with_capacity(before.len() + new.len());
    let mut told: HashSet<i64> = before.keys().copied().collect();
    for (place, task, names) in &new {
        ids[*place] = task.id;
        told.insert(task.id);
        let after = part::of(task, names);
        let held = before.remove(&task.id);
        if held.as_ref().is_some_and(|(digest, _)| *digest == after.0.digest) {
            // Only the lists that were given differ, which is no change of the version.
            versions::set_beside(tx, workflow.id, task.id, &after.0).await?;
            continue;
        }
        changes.push(PartChange { task_id: task.id, before: held, after: Some(after) });
    }
    let gone =
        before.into_iter().map(|(task_id, held)| PartChange { task_id, before: Some(held), after: None });
    changes.extend(gone);
    versions::change(tx, workflow, content, &changes, made).await?;
    for id in told {
        tx.changed(TOPIC, id.to_string());
    }
    Ok(ids)
}
