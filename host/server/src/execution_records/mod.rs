//! Records of what ran: runs of workflows, and their executions, as they are kept and shown. What starts, watches and
//! ends them stands in `executions`, above workflows; workflows show these records.

mod run;
pub mod store;
mod view;

use std::collections::HashMap;

use lakeport_base::Error;

use crate::core::Core;
pub use run::Run;
pub use store::{Execution, Record, Status, Try};
pub use view::{ExecutionDetail, ExecutionView, LogView};

/// The newest execution of each of these workflows that has one.
pub async fn latest_of_workflows(core: &Core, ids: &[i64]) -> Result<HashMap<i64, ExecutionView>, Error> {
    let latest = store::latest_of_workflows(&core.db, ids).await?;
    let zone = core.config.time_zone;
    Ok(latest.iter().map(|one| (one.workflow_id, ExecutionView::new(one, zone))).collect())
}

/// A workflow's newest executions.
pub async fn recent_of_workflow(core: &Core, id: i64, limit: i64) -> Result<Vec<ExecutionView>, Error> {
    let recent = store::of_workflow(&core.db, id, limit).await?;
    Ok(recent.iter().map(|one| ExecutionView::new(one, core.config.time_zone)).collect())
}

/// A task's newest execution.
pub async fn latest_of_task(core: &Core, id: i64) -> Result<Option<ExecutionView>, Error> {
    let latest = store::latest_of_task(&core.db, id).await?;
    Ok(latest.map(|one| ExecutionView::new(&one, core.config.time_zone)))
}
