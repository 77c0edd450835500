//! `cargo xtask bench plugins`: the cost of the sandbox, and the server's start-up time.
//!
//! All measurements are in one run, one call after another on one thread, so that the ratios hold on any
//! machine; the times are this machine's. Prints a table in Markdown and asserts nothing.

use std::hint::black_box;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use lakeport_plugins::dialect::Dialect;
use lakeport_plugins::{
    CallContext, CompiledCache, Compiler, Origin, Registry, RegistrySettings, Sandbox, SandboxSettings,
};
use lakeport_tests::measure::resident_bytes;
use lakeport_tests::{wasm_folder, workspace};

/// Calls measured of each kind, after a tenth as many to warm up.
const CALLS: usize = 5_000;
/// Starts measured, after a cold one.
const STARTS: usize = 7;
/// How long a start may take before the benchmark gives up.
const START_MAX: Duration = Duration::from_secs(60);
/// How long an idle server is left alone before its memory is read.
const IDLE: Duration = Duration::from_secs(5);
/// Columns of the planned table.
const COLUMNS: usize = 20;

pub fn bench(_: &[String]) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let calls = runtime.block_on(calls())?;
    println!("| call, {COLUMNS} columns, {CALLS} calls | median | p99 | against native | against empty |");
    println!("|---|---|---|---|---|");
    for row in [&calls.native, &calls.empty, &calls.sqlite] {
        println!(
            "| {} | {} | {} | {:.1} × | {:.2} × |",
            row.name,
            us(row.median),
            us(row.p99),
            row.median.as_secs_f64() / calls.native.median.as_secs_f64(),
            row.median.as_secs_f64() / calls.empty.median.as_secs_f64(),
        );
    }
    println!();
    let starts = starts()?;
    println!("| start of the server | value |");
    println!("|---|---|");
    println!("| empty data folder, until ready | {} ms |", starts.cold.as_millis());
    println!("| compiled code there, until ready, median of {STARTS} | {} ms |", starts.warm.as_millis());
    let mb = |bytes: u64| format!("{:.0} MB", bytes as f64 / 1e6);
    let idle = IDLE.as_secs();
    println!("| empty, memory after {idle} s idle | {} |", mb(starts.idle));
    println!("| with the demo, first start, memory after {idle} s idle | {} |", mb(starts.first_with_demo));
    println!("| with the demo, next start, memory after {idle} s idle | {} |", mb(starts.next_with_demo));
    Ok(())
}

struct Row {
    name: &'static str,
    median: Duration,
    p99: Duration,
}

struct Calls {
    native: Row,
    empty: Row,
    sqlite: Row,
}

async fn calls() -> anyhow::Result<Calls> {
    let temp = tempfile::tempdir()?;
    let cache = CompiledCache::open(&temp.path().join("compiled"), Compiler::Inside)?;
    let sandbox =
        Sandbox::new(&SandboxSettings::default(), Some(cache)).map_err(|e| anyhow::anyhow!("{e:#}"))?;
    let registry = Arc::new(Registry::new(Arc::new(sandbox), RegistrySettings::default()));
    let sqlite = activate(&registry, "plugin/dialect_sqlite.wasm").await?;
    let empty = activate(&registry, "plugin/examples/empty_dialect.wasm").await?;

    let native = row("natively", || {
        let (server, change) = guest_side::question(COLUMNS);
        let begun = Instant::now();
        let plan = <dialect_sqlite::Sqlite as lakeport_sdk::dialect::Dialect>::plan(server, change);
        let took = begun.elapsed();
        ensure!(black_box(plan).is_ok_and(|plan| !plan.steps.is_empty()), "the plan is not empty");
        Ok(took)
    })?;
    let empty = through_wasm("an empty dialect, fresh store", &empty, false).await?;
    let sqlite = through_wasm("sqlite, fresh store", &sqlite, true).await?;
    Ok(Calls { native, empty, sqlite })
}

async fn through_wasm(name: &'static str, dialect: &Dialect, has_steps: bool) -> anyhow::Result<Row> {
    let mut times = Vec::with_capacity(CALLS);
    for n in 0..CALLS + CALLS / 10 {
        let (server, change) = host_side::question(COLUMNS);
        let begun = Instant::now();
        let plan = dialect.plan(CallContext::new("bench"), &server, &change).await;
        let took = begun.elapsed();
        let plan = plan?.map_err(|problems| anyhow::anyhow!("refused: {problems:?}"))?;
        ensure!(plan.steps.is_empty() != has_steps, "the plan has steps as expected");
        if n >= CALLS / 10 {
            times.push(took);
        }
    }
    Ok(summary(name, times))
}

