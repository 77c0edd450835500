//! Rollback: a new version with the content of an old one.

use std::collections::BTreeMap;

use lakeport_base::Error;
use lakeport_store::Tx;

use super::snapshot::{SavedTask, Snapshot};
use crate::audit::Change;
use crate::datasources;
use crate::engines;
use crate::workflows::tasks;
use crate::workflows::tasks::definition::Content as TaskContent;
use crate::workflows::tasks::part::Names;
use crate::workflows::tasks::replace::{self, Wanted};
use crate::workflows::versions::{Made, Source};
use crate::workflows::{PublicationState, Workflow};
use crate::{tables, workflows};

/// The outcome of a rollback.
pub struct RolledBack {
    pub workflow: Workflow,
    /// What could not come back.
    pub warnings: Vec<String>,
    pub change: Change,
}

/// Gives the workflow, which is locked, the content of an old version. What the old version refers to and what is gone
/// since stays away, with a warning each.
pub async fn rollback(
    tx: &mut Tx,
    mut workflow: Workflow,
    old: Snapshot,
    by: &str,
    now_ms: i64,
) -> Result<RolledBack, Error> {
    let before = workflow.clone();
    let mut warnings = Vec::new();
    let mut content = old.content;
    if let Some(kept) = kept_engine(tx, &workflow, &content.scheduler_engine).await? {
        warnings.push(format!("schedulerEngine stays `{}`: {kept}", workflow.content.scheduler_engine));
        content.scheduler_engine.clone_from(&workflow.content.scheduler_engine);
    }
    let places = replace::places_of(tx, old.tasks.keys().copied()).await?;
    // Tasks that an earlier rollback has made in place of moved ones.
    let mut remade = tasks::of_workflow(workflow.id).all_in(tx).await?;
    remade.retain(|task| !old.tasks.contains_key(&task.id));
    let there = There::of(tx, &old.tasks).await?;
    let mut wanted = Vec::with_capacity(old.tasks.len());
    for (id, task) in old.tasks {
        let moved = places.get(&id).filter(|place| **place != Some(workflow.id));
        if let Some(place) = moved {
            let name = &task.content.task_name;
            warnings.push(match place {
                Some(other) => {
                    format!("task `{name}`: it is in the workflow {other} now; comes back as a new task")
                }
                None => format!("task `{name}`: it has no workflow now; comes back as a new task"),
            });
        }
        let (content, names) = there.without_the_gone(task.content, task.names, &mut warnings);
        let again = || remade.iter().find(|task| task.content.task_name == content.task_name);
        let id = if moved.is_some() { again().map(|task| task.id) } else { Some(id) };
        wanted.push(Wanted { id, content, given: task.given, names });
    }
    let comment = format!("rollback to version {}", old.version);
    let made = Made { source: Source::Rollback, comment: Some(&comment), by, now_ms };
    replace::replace(tx, &mut workflow, content, wanted, made).await?;
    let change =
        Change::of("workflow", workflow.id).before(&before.definition()).after(&workflow.definition());
    tx.changed(workflows::TOPIC, workflow.id.to_string());
    Ok(RolledBack { workflow, warnings, change })
}

/// Why the workflow keeps its engine, if it does.
async fn kept_engine(tx: &mut Tx, workflow: &Workflow, engine: &str) -> Result<Option<String>, Error> {
    if workflow.content.scheduler_engine == engine {
        return Ok(None);
    }
    if workflow.deployed.is_some() || workflow.publication == PublicationState::Pending {
        return Ok(Some("it has the workflow, or is about to get it".to_owned()));
    }
    let is_gone = !engines::is_there(tx, engine).await?;
    Ok(is_gone.then(|| format!("the engine `{engine}` is not configured any more")))
}

/// Those of a version's data sources and tables that still exist.
struct There {
    datasources: Vec<i64>,
    tables: Vec<i64>,
}

impl There {
    async fn of(tx: &mut Tx, tasks: &BTreeMap<i64, SavedTask>) -> Result<There, Error> {
        let mut sources: Vec<i64> = tasks.values().filter_map(|task| task.content.datasource_id).collect();
        let mut ids: Vec<i64> = tasks.values().flat_map(|task| task.content.table_ids()).collect();
        for list in [&mut sources, &mut ids] {
            list.sort_unstable();
            list.dedup();
        }
        // Locked, so that none of them goes before this transaction ends.
        let (datasources, mut tables) =
            tx.query_all((datasources::all_kept(&sources), tables::all_kept(&ids))).await?;
        tables.sort_unstable();
        Ok(There { datasources, tables })
    }

    fn without_the_gone(
        &self,
        mut content: TaskContent,
        mut names: Names,
        warnings: &mut Vec<String>,
    ) -> (TaskContent, Names) {
        let task = content.task_name.clone();
        if let Some(id) = content.datasource_id
            && !self.datasources.contains(&id)
        {
            // Its name stays, so that callers who could not use it do not get to see its SQL.
            let name = names.datasource.take().unwrap_or_else(|| id.to_string());
            warnings.push(format!("task `{task}`: the data source `{name}` does not exist any more"));
            content.datasource_id = None;
            content.unresolved.datasource = Some(name);
        }
        for (ids, what) in
            [(&mut content.input_table_ids, "reads"), (&mut content.output_table_ids, "writes")]
        {
            ids.retain(|id| {
                let is_there = self.tables.binary_search(id).is_ok();
                if !is_there {
                    let named = names.tables.iter().find(|table| table.id == *id);
                    let name = named.map_or_else(
                        || id.to_string(),
                        |table| format!("`{}.{}`", table.db_name, table.table_name),
                    );
                    warnings.push(format!(
                        "task `{task}`: the table {name}, which it {what}, does not exist any more"
                    ));
                }
                is_there
            });
        }
        names.tables.retain(|table| self.tables.binary_search(&table.id).is_ok());
        (content, names)
    }
}
