//! Records of runs of workflows and of their executions, stored and shown. The module `executions`, above
//! workflows, starts, watches and ends them; workflows show these records.

mod run;
pub mod store;
mod view;

use std::collections::HashMap;

use chrono_tz::Tz;
use lakeport_base::Error;
use lakeport_store::Db;

use crate::core::Core;
pub use run::Run;
pub use store::{Execution, Record, Status, Try};
pub use view::{ExecutionDetail, ExecutionView, LogView};

/// The newest execution of each of these workflows, if any.
pub async fn latest_of_workflows(
    db: &Db,
    ids: &[i64],
    zone: Tz,
) -> Result<HashMap<i64, ExecutionView>, Error> {
    let latest = store::latest_of_workflows(db, ids).await?;
    Ok(latest.iter().map(|one| (one.workflow_id, ExecutionView::new(one, zone))).collect())
}

/// A workflow's newest executions.
pub async fn recent_of_workflow(db: &Db, id: i64, limit: i64, zone: Tz) -> Result<Vec<ExecutionView>, Error> {
    let recent = store::of_workflow(db, id, limit).await?;
    Ok(recent.iter().map(|one| ExecutionView::new(one, zone)).collect())
}

/// A task's newest execution.
pub async fn latest_of_task(core: &Core, id: i64) -> Result<Option<ExecutionView>, Error> {
    let latest = store::latest_of_task(&core.db, id).await?;
    Ok(latest.map(|one| ExecutionView::new(&one, core.config.time_zone)))
}