fn row(name: &'static str, mut call: impl FnMut() -> anyhow::Result<Duration>) -> anyhow::Result<Row> {
    let mut times = Vec::with_capacity(CALLS);
    for n in 0..CALLS + CALLS / 10 {
        let took = call()?;
        if n >= CALLS / 10 {
            times.push(took);
        }
    }
    Ok(summary(name, times))
}

fn summary(name: &'static str, mut times: Vec<Duration>) -> Row {
    times.sort_unstable();
    Row { name, median: times[times.len() / 2], p99: times[times.len() * 99 / 100] }
}

fn us(time: Duration) -> String {
    format!("{:.1} µs", time.as_nanos() as f64 / 1_000.0)
}

async fn activate(registry: &Arc<Registry>, file: &str) -> anyhow::Result<Dialect> {
    let path = wasm_folder().join(file);
    let bytes = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    let generation = registry.stage(bytes, Origin::Uploaded).await?.generation;
    registry.activate(&generation.id, &generation.digest, None)?;
    Ok(registry.dialect(&generation.id.name, ""))
}

/// The same request in the types of either side of the contract.
macro_rules! question {
    () => {
        pub fn question(columns: usize) -> (ServerInfo, Change) {
            let server =
                ServerInfo { product: "SQLite".into(), version: "3.46.0".into(), facts: "{}".into() };
            let fields = (0..columns).map(|n| Field {
                name: format!("column_{n}"),
                type_text: if n % 3 == 0 { "VARCHAR(64)" } else { "DECIMAL(18,2)" }.into(),
                nullable: n > 0,
                key: n == 0,
                comment: format!("what column {n} holds"),
                defaults_to: DefaultValue::Absent,
                generated: None,
                extra: None,
            });
            let table = Table {
                name: TableName { database: "main".into(), name: "orders".into() },
                kind: "table".into(),
                comment: "orders as they come in".into(),
                fields: fields.collect(),
                keys: vec!["column_0".into()],
                model: None,
                distribution: vec![],
                buckets: None,
                replicas: None,
                partition: vec![],
                companions: vec![],
                extra: None,
            };
            (server, Change::CreateTable(table))
        }
    };
}

mod host_side {
    use lakeport_bindings::dialect::planner::Change;
    use lakeport_bindings::dialect::schema::{DefaultValue, Field, ServerInfo, Table, TableName};

    question!();
}

mod guest_side {
    use lakeport_sdk::dialect::{Change, DefaultValue, Field, ServerInfo, Table, TableName};

    question!();
}

struct Starts {
    cold: Duration,
    warm: Duration,
    /// Bytes of memory.
    idle: u64,
    first_with_demo: u64,
    next_with_demo: u64,
}

fn starts() -> anyhow::Result<Starts> {
    let binary = std::env::var_os("LAKEPORT_BIN")
        .map(PathBuf::from)
        .unwrap_or_else(|| workspace().join("target/release/lakeport"));
    let data = tempfile::tempdir()?;
    let (cold, server) = start(&binary, data.path(), &[])?;
    drop(server);
    let mut warm = Vec::new();
    for _ in 0..STARTS {
        warm.push(start(&binary, data.path(), &[])?.0);
    }
    warm.sort_unstable();
    let idle = idle_bytes(&binary, data.path(), &[])?;
    let data = tempfile::tempdir()?;
    let first_with_demo = idle_bytes(&binary, data.path(), &["--demo"])?;
    let next_with_demo = idle_bytes(&binary, data.path(), &["--demo"])?;
    Ok(Starts { cold, warm: warm[STARTS / 2], idle, first_with_demo, next_with_demo })
}

/// The memory of a server that was started and left alone.
fn idle_bytes(binary: &Path, data: &Path, arguments: &[&str]) -> anyhow::Result<u64> {
    let (_, server) = start(binary, data, arguments)?;
    std::thread::sleep(IDLE);
    resident_bytes(server.0.id())
}

/// A server that is stopped by its pid when this is dropped.
struct Server(Child, Option<BufReader<ChildStdout>>);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server; answers how long it took until it said that it listens, which it says when ready.
fn start(binary: &Path, data: &Path, arguments: &[&str]) -> anyhow::Result<(Duration, Server)> {
    let begun = Instant::now();
    let mut child = Command::new(binary)
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(data)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("starting {}; `cargo xtask build` makes it", binary.display()))?;
    let stdout = child.stdout.take().context("its output is piped")?;
    let mut server = Server(child, None);
    let mut line = String::new();
    let mut lines = BufReader::new(stdout);
    while !line.starts_with("listening on ") {
        line.clear();
        ensure!(lines.read_line(&mut line)? > 0, "the server ended before it was ready");
        ensure!(begun.elapsed() < START_MAX, "the server was not ready after {START_MAX:?}");
    }
    let took = begun.elapsed();
    server.1 = Some(lines);
    Ok((took, server))
}
