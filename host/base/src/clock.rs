//! The current time. Code that needs the time gets a clock, so that a test can set it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A clock: the machine's, or one that stands still, for tests and for the example company's past.
#[derive(Debug, Clone)]
pub struct Clock(Arc<AtomicI64>);

/// The value of a clock that follows the machine's.
const GOING: i64 = i64::MIN;

impl Clock {
    /// The machine's clock.
    pub fn system() -> Clock {
        Clock(Arc::new(AtomicI64::new(GOING)))
    }

    /// A clock that stands still until it is set.
    pub fn standing(now_ms: i64) -> Clock {
        Clock(Arc::new(AtomicI64::new(now_ms)))
    }

    /// Milliseconds since 1970, UTC.
    pub fn now_ms(&self) -> i64 {
        match self.0.load(Ordering::Relaxed) {
            GOING => chrono::Utc::now().timestamp_millis(),
            standing_ms => standing_ms,
        }
    }

    /// Stops all clones of the clock at this time.
    pub fn set(&self, now_ms: i64) {
        self.0.store(now_ms, Ordering::Relaxed);
    }

    /// Makes all clones follow the machine's clock again.
    pub fn go(&self) {
        self.0.store(GOING, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_clock_moves_only_when_told() {
        let clock = Clock::standing(5);
        assert_eq!(clock.now_ms(), 5);
        clock.clone().set(9);
        assert_eq!(clock.now_ms(), 9);
        clock.clone().go();
        assert!(clock.now_ms() > 9);
    }
}
