//! Rate limits per identity or address: a token bucket that holds one second's worth of requests.

use std::collections::HashMap;
use std::hash::Hash;

use lakeport_base::Error;
use lakeport_http::Identity;
use parking_lot::Mutex;

/// The most keys in memory; beyond it, those with a full bucket are removed.
const REMEMBERED_MAX: usize = 10_000;
const MICROS_PER_MS: i64 = 1_000;
const SECOND_US: i64 = 1_000_000;

/// The requests per second of each identity, or of each key of another kind.
pub struct RateLimit<K = Identity> {
    /// 0: no limit.
    per_second: u32,
    /// When each key's bucket is full again, microseconds since 1970.
    full_at_us: Mutex<HashMap<K, i64>>,
}

impl<K: Hash + Eq + Clone> RateLimit<K> {
    pub fn new(per_second: u32) -> RateLimit<K> {
        RateLimit { per_second, full_at_us: Mutex::default() }
    }

    /// 0: no limit.
    pub fn per_second(&self) -> u32 {
        self.per_second
    }

    /// 429 when the key's bucket is empty.
    pub fn admit(&self, key: &K, now_ms: i64) -> Result<(), Error> {
        if self.per_second == 0 {
            return Ok(());
        }
        let now_us = now_ms.saturating_mul(MICROS_PER_MS);
        let cost_us = SECOND_US / i64::from(self.per_second);
        let mut full_at_us = self.full_at_us.lock();
        if full_at_us.len() >= REMEMBERED_MAX {
            full_at_us.retain(|_, full_at| *full_at > now_us);
        }
        let full_at = full_at_us.get(key).copied().unwrap_or(now_us);
        // A clock that was set back must not block a key.
        let full_at = full_at.clamp(now_us, now_us + SECOND_US);
        if full_at + cost_us - now_us > SECOND_US {
            let message = format!("more than {} requests a second; slow down", self.per_second);
            return Err(Error::too_many("rate_limited", message, 1));
        }
        full_at_us.insert(key.clone(), full_at + cost_us);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_is_used_up_and_fills_again() {
        let limit = RateLimit::new(10);
        let (one, two) = (Identity::Token(1), Identity::Token(2));
        for _ in 0..10 {
            limit.admit(&one, 5_000).unwrap();
        }
        let error = limit.admit(&one, 5_000).unwrap_err();
        assert_eq!((error.status(), error.code()), (429, "rate_limited"));
        limit.admit(&two, 5_000).unwrap();
        limit.admit(&one, 5_100).unwrap();
        assert!(limit.admit(&one, 5_100).is_err());
    }

    #[test]
    fn without_a_limit_everything_is_let_through() {
        let limit: RateLimit = RateLimit::new(0);
        assert!((0..100_000).all(|_| limit.admit(&Identity::Local, 0).is_ok()));
    }
}
