//! The data sources of workflows and executions, for callers that are bound to some of them. A caller that is not
//! bound costs no statement.
//!
//! A workflow runs, is published and is scheduled as a whole, so a bound caller does that only where it may use the
//! data sources of all its tasks. What an execution shows may come from any data source that its task has used.

use std::collections::{HashMap, HashSet};

use lakeport_base::Error;
use lakeport_http::Caller;
use lakeport_store::{Db, Tx};

use super::{Workflow, versions};
use crate::datasources::Rights;
use crate::execution_records::ExecutionView;

/// 403 unless the caller may use the data sources of all tasks from the published version to the current one: after a
/// failed deployment the engine may have one between them.
pub async fn check(db: &Db, caller: &Caller, workflow: &Workflow) -> Result<(), Error> {
    let rights = Rights::of(db, caller).await?;
    if !rights.are_bound() {
        return Ok(());
    }
    let published = workflow.published_version.unwrap_or(workflow.version);
    rights.check(versions::datasources_in(workflow.id, [workflow.version, published]).all(db).await?)
}

/// The same for one version of a workflow that the transaction has locked.
pub async fn check_version(
    tx: &mut Tx,
    rights: &Rights<'_>,
    workflow_id: i64,
    version: i64,
) -> Result<(), Error> {
    if !rights.are_bound() {
        return Ok(());
    }
    rights.check(versions::datasources_in(workflow_id, [version, version]).all_in(tx).await?)
}

/// The same for a version that is only read.
pub async fn check_read(db: &Db, rights: &Rights<'_>, workflow_id: i64, version: i64) -> Result<(), Error> {
    if !rights.are_bound() {
        return Ok(());
    }
    rights.check(versions::datasources_in(workflow_id, [version, version]).all(db).await?)
}

/// 403 unless the caller may use all data sources that any task of the workflow has ever used: the version that an
/// older run was of is not known.
pub async fn check_ever(db: &Db, caller: &Caller, workflow_id: i64) -> Result<(), Error> {
    let rights = Rights::of(db, caller).await?;
    if !rights.are_bound() {
        return Ok(());
    }
    rights.check(versions::datasources_ever(workflow_id).all(db).await?)
}

/// Whether the caller may use all data sources that any task of the workflow has ever used.
pub async fn may_see(db: &Db, rights: &Rights<'_>, workflow_id: i64) -> Result<bool, Error> {
    if !rights.are_bound() {
        return Ok(true);
    }
    let sources = versions::datasources_ever(workflow_id).all(db).await?;
    Ok(sources.into_iter().all(|id| rights.may_use(id)))
}

/// Withholds from executions what the caller may not see.
pub async fn withhold<'v>(
    db: &Db,
    rights: &Rights<'_>,
    views: impl IntoIterator<Item = &'v mut ExecutionView>,
) -> Result<(), Error> {
    if !rights.are_bound() {
        return Ok(());
    }
    let mut views: Vec<&mut ExecutionView> = views.into_iter().collect();
    let tasks: HashSet<(i64, i64)> = views.iter().filter_map(|view| task_of(view)).collect();
    let tasks: Vec<(i64, i64)> = tasks.into_iter().collect();
    let mut is_open: HashMap<(i64, i64), bool> = HashMap::new();
    for (workflow_id, task_id, source) in versions::datasources_of(&tasks).all(db).await? {
        *is_open.entry((workflow_id, task_id)).or_insert(true) &= rights.may_use(source);
    }
    for view in &mut views {
        // A task that the engine does not report may have used any data source.
        if !task_of(view).and_then(|task| is_open.get(&task)).is_some_and(|is_open| *is_open) {
            view.withhold();
        }
    }
    Ok(())
}

/// The workflow and the task of an execution.
fn task_of(view: &ExecutionView) -> Option<(i64, i64)> {
    Some((view.workflow_id, view.task_id?))
}
