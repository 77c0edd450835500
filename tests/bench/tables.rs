//! `cargo xtask bench tables`: pages of a catalogue of 100,000 tables on both stores, a sync of 10,000 tables
//! with 200,000 columns, and Lakeport's overhead over a bare ADD COLUMN.
//!
//! The server has one core; the load and the databases have the other. Prints tables in Markdown and asserts
//! only that each answer is good.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use lakeport_tests::measure::{self, Connection, Measured, pin_to_load_core};
use lakeport_tests::{KEY, Kind, Warehouse};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// Tables of the catalogue.
const CATALOGUE_TABLES: usize = 100_000;
/// Connections that define them.
const WRITERS: usize = 8;
/// Clients that ask.
const READERS: usize = 4;
/// Requests of each client for each kind of page.
const REQUESTS: usize = 400;
/// The synced tables, and columns of each.
const SYNC_TABLES: usize = 10_000;
const COLUMNS: usize = 20;
/// Changes for each median.
const CHANGES: usize = 31;
/// Rows of the table whose change takes a second and more.
const LONG_ROWS: usize = 2_000_000;
const LONG_CHANGES: usize = 5;
/// The longest wait for a sync.
const SYNC_MAX: Duration = Duration::from_secs(1_200);
const LOOK: Duration = Duration::from_millis(20);
const SETTINGS: [(&str, &str); 2] =
    [("LAKEPORT_RATE_LIMIT_PER_S", "1000000"), ("LAKEPORT_EGRESS_ALLOW", "127.0.0.1")];

pub fn bench(arguments: &[String]) -> anyhow::Result<()> {
    // Before threads start: they inherit it.
    pin_to_load_core()?;
    let only = arguments;
    let is_wanted = |part: &str| only.is_empty() || only.iter().any(|one| one == part);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if is_wanted("changes") {
        changes(&runtime)?;
    }
    if is_wanted("sync") {
        syncs(&runtime)?;
    }
    if is_wanted("pages") {
        pages(&runtime)?;
    }
    Ok(())
}

/// A server and a connection for arranging.
struct Bench<'r> {
    runtime: &'r Runtime,
    server: Measured,
    connection: Connection,
}

