//! Removes a deleted table from the tasks that read or write it.

use std::collections::BTreeMap;

use lakeport_base::Error;
use lakeport_store::Tx;

use super::part::{self, Names};
use super::{TOPIC, Task, store};
use crate::workflows::versions::{self, Made, PartChange, Source};
use crate::workflows::{self, Workflow};

/// Removes a table from all tasks, as if it had been removed from their lists: one version per affected
/// workflow. Returns the number of tasks. It locks workflows: lock and delete the table's own row afterwards,
/// because a table with references cannot be deleted.
pub async fn unbind_table(tx: &mut Tx, table_id: i64, by: &str, now_ms: i64) -> Result<usize, Error> {
    let mut tasks_by_workflow: BTreeMap<Option<i64>, Vec<i64>> = BTreeMap::new();
    let bound = store::all_bound_to(tx, table_id).await?;
    for (task_id, workflow_id) in &bound {
        tasks_by_workflow.entry(*workflow_id).or_default().push(*task_id);
    }
    let comment = format!("the table {table_id} was deleted");
    let made = Made { source: Source::Task, comment: Some(&comment), by, now_ms };
    for (workflow_id, task_ids) in tasks_by_workflow {
        let mut workflow = match workflow_id {
            Some(id) => Some(workflows::lock(tx, id).await?.ok_or_else(busy)?),
            None => None,
        };
        let mut changes = Vec::with_capacity(task_ids.len());
        for task_id in task_ids {
            changes.push(unbind(tx, table_id, task_id, workflow.as_ref(), now_ms).await?);
            tx.changed(TOPIC, task_id.to_string());
        }
        if let Some(workflow) = &mut workflow {
            versions::change_parts(tx, workflow, &changes, made).await?;
            tx.changed(workflows::TOPIC, workflow.id.to_string());
        }
    }
    Ok(bound.len())
}

async fn unbind(
    tx: &mut Tx,
    table_id: i64,
    task_id: i64,
    workflow: Option<&Workflow>,
    now_ms: i64,
) -> Result<PartChange, Error> {
    let workflow_id = workflow.map(|workflow| workflow.id);
    let before = store::lock(tx, task_id).await?.filter(|task| task.workflow_id == workflow_id);
    let before = before.ok_or_else(busy)?;
    let mut content = before.content.clone();
    content.input_table_ids.retain(|id| *id != table_id);
    content.output_table_ids.retain(|id| *id != table_id);
    let digest = versions::part_digest(&part::text(&content));
    let after = Task { content, digest, updated_at_ms: now_ms, ..before.clone() };
    store::update(tx, &before, &after).await?;
    let mut names = match workflow_id {
        Some(id) => part::names_of(versions::current_part(tx, id, task_id).await?)?,
        None => Names::default(),
    };
    names.tables.retain(|table| table.id != table_id);
    Ok(PartChange { task_id, before: Some(part::held(&before)), after: Some(part::of(&after, &names)) })
}

fn busy() -> Error {
    let message = "another request has moved a task that is bound to the table; try again";
    Error::unavailable("store_busy", message).retry_after(1)
}

#[cfg(test)]
#[path = "unbind_tests.rs"]
mod tests;
