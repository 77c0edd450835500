//! Turns at an engine: what changes a workflow there is asked for one at a time, from one place, so that what is
//! written down afterwards is what the engine was told last. A turn is a lease of its own owner; whoever dies in
//! it loses it by the clock.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::app::App;
use crate::db::{Held, Leases, leases};
use crate::error::Error;

/// How long a request waits for its turn.
const WAIT: Duration = Duration::from_secs(10);
/// Between two looks at whether it is free.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The turn, or 409 where another takes longer than a request waits.
pub async fn take(app: &App, workflow_id: i64) -> Result<Held, Error> {
    let deadline = Instant::now() + WAIT;
    loop {
        if let Some(turn) = try_take(app, workflow_id).await? {
            return Ok(turn);
        }
        if Instant::now() >= deadline {
            return Err(running());
        }
        sleep(LOOK_INTERVAL).await;
    }
}

/// The turn, where it is free now.
pub async fn try_take(app: &App, workflow_id: i64) -> Result<Option<Held>, Error> {
    // Two turns of this server are apart, too.
    let own = Leases::new(app.db.clone(), Uuid::now_v7().to_string());
    let lease = own.claim(&format!("publication/{workflow_id}"), leases::TTL).await?;
    Ok(lease.map(|lease| lease.hold()))
}

/// Gives it back. Where the store refuses it runs out by itself.
pub async fn give_back(turn: Held) {
    if let Err(error) = turn.release().await {
        tracing::debug!("the turn of a workflow was not given back: {error}");
    }
}

pub fn running() -> Error {
    let message = "a version of the workflow is being deployed at this moment; try again when that has ended";
    Error::conflict("deployment_running", message)
}
