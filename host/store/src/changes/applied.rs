//! Tracks how far a value in memory has applied the changes of a topic.
//!
//! One task applies the changes in the order of the log. A reader that must see this server's own commits
//! waits for their number; other servers' commits arrive later.

use std::time::Duration;

use lakeport_base::Error;
use tokio::sync::watch;

use super::{Changes, Event, Subscription};

/// The longest wait of a reader.
const CAUGHT_UP_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause before changes are applied again after a failure.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// A value that follows a topic.
pub trait Follows {
    /// Applies changes by reading the changed rows again.
    fn apply(&self, events: &[Event]) -> impl Future<Output = Result<(), Error>> + Send;
}

/// The number up to which changes were applied.
pub struct Applied(watch::Sender<i64>);

impl Applied {
    /// For a value that was loaded after a subscription, when the log was at this number.
    pub fn up_to(number: i64) -> Applied {
        Applied(watch::Sender::new(number))
    }

    /// The last applied change.
    pub fn number(&self) -> i64 {
        *self.0.borrow()
    }

    /// Waits until all commits of this server so far are applied; 503 `stale_replica` if that takes too long.
    pub async fn caught_up(&self, changes: &Changes) -> Result<(), Error> {
        let number = changes.own_newest();
        if self.number() >= number {
            return Ok(());
        }
        let mut applied = self.0.subscribe();
        changes.ask();
        match tokio::time::timeout(CAUGHT_UP_TIMEOUT, applied.wait_for(|applied| *applied >= number)).await {
            Ok(_) => Ok(()),
            Err(_) => {
                let message = format!("this server has not taken in change {number} yet; try again");
                Err(Error::unavailable("stale_replica", message).retry_after(1))
            }
        }
    }

    /// Applies changes in order, batch by batch, until the server stops following. A failed batch is retried:
    /// no change is lost because the store was unavailable.
    pub async fn follow(&self, changes: &Changes, mut subscription: Subscription, who: &impl Follows) {
        let mut seen = changes.follow_seen();
        loop {
            // In this order: the queue then has all changes up to `seen`.
            let number = *seen.borrow_and_update();
            let Some(events) = subscription.take() else { return };
            while !events.is_empty()
                && let Err(error) = who.apply(&events).await
            {
                tracing::error!("changes could not be taken in, they are tried again: {error}");
                if changes.is_stopped() {
                    return;
                }
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            self.0.send_replace(number);
            tokio::select! {
                changed = seen.changed() => if changed.is_err() { return },
                () = subscription.filled() => {}
            }
        }
    }
}
