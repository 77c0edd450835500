//! `/metrics`, in Prometheus' text format: metrics of the edge, the store, the plugins, the process.
//! Expensive counts are refreshed once a minute.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ::http::Method;
use lakeport_base::Error;
use lakeport_base::time::MINUTE_MS;
use lakeport_http::{File, Metrics, Nothing, Role, Route, Stats};
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::core::{Core, stands_on_core};
use crate::part::{Part, RetentionRule};
use crate::plugins::Plugins;
use crate::retention::Purged;

fn routes() -> Vec<Route<Figures>> {
    vec![
        Route::new(
            Method::GET,
            "/metrics",
            Role::Viewer,
            "getMetrics",
            "Get metrics in Prometheus' text format",
            metrics,
        )
        .probe(),
    ]
}

/// The sources of the metrics.
pub struct Figures {
    core: Arc<Core>,
    plugins: Arc<Plugins>,
    stats: Stats,
    purged: Arc<Purged>,
    /// Growing tables whose row counts are shown, each with its label.
    tables: Vec<(&'static str, &'static str)>,
    sizes: Sizes,
}

stands_on_core!(Figures);

pub fn part() -> Part<Figures> {
    Part { routes: routes(), ..Part::default() }
}

impl Figures {
    /// `tables`: the growing ones.
    pub fn new(
        core: &Arc<Core>,
        plugins: &Arc<Plugins>,
        stats: &Stats,
        purged: &Arc<Purged>,
        tables: &[RetentionRule],
    ) -> Figures {
        let named = |rule: &RetentionRule| (rule.retained.what, rule.retained.table);
        Figures {
            core: Arc::clone(core),
            plugins: Arc::clone(plugins),
            stats: stats.clone(),
            purged: Arc::clone(purged),
            tables: tables.iter().map(named).chain([("changes", "changes")]).collect(),
            sizes: Sizes::default(),
        }
    }
}

/// A request to this module.
type Call<P = Nothing, Q = Nothing, B = Nothing> = lakeport_http::Call<Figures, P, Q, B>;

/// The row counts of growing tables, refreshed once a minute.
#[derive(Default)]
struct Sizes(Mutex<Option<Counted>>);

/// Rows by label.
type Rows = Vec<(&'static str, i64)>;

struct Counted {
    at_ms: i64,
    rows: Rows,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct What {
    what: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PluginLabels {
    plugin: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Build {
    version: &'static str,
    store: &'static str,
}

async fn metrics(call: Call) -> Result<File<Metrics>, Error> {
    let state = &call.state;
    let mut registry = Registry::default();
    state.stats.register(&mut registry);
    of_store(state, &mut registry).await;
    of_plugins(state, &mut registry);
    of_process(state, &mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).map_err(Error::internal)?;
    Ok(File::new(classic(&text)))
}

async fn of_store(state: &Figures, registry: &mut Registry) {
    let rows = Family::<What, Gauge>::default();
    for (what, count) in sizes(state).await {
        rows.get_or_create(&What { what }).set(count);
    }
    registry.register("lakeport_store_rows", "Rows of tables that grow, counted once a minute", rows);
    let purged = Family::<What, Counter<u64, AtomicU64>>::default();
    for (what, count) in state.purged.rows() {
        purged.get_or_create(&What { what }).inc_by(count);
    }
    registry.register("lakeport_store_purged_rows", "Rows that were purged since the start", purged);
    let seen: Gauge = Gauge::default();
    seen.set(state.changes.seen());
    registry.register("lakeport_changes_seen", "Number of the last change that this server followed", seen);
}

async fn sizes(state: &Figures) -> Rows {
    let now_ms = state.clock.now_ms();
    if let Some(counted) = &*state.sizes.0.lock()
        && now_ms - counted.at_ms < MINUTE_MS
    {
        return counted.rows.clone();
    }
    let named = &state.tables;
    let tables: Vec<&'static str> = named.iter().map(|(_, table)| *table).collect();
    let counted = match lakeport_store::count_rows(&state.db, &tables).await {
        Ok(counted) => counted,
        Err(error) => {
            tracing::warn!("the store's tables could not be counted: {error}");
            return Vec::new();
        }
    };
    let of = |table: &str| counted.iter().find(|(name, _)| *name == table).map_or(0, |(_, rows)| *rows);
    let rows: Rows = named.iter().map(|(what, table)| (*what, of(table))).collect();
    *state.sizes.0.lock() = Some(Counted { at_ms: now_ms, rows: rows.clone() });
    rows
}

fn of_plugins(state: &Figures, registry: &mut Registry) {
    let calls = Family::<PluginLabels, Counter<u64, AtomicU64>>::default();
    let errors = Family::<PluginLabels, Counter<u64, AtomicU64>>::default();
    for (id, view) in state.plugins.registry().list() {
        let Some(active) = view.active.as_deref() else { continue };
        let (labels, counted) = (PluginLabels { plugin: id.to_string() }, active.counters.snapshot());
        calls.get_or_create(&labels).inc_by(counted.calls);
        errors.get_or_create(&labels).inc_by(counted.errors);
    }
    registry.register("lakeport_plugin_calls", "Calls of the active generation", calls);
    registry.register("lakeport_plugin_errors", "Calls that failed by the plugin's own fault", errors);
}

fn of_process(state: &Figures, registry: &mut Registry) {
    let build = Family::<Build, Gauge>::default();
    build.get_or_create(&Build { version: env!("CARGO_PKG_VERSION"), store: state.db.product() }).set(1);
    registry.register("lakeport_build_info", "The version that runs, and its store", build);
    let started: Gauge = Gauge::default();
    started.set(state.started_at_ms / lakeport_base::time::SECOND_MS);
    registry.register("process_start_time_seconds", "Start, seconds since 1970", started);
    if let Some(bytes) = resident_bytes() {
        let resident: Gauge = Gauge::default();
        resident.set(bytes);
        registry.register("process_resident_memory_bytes", "Memory in use", resident);
    }
}

/// From the kernel, if available.
fn resident_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: i64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The encoder writes OpenMetrics; in the classic format, a counter has the same name in comments and
/// samples.
fn classic(text: &str) -> String {
    let counters: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let mut out = String::with_capacity(text.len());
    for line in text.lines().filter(|line| *line != "# EOF") {
        let mut words = line.splitn(4, ' ');
        let (hash, kind, name, rest) = (words.next(), words.next(), words.next(), words.next());
        let written = match (hash, kind, name, rest) {
            (Some("#"), Some(kind @ ("HELP" | "TYPE")), Some(name), Some(rest))
                if counters.contains(&name) =>
            {
                writeln!(out, "# {kind} {name}_total {rest}")
            }
            _ => writeln!(out, "{line}"),
        };
        written.expect("a text takes what is written");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_named_as_in_the_classic_format() {
        let text = "# HELP a Things.\n# TYPE a counter\na_total{b=\"c\"} 1\n# TYPE g gauge\ng 2\n# EOF\n";
        let expected =
            "# HELP a_total Things.\n# TYPE a_total counter\na_total{b=\"c\"} 1\n# TYPE g gauge\ng 2\n";
        assert_eq!(classic(text), expected);
    }

    #[test]
    fn the_kernel_says_how_much_memory_is_in_use() {
        assert!(resident_bytes().is_some_and(|bytes| bytes > 0));
    }
}
