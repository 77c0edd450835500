//! Waiting for the end of a row's work.

use lakeport_base::Error;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::{Event, Subscription};

/// How long to wait.
pub struct Until<'u> {
    pub deadline: Instant,
    /// The server stops.
    pub stopping: &'u CancellationToken,
}

/// The row once it has ended, or as it is when the time is over. It is read again whenever the change log names its
/// key; without a key, on every change of the topic. The subscription is older than the first look, so that no change
/// is missed.
pub async fn wait_for<R, F: Future<Output = Result<R, Error>>>(
    mut changed: Subscription,
    key: Option<&str>,
    until: Until<'_>,
    mut look: impl FnMut() -> F,
    has_ended: impl Fn(&R) -> bool,
) -> Result<R, Error> {
    let is_other = |event: &Event| matches!((event, key), (Event::Changed(of), Some(key)) if **of != *key);
    let mut is_over = false;
    loop {
        let row = look().await?;
        if is_over || has_ended(&row) {
            return Ok(row);
        }
        let woken = async {
            loop {
                match changed.next().await {
                    Some(event) if is_other(&event) => {}
                    event => return event.is_some(),
                }
            }
        };
        let woken = until.stopping.run_until_cancelled(timeout_at(until.deadline, woken)).await;
        // The last look is as late as it can be.
        is_over = !matches!(woken, Some(Ok(true)));
    }
}
