//! Counters of one generation: calls, errors, durations, and failures in a row.

use std::collections::HashMap;
use std::sync::Arc;
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
    rows: Mutex<HashMap<&'static str, Row>>,
    times_us: Mutex<Histogram<u64>>,
    memory_peak: AtomicU64,
    requests: Arc<RequestCounters>,
}

/// Requests of a generation to the addresses of its instances.
#[derive(Debug, Default)]
pub struct RequestCounters {
    sent: AtomicU64,
    refused: AtomicU64,
}

impl RequestCounters {
    pub(crate) fn sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Sent and refused ones.
    pub(crate) fn numbers(&self) -> (u64, u64) {
        (self.sent.load(Ordering::Relaxed), self.refused.load(Ordering::Relaxed))
    }
}

/// Failures in a row of one function: a plugin whose `plan` always fails is not saved by its `server`.
#[derive(Default)]
struct Row {
    failures: u64,
    /// Breaches whose call has counted as a success: the host refuses an answer after it has returned. Each
    /// takes away the next success.
    breaches: u64,
}

/// What a call means for the plugin's failures in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It answered.
    Success,
    /// It failed, and is to blame.
    Failure,
    /// It failed, and is not to blame.
    Excused,
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
    /// Requests that were sent.
    pub requests_sent: u64,
    /// Requests that the host refused to send.
    pub requests_refused: u64,
}

impl Counters {
    pub(crate) fn new(requests: Arc<RequestCounters>) -> Self {
        let times = Histogram::new_with_max(LONGEST_US, 2).expect("two digits up to an hour fit");
        Counters {
            calls: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            rows: Mutex::default(),
            times_us: Mutex::new(times),
            memory_peak: AtomicU64::new(0),
            requests,
        }
    }

    /// Counts a call and returns the number of consecutive failures of the function.
    pub(crate) fn record(
        &self,
        function: &'static str,
        verdict: Verdict,
        took: Duration,
        memory_peak: usize,
    ) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let us = u64::try_from(took.as_micros()).unwrap_or(LONGEST_US).clamp(1, LONGEST_US);
        self.times_us.lock().saturating_record(us);
        self.memory_peak.fetch_max(memory_peak as u64, Ordering::Relaxed);
        if verdict == Verdict::Failure {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
        let mut rows = self.rows.lock();
        let row = rows.entry(function).or_default();
        match verdict {
            Verdict::Failure => row.failures += 1,
            Verdict::Success if row.breaches > 0 => row.breaches -= 1,
            Verdict::Success => row.failures = 0,
            Verdict::Excused => {}
        }
        row.failures
    }

    /// Counts an answer that came in time but broke the contract, and returns the number of consecutive
    /// failures of the function.
    pub(crate) fn blame(&self, function: &'static str) -> u64 {
        self.errors.fetch_add(1, Ordering::Relaxed);
        let mut rows = self.rows.lock();
        let row = rows.entry(function).or_default();
        row.failures += 1;
        row.breaches += 1;
        row.failures
    }

    /// Resets the consecutive failures, as when an operator releases the plugin.
    pub(crate) fn forgive(&self) {
        self.rows.lock().clear();
    }

    pub fn snapshot(&self) -> CounterSnapshot {
        let times = self.times_us.lock();
        let (requests_sent, requests_refused) = self.requests.numbers();
        let at =
            |quantile: f64| (!times.is_empty()).then(|| times.value_at_quantile(quantile) as f64 / 1_000.0);
        CounterSnapshot {
            calls: self.calls.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            p50_ms: at(0.50),
            p99_ms: at(0.99),
            memory_peak_bytes: self.memory_peak.load(Ordering::Relaxed),
            requests_sent,
            requests_refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_end_with_a_success() {
        let counters = Counters::new(Arc::default());
        let took = Duration::from_millis(2);
        let record = |verdict, peak| counters.record("plan", verdict, took, peak);
        assert_eq!(record(Verdict::Failure, 0), 1);
        assert_eq!(record(Verdict::Failure, 0), 2);
        assert_eq!(record(Verdict::Success, 7), 0);
        assert_eq!(record(Verdict::Failure, 3), 1);
        let read = counters.snapshot();
        assert_eq!((read.calls, read.errors, read.memory_peak_bytes), (4, 3, 7));
        assert!((read.p50_ms.unwrap() - 2.0).abs() < 0.1, "{read:?}");
    }

    #[test]
    fn each_function_has_its_own_row() {
        let counters = Counters::new(Arc::default());
        let record = |function, verdict| counters.record(function, verdict, Duration::ZERO, 0);
        for failures in 1..=3 {
            record("server", Verdict::Success);
            assert_eq!(record("plan", Verdict::Failure), failures);
            assert_eq!(record("plan", Verdict::Excused), failures, "neither counts nor forgives");
        }
        counters.forgive();
        assert_eq!(record("plan", Verdict::Failure), 1);
    }

    #[test]
    fn a_breach_takes_its_success_back() {
        let counters = Counters::new(Arc::default());
        let answer = || counters.record("plan", Verdict::Success, Duration::ZERO, 0);
        for failures in 1..=3 {
            answer();
            assert_eq!(counters.blame("plan"), failures);
        }
        counters.forgive();
        // Two answers at the same time, both refused afterwards.
        for failures in [1, 3, 5] {
            assert_eq!((answer(), answer()), (failures - 1, failures - 1));
            assert_eq!((counters.blame("plan"), counters.blame("plan")), (failures, failures + 1));
        }
        assert_eq!((answer(), answer(), answer()), (6, 6, 0), "good answers end the row");
    }
}
