//! The lane of those that spin: guest code that has used up its first slice of processor time goes on
//! one at a time, so that however many calls spin, together they take one core at most. What is short
//! never meets the lane.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The lane, one per sandbox.
#[derive(Clone)]
pub struct Lane {
    turn: Arc<Semaphore>,
}

/// One call's place in the lane: the turn it holds, if any. Dropping it gives the turn back.
#[derive(Clone, Default)]
pub struct Place {
    held: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
    waited_us: Arc<AtomicU64>,
}

/// Counts the time until it is dropped, also when the wait is given up.
struct Waiting<'a> {
    place: &'a Place,
    since: Instant,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let us = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.place.waited_us.fetch_add(us, Ordering::Relaxed);
    }
}

impl Lane {
    /// A lane with one turn.
    pub fn new() -> Self {
        Lane { turn: Arc::new(Semaphore::new(1)) }
    }

    /// Gives up the turn that the place holds and waits, behind all others, for the next one.
    pub async fn next_turn(self, place: Place) {
        place.leave();
        let _waiting = Waiting { place: &place, since: Instant::now() };
        // Alone in the lane, it would have the turn again at once and never let the runtime look at
        // timers and at the end of the call.
        tokio::task::yield_now().await;
        // The semaphore is never closed; were it, the call would go on without a turn.
        if let Ok(permit) = self.turn.acquire_owned().await {
            *place.held.lock() = Some(permit);
        }
    }
}

impl Place {
    /// How long the call has waited for its turns.
    pub fn waited(&self) -> Duration {
        Duration::from_micros(self.waited_us.load(Ordering::Relaxed))
    }

    /// Gives the turn back, as before waiting for something that takes no processor time.
    pub fn leave(&self) {
        *self.held.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn one_holds_the_turn_and_the_others_wait_in_order() {
        let lane = Lane::new();
        let (first, second) = (Place::default(), Place::default());
        lane.clone().next_turn(first.clone()).await;
        let mut waiting = Box::pin(lane.clone().next_turn(second.clone()));
        assert!((&mut waiting).now_or_never().is_none());
        first.leave();
        waiting.await;
        assert!(second.held.lock().is_some());
    }
}
