//! Counters of one generation: calls, errors by fault, how long calls took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use serde::Serialize;

/// The longest time told apart, in microseconds: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// What happened in the calls of a generation.
pub struct Counters {
    calls: AtomicU64,
    errors: AtomicU64,
    in_a_row: AtomicU64,
    times_us: Mutex<Histogram<u64>>,
    memory_peak: AtomicU64,
}

/// A reading of the counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CounterSnapshot {
    /// Calls that have ended.
    pub calls: u64,
    /// The ones in which the plugin itself failed, or whose answer broke the contract.
    pub errors: u64,
    /// Half of the calls took at most so long, milliseconds; null without calls.
    pub p50_ms: Option<f64>,
    /// 99 in 100 took at most so long, milliseconds.
    pub p99_ms: Option<f64>,
    /// The most linear memory that one call had, bytes.
    pub memory_peak_bytes: u64,
}

impl Default for Counters {
    fn default() -> Self {
        let times = Histogram::new_with_max(LONGEST_US, 2).expect("two digits up to an hour fit");
        Counters {
            calls: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            in_a_row: AtomicU64::new(0),
            times_us: Mutex::new(times),
            memory_peak: AtomicU64::new(0),
        }
    }
}

impl Counters {
    /// Counts a call. Answers how many in a row the plugin has failed now.
    pub(crate) fn record(&self, took: Duration, plugin_failed: bool, memory_peak: usize) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let us = u64::try_from(took.as_micros()).unwrap_or(LONGEST_US).clamp(1, LONGEST_US);
        self.times_us.lock().saturating_record(us);
        self.memory_peak.fetch_max(memory_peak as u64, Ordering::Relaxed);
        if plugin_failed {
            self.errors.fetch_add(1, Ordering::Relaxed);
            self.in_a_row.fetch_add(1, Ordering::Relaxed) + 1
        } else {
            self.in_a_row.store(0, Ordering::Relaxed);
            0
        }
    }

    /// Counts an answer that came in time and broke the contract all the same.
    pub(crate) fn blame(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    /// Forgets failures in a row, as when an operator lets the plugin back.
    pub(crate) fn forgive(&self) {
        self.in_a_row.store(0, Ordering::Relaxed);
    }

    /// Reads them.
    pub fn snapshot(&self) -> CounterSnapshot {
        let times = self.times_us.lock();
        let at =
            |quantile: f64| (!times.is_empty()).then(|| times.value_at_quantile(quantile) as f64 / 1_000.0);
        CounterSnapshot {
            calls: self.calls.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            p50_ms: at(0.50),
            p99_ms: at(0.99),
            memory_peak_bytes: self.memory_peak.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_end_with_a_success() {
        let counters = Counters::default();
        let took = Duration::from_millis(2);
        assert_eq!(counters.record(took, true, 0), 1);
        assert_eq!(counters.record(took, true, 0), 2);
        assert_eq!(counters.record(took, false, 7), 0);
        assert_eq!(counters.record(took, true, 3), 1);
        let read = counters.snapshot();
        assert_eq!((read.calls, read.errors, read.memory_peak_bytes), (4, 3, 7));
        assert!((read.p50_ms.unwrap() - 2.0).abs() < 0.1, "{read:?}");
    }
}
