//! The lock on a workflow's changes in its engine: one change at a time, from one process, so that the stored
//! state matches the last request to the engine. It is a lease with an owner of its own: an aborted request
//! releases it, a dead or stalled process loses it by timeout, and the lease guards the following writes.

use std::ops::Deref;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_store::{Held, Leases, leases};
use tokio::time::{Instant, sleep, timeout_at};
use uuid::Uuid;

use crate::turns::Turn;
use crate::workflows::Workflows;

/// How long a request waits for the lock, once the earlier requests of this server are done.
const WAIT: Duration = Duration::from_secs(10);
/// The polling interval.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The lock as a request has it; the next request of this server gets it afterwards.
pub struct EngineTurn {
    held: Held,
    _turn: Turn,
}

impl Deref for EngineTurn {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

/// The lock, or 409 if another change takes longer than a request waits.
pub async fn take(state: &Workflows, workflow_id: i64) -> Result<EngineTurn, Error> {
    let deadline = Instant::now() + WAIT;
    let turn = timeout_at(deadline, state.turns.take("engine of workflow", workflow_id)).await;
    let turn = turn.map_err(|_| running())?;
    loop {
        if let Some(held) = try_take(state, workflow_id).await? {
            return Ok(EngineTurn { held, _turn: turn });
        }
        if Instant::now() >= deadline {
            return Err(running());
        }
        sleep(LOOK_INTERVAL).await;
    }
}

/// The lock, if it is free now.
pub async fn try_take(state: &Workflows, workflow_id: i64) -> Result<Option<Held>, Error> {
    // Locks of this server exclude each other, too.
    let own = Leases::new(state.db.clone(), Uuid::now_v7().to_string());
    let lease = own.claim(&format!("publication/{workflow_id}"), leases::TTL).await?;
    Ok(lease.map(|lease| lease.hold_until_dropped()))
}

/// Releases it. If the store fails, it expires by itself.
pub async fn give_back(turn: EngineTurn) {
    if let Err(error) = turn.held.release().await {
        tracing::debug!("the turn of a workflow was not given back: {error}");
    }
}

fn running() -> Error {
    let message = "another change of the workflow is under way at its engine, such as a deployment; try again when \
        that has ended";
    Error::conflict("deployment_running", message)
}

/// The engine's answer to a request under this lock; `lease_lost` if the lock is lost before.
pub async fn asked<T>(turn: &Held, answer: impl Future<Output = T>) -> Result<T, Error> {
    let lost = turn.lost();
    tokio::select! {
        biased;
        () = lost.cancelled() => {
            let message = "another server came to change the workflow at its engine before the engine answered; look \
                at what it is now, and try again";
            Err(Error::unavailable("lease_lost", message).retry_after(1))
        }
        answer = answer => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lakeport_store::testing::on_each_store;

    #[tokio::test]
    async fn a_lost_lock_stops_waiting_and_writing() {
        on_each_store(async |db| {
            let of = |owner: &str| Leases::new(db.clone(), owner.to_owned());
            let lease = of("asleep").claim("turn", Duration::from_millis(600)).await.unwrap().unwrap();
            let turn = lease.hold_until_dropped();
            assert_eq!(asked(&turn, async { 7 }).await.unwrap(), 7);
            db.execute("UPDATE leases SET expires_at = 1", &[]).await.unwrap();
            of("awake").claim("turn", leases::TTL).await.unwrap().unwrap();
            let never = std::future::pending::<()>();
            assert_eq!(asked(&turn, never).await.unwrap_err().code(), "lease_lost");
            let mut tx = db.begin().await.unwrap();
            assert_eq!(tx.guard(&turn).await.unwrap_err().code(), "lease_lost");
        })
        .await;
    }
}
