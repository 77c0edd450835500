//! CPU turns: when a guest has used up its first slice of processor time, it must wait for a turn, and only
//! one guest has a turn at a time. However many calls spin, together they take one core at most. Short calls
//! need no turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The turns of one sandbox.
#[derive(Clone)]
pub struct CpuTurns {
    one: Arc<Semaphore>,
}

/// One call's turn, if it holds one. Dropping it gives the turn back.
#[derive(Clone, Default)]
pub struct CpuTurn {
    held: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
    waited_us: Arc<AtomicU64>,
}

/// Adds the time until it is dropped, also when the wait is cancelled.
struct Waiting<'a> {
    turn: &'a CpuTurn,
    since: Instant,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let us = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.turn.waited_us.fetch_add(us, Ordering::Relaxed);
    }
}

impl CpuTurns {
    pub fn new() -> Self {
        CpuTurns { one: Arc::new(Semaphore::new(1)) }
    }

    /// Gives the current turn back and waits, behind all others, for the next one.
    pub async fn next_turn(self, turn: CpuTurn) {
        turn.give_back();
        let _waiting = Waiting { turn: &turn, since: Instant::now() };
        // Without competitors the call would get the turn back at once, and the runtime would never poll
        // timers or the end of the call.
        tokio::task::yield_now().await;
        // The semaphore is never closed; if it were, the call would go on without a turn.
        if let Ok(permit) = self.one.acquire_owned().await {
            *turn.held.lock() = Some(permit);
        }
    }
}

impl CpuTurn {
    /// How long the call has waited for turns.
    pub fn waited(&self) -> Duration {
        Duration::from_micros(self.waited_us.load(Ordering::Relaxed))
    }

    /// Gives the turn back, as before a wait that takes no processor time.
    pub fn give_back(&self) {
        *self.held.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn one_holds_the_turn_and_the_others_wait_in_order() {
        let turns = CpuTurns::new();
        let (first, second) = (CpuTurn::default(), CpuTurn::default());
        turns.clone().next_turn(first.clone()).await;
        let mut waiting = Box::pin(turns.clone().next_turn(second.clone()));
        assert!((&mut waiting).now_or_never().is_none());
        first.give_back();
        waiting.await;
        assert!(second.held.lock().is_some());
    }
}
