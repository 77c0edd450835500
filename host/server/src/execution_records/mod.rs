//! Records of runs of workflows and of their executions, stored and shown. The module `executions`, above
//! workflows, starts, watches and ends them; workflows show these records.

pub mod blocks;
mod run;
pub mod store;
mod view;

use lakeport_base::Error;

use crate::core::Core;
pub use run::{Again, Part, Reach, Run};
pub use store::{Execution, Record, Status, Try};
pub use view::{ExecutionDetail, ExecutionView, LogView, duration_s};

/// A workflow's newest execution.
pub async fn latest_of_workflow(core: &Core, id: i64) -> Result<Option<ExecutionView>, Error> {
    let latest = store::of_workflow(id, 1).all(&core.db).await?;
    Ok(latest.first().map(|one| ExecutionView::new(one, core.config.time_zone)))
}

/// A task's newest execution.
pub async fn latest_of_task(core: &Core, id: i64) -> Result<Option<ExecutionView>, Error> {
    let latest = store::latest_of_task(&core.db, id).await?;
    Ok(latest.map(|one| ExecutionView::new(&one, core.config.time_zone)))
}
