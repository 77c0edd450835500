//! CPU turns: when a guest has used up its first slice of processor time, it runs only while it holds a turn,
//! and only one guest holds one at a time. However many calls spin, together they take one core at most.
//! Short calls need no turn. A guest that waits gives its turn back, and gets one again before it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long a guest may run without a turn, its waits not counted: most calls end within it.
const FREE_TIME: Duration = Duration::from_millis(20);

/// The turns of one sandbox.
#[derive(Clone)]
pub struct CpuTurns {
    one: Arc<Semaphore>,
}

/// The time of one call: the turn that it holds, and its waits. Dropping the last clone gives the turn back.
#[derive(Clone)]
pub struct CpuTurn(Arc<Times>);

struct Times {
    turns: CpuTurns,
    begun: Instant,
    held: Mutex<Option<OwnedSemaphorePermit>>,
    /// Whether its free time is used up.
    is_needed: AtomicBool,
    /// Time that it waited for others: for a place, for turns, for what the host lends.
    waited_us: AtomicU64,
    /// Time that it waited because it wanted to.
    slept_us: AtomicU64,
}

/// Adds the time until it is dropped, also when the wait is cancelled.
struct Waiting<'a> {
    sum_us: &'a AtomicU64,
    since: Instant,
}

impl<'a> Waiting<'a> {
    fn begin(sum_us: &'a AtomicU64) -> Self {
        Waiting { sum_us, since: Instant::now() }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let us = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.sum_us.fetch_add(us, Ordering::Relaxed);
    }
}

impl CpuTurns {
    pub fn new() -> Self {
        CpuTurns { one: Arc::new(Semaphore::new(1)) }
    }

    /// The time of a call that begins now.
    pub fn call(&self) -> CpuTurn {
        CpuTurn(Arc::new(Times {
            turns: self.clone(),
            begun: Instant::now(),
            held: Mutex::new(None),
            is_needed: AtomicBool::new(false),
            waited_us: AtomicU64::new(0),
            slept_us: AtomicU64::new(0),
        }))
    }
}

impl CpuTurn {
    /// When the call began.
    pub fn begun(&self) -> Instant {
        self.0.begun
    }

    /// How long the call has waited for others.
    pub fn waited(&self) -> Duration {
        Duration::from_micros(self.0.waited_us.load(Ordering::Relaxed))
    }

    /// Whether the guest may go on as it is: its free time is not used up.
    pub fn is_free(&self) -> bool {
        let waits = self.waited() + Duration::from_micros(self.0.slept_us.load(Ordering::Relaxed));
        if self.0.begun.elapsed().saturating_sub(waits) >= FREE_TIME {
            self.0.is_needed.store(true, Ordering::Relaxed);
        }
        !self.0.is_needed.load(Ordering::Relaxed)
    }

    /// Gives the current turn back and waits, behind all others, for the next one.
    pub async fn next(self) {
        self.give_back();
        {
            let _waiting = Waiting::begin(&self.0.waited_us);
            // Without competitors the call would get the turn back at once, and the runtime would never poll
            // timers or the end of the call.
            tokio::task::yield_now().await;
        }
        self.take().await;
    }

    /// Waits for something that others do. The call is not to blame for this time.
    pub async fn waiting<T>(&self, answer: impl Future<Output = T>) -> T {
        self.without_turn(&self.0.waited_us, answer).await
    }

    /// Waits because the guest wants to.
    pub async fn sleeping<T>(&self, answer: impl Future<Output = T>) -> T {
        self.without_turn(&self.0.slept_us, answer).await
    }

    async fn without_turn<T>(&self, sum_us: &AtomicU64, answer: impl Future<Output = T>) -> T {
        let mut answer = std::pin::pin!(answer);
        let answer = {
            let _waiting = Waiting::begin(sum_us);
            // If the answer is there at once, the guest keeps its turn: a guest that asks for nothing, again
            // and again, would else run without one.
            match answer.as_mut().now_or_never() {
                Some(answer) => return answer,
                None => {
                    self.give_back();
                    answer.await
                }
            }
        };
        if self.0.is_needed.load(Ordering::Relaxed) {
            self.take().await;
        }
        answer
    }

    async fn take(&self) {
        let _waiting = Waiting::begin(&self.0.waited_us);
        // The semaphore is never closed; if it were, the call would go on without a turn.
        if let Ok(permit) = self.0.turns.one.clone().acquire_owned().await {
            *self.0.held.lock() = Some(permit);
        }
    }

    fn give_back(&self) {
        *self.0.held.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(turn: &CpuTurn) -> bool {
        turn.0.held.lock().is_some()
    }

    #[tokio::test]
    async fn one_holds_the_turn_and_the_others_wait_in_order() {
        let turns = CpuTurns::new();
        let (first, second) = (turns.call(), turns.call());
        first.clone().next().await;
        let mut waiting = Box::pin(second.clone().next());
        assert!((&mut waiting).now_or_never().is_none());
        first.give_back();
        waiting.await;
        assert!(holds(&second));
    }

    #[tokio::test]
    async fn who_waits_needs_a_turn_to_go_on() {
        let turns = CpuTurns::new();
        let (first, second) = (turns.call(), turns.call());
        first.0.is_needed.store(true, Ordering::Relaxed);
        first.clone().next().await;
        first.waiting(std::future::ready(())).await;
        assert!(holds(&first), "an answer at once costs no turn");
        let (wake, woken) = tokio::sync::oneshot::channel();
        let mut asleep = Box::pin(first.sleeping(woken));
        assert!((&mut asleep).now_or_never().is_none());
        assert!(!holds(&first));
        second.clone().next().await;
        wake.send(()).unwrap();
        assert!((&mut asleep).now_or_never().is_none(), "the other has the turn");
        second.give_back();
        asleep.await.unwrap();
        assert!(holds(&first));
    }

    #[tokio::test]
    async fn only_waiting_for_others_is_excused() {
        let call = CpuTurns::new().call();
        call.sleeping(tokio::time::sleep(Duration::from_millis(5))).await;
        assert_eq!(call.waited(), Duration::ZERO);
        call.waiting(tokio::time::sleep(Duration::from_millis(5))).await;
        assert!(call.waited() > Duration::ZERO);
    }
}
