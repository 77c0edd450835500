//! The edge's metrics for Prometheus: requests by operation and status, their durations, open connections.

use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// In seconds.
const LATENCY_BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];
/// The operation of a request without a route.
pub const NO_OPERATION: &str = "none";

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    operation: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OperationLabels {
    operation: &'static str,
}

/// The edge's metrics. Clones share them.
#[derive(Clone)]
pub struct Stats {
    requests: Family<RequestLabels, Counter<u64, AtomicU64>>,
    latency: Family<OperationLabels, Histogram, fn() -> Histogram>,
    /// Open connections.
    pub connections: Gauge<i64, AtomicI64>,
    /// Requests between their head and the last byte of their answer.
    pub running: Gauge<i64, AtomicI64>,
}

/// The metrics of one operation, looked up once.
pub struct OperationStats {
    operation: &'static str,
    ok: Counter<u64, AtomicU64>,
    latency: Histogram,
    stats: Stats,
}

fn latency() -> Histogram {
    Histogram::new(LATENCY_BUCKETS)
}

impl Stats {
    #[expect(clippy::new_without_default, reason = "two of them would count each a part")]
    pub fn new() -> Stats {
        Stats {
            requests: Family::default(),
            latency: Family::new_with_constructor(latency),
            connections: Gauge::default(),
            running: Gauge::default(),
        }
    }

    /// Registers them for `/metrics`.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("lakeport_http_requests", "Requests answered", self.requests.clone());
        registry.register("lakeport_http_request_seconds", "Time to answer", self.latency.clone());
        registry.register("lakeport_http_connections", "Open connections", self.connections.clone());
        registry.register("lakeport_http_requests_running", "Requests under way", self.running.clone());
    }

    pub fn of(&self, operation: &'static str) -> OperationStats {
        let ok = self.requests.get_or_create(&RequestLabels { operation, status: 200 }).clone();
        let latency = self.latency.get_or_create(&OperationLabels { operation }).clone();
        OperationStats { operation, ok, latency, stats: self.clone() }
    }
}

impl OperationStats {
    pub fn answered(&self, status: StatusCode, took: Duration) {
        if status == StatusCode::OK {
            self.ok.inc();
        } else {
            let labels = RequestLabels { operation: self.operation, status: status.as_u16() };
            self.stats.requests.get_or_create(&labels).inc();
        }
        self.latency.observe(took.as_secs_f64());
    }
}
