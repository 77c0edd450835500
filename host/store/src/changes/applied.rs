//! What stands in memory and follows a topic of the log: up to which change it is.
//!
//! One task applies the changes in the order of the log. A reader that must see what this server has committed
//! before waits for that number; what other servers committed comes as it comes.

use std::time::Duration;

use lakeport_base::Error;
use tokio::sync::watch;

use super::{Changes, Event, Subscription};

/// The longest wait of a reader.
const CAUGHT_UP_TIMEOUT: Duration = Duration::from_secs(5);
/// Before changes are applied again that could not be.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// What follows a topic.
pub trait Follows {
    /// Takes in what changed: reads it again.
    fn apply(&self, events: &[Event]) -> impl Future<Output = Result<(), Error>> + Send;
}

/// The number up to which something has followed.
pub struct Applied(watch::Sender<i64>);

impl Applied {
    /// What was loaded after a subscription, when the log was seen up to this number.
    pub fn up_to(number: i64) -> Applied {
        Applied(watch::Sender::new(number))
    }

    /// The last change that it includes.
    pub fn number(&self) -> i64 {
        *self.0.borrow()
    }

    /// Waits until it includes all that this server has committed so far; 503 `stale_replica` where that takes too long.
    pub async fn caught_up(&self, changes: &Changes) -> Result<(), Error> {
        let number = changes.own_newest();
        if self.number() >= number {
            return Ok(());
        }
        let mut applied = self.0.subscribe();
        match tokio::time::timeout(CAUGHT_UP_TIMEOUT, applied.wait_for(|applied| *applied >= number)).await {
            Ok(_) => Ok(()),
            Err(_) => {
                let message = format!("this server has not taken in change {number} yet; try again");
                Err(Error::unavailable("stale_replica", message).retry_after(1))
            }
        }
    }

    /// Hands what changed to who follows, in order and batch by batch, until the server stops following. A batch that
    /// fails comes again: nothing is forgotten because the store was away.
    pub async fn follow(&self, changes: &Changes, mut subscription: Subscription, who: &impl Follows) {
        let mut seen = changes.subscribe_seen();
        loop {
            // In this order: what was told up to `seen` is in the queue by then.
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