impl<'r> Bench<'r> {
    fn start(runtime: &'r Runtime, store: Option<&str>, sqlite_root: &str) -> anyhow::Result<Bench<'r>> {
        let mut settings = SETTINGS.to_vec();
        settings.push(("LAKEPORT_SQLITE_ROOTS", sqlite_root));
        if let Some(url) = store {
            settings.extend([("LAKEPORT_DATABASE_URL", url), ("LAKEPORT_KEY", KEY)]);
        }
        let server = Measured::lakeport(&[], &settings)?;
        let connection = runtime.block_on(Connection::open(server.address))?;
        Ok(Bench { runtime, server, connection })
    }

    fn ask(&mut self, method: &str, path: &str, form: &Value) -> anyhow::Result<Value> {
        let request = measure::with_body(method, self.server.address, path, &form.to_string());
        let length = self.runtime.block_on(self.connection.ask(&request)).with_context(|| path.to_owned())?;
        let mut answer: Value = serde_json::from_slice(self.connection.body(length))?;
        Ok(answer["data"].take())
    }

    fn source(&mut self, warehouse: &Warehouse) -> anyhow::Result<i64> {
        let form = json!({ "name": "bench", "kind": warehouse.kind.dialect(), "url": warehouse.url });
        self.ask("POST", "/api/v1/datasources", &form)?["id"].as_i64().context("an id")
    }

    /// Syncs a data source; returns the result, the duration, and the peak memory.
    fn synced(&mut self, source: i64) -> anyhow::Result<(Value, Duration, u64)> {
        let (begun, path) = (Instant::now(), format!("/api/v1/datasources/{source}/sync"));
        let before = self.ask("GET", &path, &Value::Null).map_or(Value::Null, |sync| sync["id"].clone());
        self.server.forget_peak()?;
        // The request returns when the sync ends, or after a while.
        self.ask("POST", &path, &json!({}))?;
        loop {
            let sync = self.ask("GET", &path, &Value::Null)?;
            match sync["state"].as_str() {
                Some("success") if sync["id"] != before => {
                    return Ok((sync, begun.elapsed(), self.server.peak_bytes()?));
                }
                Some("failed" | "cancelled") => bail!("the reading did not come to its end: {sync}"),
                _ => {}
            }
            ensure!(begun.elapsed() < SYNC_MAX, "the reading takes too long: {sync}");
            std::thread::sleep(LOOK);
        }
    }
}

/// The percentile of sorted values.
fn percentile(sorted: &[Duration], of_hundred: usize) -> f64 {
    let at = (sorted.len() * of_hundred / 100).min(sorted.len() - 1);
    sorted[at].as_secs_f64() * 1e3
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    percentile(&times, 50)
}

fn changes(runtime: &Runtime) -> anyhow::Result<()> {
    println!(
        "| ADD COLUMN, medians of {CHANGES} | bare, ms | through Lakeport, ms | added, ms |\n|---|---|---|---|"
    );
    for kind in Kind::all() {
        let folder = tempfile::tempdir()?;
        let mut bench = Bench::start(runtime, None, &folder.path().display().to_string())?;
        let warehouse = Warehouse::create(kind, &folder.path().join("bench.db"));
        let mut session = warehouse.session();
        let (bare, of_own) = (kind.quoted("bare"), kind.quoted("changed"));
        for table in [&bare, &of_own] {
            session.run(&format!("CREATE TABLE {table} (id {} PRIMARY KEY)", kind.integer()));
        }
        let source = bench.source(&warehouse)?;
        bench.synced(source)?;
        let table = bench.ask("GET", "/api/v1/tables?keyword=changed", &Value::Null)?;
        let id = table["records"][0]["id"].as_i64().context("the table was read in")?;
        let (mut bares, mut ours) = (Vec::new(), Vec::new());
        for n in 0..CHANGES {
            let begun = Instant::now();
            session.run(&format!("ALTER TABLE {bare} ADD COLUMN c{n} {}", kind.integer()));
            bares.push(begun.elapsed());
            let form = json!({ "fieldName": format!("c{n}"), "fieldType": kind.integer() });
            let begun = Instant::now();
            bench.ask("POST", &format!("/api/v1/tables/{id}/fields"), &form)?;
            ours.push(begun.elapsed());
        }
        let (bare, ours) = (median(bares), median(ours));
        println!("| {kind:?} | {bare:.1} | {ours:.1} | {:.1} |", ours - bare);
        if kind == Kind::Postgres {
            long_change(&mut bench, &warehouse, source)?;
        }
    }
    println!();
    Ok(())
}

/// Changes for which the database copies every row, alternating.
fn long_change(bench: &mut Bench<'_>, warehouse: &Warehouse, source: i64) -> anyhow::Result<()> {
    let mut session = warehouse.session();
    for table in ["long_bare", "long_changed"] {
        session.run(&format!(
            "CREATE TABLE {table} AS SELECT n AS c0, n AS c1, n AS c2, n AS c3, n AS c4, md5(n::text) AS word \
             FROM generate_series(1, {LONG_ROWS}) n"
        ));
    }
    bench.synced(source)?;
    let table = bench.ask("GET", "/api/v1/tables?keyword=long_changed", &Value::Null)?;
    let id = table["records"][0]["id"].as_i64().context("the table was read in")?;
    let fields = bench.ask("GET", &format!("/api/v1/tables/{id}/fields"), &Value::Null)?;
    let (mut bares, mut ours) = (Vec::new(), Vec::new());
    for (n, field) in fields.as_array().context("fields")?.iter().take(LONG_CHANGES).enumerate() {
        let begun = Instant::now();
        session.run(&format!("ALTER TABLE long_bare ALTER COLUMN c{n} TYPE bigint"));
        bares.push(begun.elapsed());
        let begun = Instant::now();
        let path = format!("/api/v1/tables/{id}/fields/{}", field["id"]);
        bench.ask("PUT", &path, &json!({ "fieldType": "bigint" }))?;
        ours.push(begun.elapsed());
    }
    let (bare, ours) = (median(bares), median(ours));
    println!(
        "| Postgres, {LONG_ROWS} rows rewritten, {LONG_CHANGES} times | {bare:.0} | {ours:.0} | {:.2} × |",
        ours / bare
    );
    Ok(())
}

fn syncs(runtime: &Runtime) -> anyhow::Result<()> {
    println!(
        "| reading {SYNC_TABLES} tables of {COLUMNS} columns | s | server CPU, s | most memory, MB |\n|---|---|---|---|"
    );
    for kind in Kind::servers() {
        let warehouse = Warehouse::create(kind, std::path::Path::new(""));
        let mut session = warehouse.session();
        let columns: Vec<String> = (0..COLUMNS)
            .map(|n| format!("column_{n} {}", if n % 2 == 0 { kind.integer() } else { kind.text() }))
            .collect();
        for n in 0..SYNC_TABLES {
            session.run(&format!("CREATE TABLE t_{n:05} ({})", columns.join(", ")));
        }
        let mut bench = Bench::start(runtime, None, ".")?;
        let source = bench.source(&warehouse)?;
        for what in ["first", "again, nothing changed"] {
            let cpu = bench.server.cpu_s()?;
            let (sync, took, most) = bench.synced(source)?;
            let cpu = bench.server.cpu_s()? - cpu;
            println!(
                "| {kind:?}, {what}: {} new, {} updated | {:.1} | {cpu:.1} | {:.0} |",
                sync["tables"]["new"],
                sync["tables"]["updated"],
                took.as_secs_f64(),
                most as f64 / 1e6
            );
        }
    }
    println!();
    Ok(())
}

fn pages(runtime: &Runtime) -> anyhow::Result<()> {
    println!(
        "| {CATALOGUE_TABLES} tables, {READERS} clients, ms | p50 | p99 | server CPU, ms |\n|---|---|---|---|"
    );
    let postgres = Kind::servers().contains(&Kind::Postgres);
    let shared = postgres.then(|| Warehouse::create(Kind::Postgres, std::path::Path::new("")));
    for store in [None, shared.as_ref()].into_iter().take(1 + usize::from(postgres)) {
        let bench = Bench::start(runtime, store.map(|store| store.url.as_str()), ".")?;
        let address = bench.server.address;
        runtime.block_on(define(address))?;
        let named = if store.is_some() { "PostgreSQL" } else { "SQLite" };
        for (what, path) in [
            ("a page", "/api/v1/tables?pageNum=3"),
            ("by size", "/api/v1/tables?sortField=row_count&sortOrder=desc&pageNum=2"),
            ("by name, late", "/api/v1/tables?sortField=tableName&pageNum=4000"),
            ("a layer", "/api/v1/tables?layer=DWD&sortField=updated_at&sortOrder=desc"),
            ("`orders_077`, 900 found", "/api/v1/tables?keyword=orders_077"),
            ("`订`", "/api/v1/tables?keyword=%E8%AE%A2"),
            ("nothing found", "/api/v1/tables?keyword=nowhere"),
            ("search `订单`", "/api/v1/search?keyword=%E8%AE%A2%E5%8D%95"),
        ] {
            let cpu = bench.server.cpu_s()?;
            let mut times = runtime.block_on(asked(address, path))?;
            let cpu = (bench.server.cpu_s()? - cpu) * 1e3 / times.len() as f64;
            times.sort_unstable();
            let (half, most) = (percentile(&times, 50), percentile(&times, 99));
            println!("| {named}: {what} | {half:.2} | {most:.2} | {cpu:.2} |");
        }
    }
    Ok(())
}

async fn define(address: SocketAddr) -> anyhow::Result<()> {
    let writers = (0..WRITERS).map(|writer| async move {
        let mut connection = Connection::open(address).await?;
        for n in (writer..CATALOGUE_TABLES).step_by(WRITERS) {
            let name = if n % 10 == 0 { format!("订单_{n:06}") } else { format!("orders_{n:06}") };
            let layer = ["ODS", "DWD", "DWS", "ADS"][n % 4];
            let form = json!({ "tableName": name, "dbName": format!("db_{}", n % 50), "layer": layer,
                "tableComment": "one row for each order that was placed in a shop" });
            let request = measure::with_body("POST", address, "/api/v1/tables", &form.to_string());
            connection.ask(&request).await?;
        }
        anyhow::Ok(())
    });
    futures_util::future::try_join_all(writers).await.map(drop)
}

/// The latency of each answer.
async fn asked(address: SocketAddr, path: &str) -> anyhow::Result<Vec<Duration>> {
    let request = measure::get(address, path);
    let readers = (0..READERS).map(|_| async {
        let mut connection = Connection::open(address).await?;
        let mut times = Vec::with_capacity(REQUESTS);
        for _ in 0..REQUESTS {
            let begun = Instant::now();
            connection.ask(&request).await?;
            times.push(begun.elapsed());
        }
        anyhow::Ok(times)
    });
    Ok(futures_util::future::try_join_all(readers).await?.into_iter().flatten().collect())
}
