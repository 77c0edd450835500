//! `lakeport:host/memo`: a small cache of a configured instance, which may forget at any time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use lakeport_bindings::host::memo::Host;
use parking_lot::Mutex;

use crate::state::CallState;

/// What one instance may remember, keys and values together.
const MEMO_MAX_BYTES: usize = 64 * 1024;

/// The cache of one configured instance. Whoever configures it drops it when configuration, secrets or
/// plugin change.
#[derive(Debug, Default)]
pub struct Memo {
    entries: Mutex<VecDeque<Entry>>,
}

#[derive(Debug)]
struct Entry {
    key: String,
    value: String,
    until: Instant,
}

impl Memo {
    fn get(&self, key: &str) -> Option<String> {
        let mut entries = self.entries.lock();
        let now = Instant::now();
        entries.retain(|entry| entry.until > now);
        entries.iter().find(|entry| entry.key == key).map(|entry| entry.value.clone())
    }

    fn put(&self, key: String, value: String, keep: Duration) {
        let mut entries = self.entries.lock();
        entries.retain(|entry| entry.key != key);
        let Some(until) = Instant::now().checked_add(keep) else { return };
        entries.push_back(Entry { key, value, until });
        let size =
            |entries: &VecDeque<Entry>| entries.iter().map(|e| e.key.len() + e.value.len()).sum::<usize>();
        while size(&entries) > MEMO_MAX_BYTES {
            entries.pop_front();
        }
    }
}

impl Host for CallState {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<String>> {
        Ok(self.instance.as_ref().and_then(|instance| instance.memo.get(&key)))
    }

    async fn put(&mut self, key: String, value: String, keep_s: u32) -> wasmtime::Result<()> {
        if let Some(instance) = &self.instance {
            instance.memo.put(key, value, Duration::from_secs(keep_s.into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_when_it_is_full() {
        let memo = Memo::default();
        let hour = Duration::from_secs(3_600);
        memo.put("a".into(), "x".repeat(40_000), hour);
        memo.put("b".into(), "y".repeat(40_000), hour);
        assert_eq!(memo.get("a"), None);
        assert!(memo.get("b").is_some());
        memo.put("c".into(), "z".repeat(100_000), hour);
        assert_eq!(memo.get("c"), None);
    }

    #[test]
    fn what_is_past_its_time_is_forgotten() {
        let memo = Memo::default();
        memo.put("a".into(), "1".into(), Duration::ZERO);
        assert_eq!(memo.get("a"), None);
    }
}
