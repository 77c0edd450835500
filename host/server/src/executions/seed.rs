//! Writes past runs as the watcher would have: for the example company's history.

use lakeport_base::Error;
use lakeport_bindings::engine::model::{Instance, TaskRun};
use lakeport_store::Tx;

use super::runs::{self, Run};
use super::watch;
use crate::execution_records::store;

/// Writes a finished run with the records of its tasks, as if seen at that time.
pub async fn record(
    tx: &mut Tx,
    engine: &str,
    workflow_name: &str,
    instance: &Instance,
    tries: &[TaskRun],
    seen_at_ms: i64,
) -> Result<(), Error> {
    let seen = watch::seen(engine, workflow_name, instance, seen_at_ms);
    let Some(id) = runs::store::insert(tx, &seen).await? else { return Ok(()) };
    let run = Run { id, ..seen };
    for record in watch::records(&run, tries) {
        store::put(tx, &run, &record, seen_at_ms).await?;
    }
    Ok(())
}
