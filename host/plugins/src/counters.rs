//! Counters of one generation: calls, errors by fault, durations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use serde::Serialize;

/// The longest duration that the histogram resolves, in microseconds: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// Counters of a generation's calls.
pub struct Counters {
    calls: AtomicU64,
    errors: AtomicU64,
    in_a_row: AtomicU64,
    times_us: Mutex<Histogram<u64>>,
    memory_peak: AtomicU64,
}

/// The counters at one time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CounterSnapshot {
    /// Finished calls.
    pub calls: u64,
    /// Calls in which the plugin failed or its answer broke the contract.
    pub errors: u64,
    /// Median duration in milliseconds; null without calls.
    pub p50_ms: Option<f64>,
    /// 99th percentile of the durations in milliseconds.
    pub p99_ms: Option<f64>,
    /// The largest linear memory of a single call, bytes.
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
    /// Counts a call and returns the number of consecutive failures.
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

    /// Counts an answer that came in time but broke the contract.
    pub(crate) fn blame(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    /// Resets the consecutive failures, as when an operator releases the plugin.
    pub(crate) fn forgive(&self) {
        self.in_a_row.store(0, Ordering::Relaxed);
    }

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
