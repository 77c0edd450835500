//! The worker that packs the blocks of executions that have changed, on one server at a time.

use std::sync::Arc;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_store::{Held, leases};
use tokio::time::{Instant, sleep};

use crate::execution_records::blocks;
use crate::executions::Executions;

/// Between two rounds.
const INTERVAL: Duration = Duration::from_secs(5);
/// The first round starts after the server's start: with the schema came the work of packing all blocks.
const FIRST_AFTER: Duration = Duration::from_secs(1);
/// A round is followed by a pause that is so many times as long: blocks that are being written are packed again and
/// again.
const PAUSES: u32 = 20;
const LEASE: &str = "execution_blocks";

/// Packs until the server stops.
pub async fn run_worker(state: Arc<Executions>) {
    let mut wait = FIRST_AFTER;
    while state.stopping.run_until_cancelled(sleep(wait)).await.is_some() {
        let begun = Instant::now();
        if let Err(error) = round(&state).await {
            tracing::warn!("executions were not packed for statistics: {error}");
        }
        wait = INTERVAL.max(begun.elapsed() * PAUSES);
    }
}

/// Packs the blocks that have changed, unless another server does.
async fn round(state: &Executions) -> Result<(), Error> {
    let changed = blocks::changed(&state.db).await?;
    if changed.is_empty() {
        return Ok(());
    }
    let Some(lease) = state.leases.claim(LEASE, leases::TTL).await? else { return Ok(()) };
    let pack = async |held: &Held| blocks::pack(&state.db, held, &changed).await;
    lease.hold().work(&state.stopping, pack).await.unwrap_or(Ok(()))
}
