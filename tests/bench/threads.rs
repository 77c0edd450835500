//! `cargo xtask bench threads`: the cost of a page of tables over HTTP beside the same query in-process, and
//! the store's rate of workflow changes.
//!
//! The server has one core and the load another; in-process the same code runs on the server's core, over the
//! same store. Prints tables in Markdown and asserts only that each answer is good.

use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use lakeport::tables::{self, Catalog};
use lakeport_catalog::{Filter, Order, SortBy};
use lakeport_http::Paging;
use lakeport_store::{Address, Changes, Db};
use lakeport_tests::measure::{self, Connection, Measured, Round, median, pin_to_load_core};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde_json::{Value, json};

/// Tables of the catalogue.
const TABLES: i64 = 2_000;
const PAGE_NUM: i64 = 7;
const PAGE_SIZE: i64 = 20;
/// The data source that is the server's own store.
const OWN_DATASOURCE: i64 = 1;
/// Connections that read.
const READERS: usize = 4;
/// Connections that write.
const WRITERS: usize = 16;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(3);
const WARM_UP: Duration = Duration::from_secs(1);

pub fn bench(_: &[String]) -> anyhow::Result<()> {
    // Before threads start: they inherit it.
    pin_to_load_core()?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(measure())
}

async fn measure() -> anyhow::Result<()> {
    let server = Measured::lakeport(&[], &[("LAKEPORT_RATE_LIMIT_PER_S", "1000000")])?;
    let mut setup = SetUp { address: server.address, connection: Connection::open(server.address).await? };
    for n in 0..TABLES {
        let layer = ["ODS", "DWD", "DWS", "ADS"][n as usize % 4];
        let form = json!({ "tableName": format!("table_{n:05}"), "dbName": format!("db_{}", n % 10), "layer": layer,
            "tableComment": "one row for each order that was placed in a shop" });
        setup.post("/api/v1/tables", &form).await?;
    }
    page(&server).await?;
    println!();
    changes(&server, &mut setup).await
}

/// The data that exists before measuring.
struct SetUp {
    address: SocketAddr,
    connection: Connection,
}

impl SetUp {
    /// Returns `data`.
    async fn post(&mut self, path: &str, form: &Value) -> anyhow::Result<Value> {
        let request = measure::with_body("POST", self.address, path, &form.to_string());
        let length = self.connection.ask(&request).await?;
        let mut answer: Value = serde_json::from_slice(self.connection.body(length))?;
        Ok(answer["data"].take())
    }

    async fn workflow(&mut self, name: &str) -> anyhow::Result<i64> {
        let answer = self.post("/api/v1/workflows", &json!({ "name": name })).await?;
        answer["id"].as_i64().context("an id")
    }
}

async fn page(server: &Measured) -> anyhow::Result<()> {
    let over_http = |time| {
        let request =
            measure::get(server.address, &format!("/api/v1/tables?pageNum={PAGE_NUM}&pageSize={PAGE_SIZE}"));
        measure::load(server, READERS, time, move |_, bytes| bytes.extend_from_slice(&request))
    };
    let path = server.data().join("lakeport.db");
    let in_process = InProcess::open(&path).await?;
    over_http(WARM_UP).await?;
    in_process.round(WARM_UP).await?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push((in_process.round(ROUND).await?, over_http(ROUND).await?));
    }
    println!(
        "| a page of {PAGE_SIZE} of {TABLES} tables, median of {ROUNDS} rounds | pages/s | CPU a page |"
    );
    println!("|---|---|---|");
    let of = |value: fn(&(Round, Round)) -> f64| median(rounds.iter().map(value).collect());
    let line = |what: &str, rate: f64, cpu: f64| println!("| {what} | {rate:.0} | {cpu:.1} µs |");
    line(
        "the same query, in-process, one after the other",
        of(|(own, _)| own.requests_per_s),
        of(|(own, _)| own.cpu_us_per_request),
    );
    line(
        &format!("over HTTP, {READERS} connections"),
        of(|(_, http)| http.requests_per_s),
        of(|(_, http)| http.cpu_us_per_request),
    );
    let ratio = of(|(own, http)| own.cpu_us_per_request / http.cpu_us_per_request);
    println!("| in-process CPU / CPU over HTTP | | {ratio:.2} × |");
    Ok(())
}

/// The query behind the page, called as a function.
struct InProcess {
    db: Db,
    catalog: Arc<Catalog>,
}

impl InProcess {
    async fn open(path: &std::path::Path) -> anyhow::Result<InProcess> {
        let db = Db::connect(&Address::Sqlite(path.to_owned())).await?;
        let changes = Changes::follow(&db).await?;
        let catalog = Catalog::open(&db, &changes).await?;
        changes.stop().await;
        Ok(InProcess { db, catalog: Arc::new(catalog) })
    }

    async fn round(&self, time: Duration) -> anyhow::Result<Round> {
        // The list's filter for a request without parameters.
        let filter = Filter { but_cluster_id: Some(OWN_DATASOURCE), ..Filter::default() };
        let newest = Order { by: SortBy::CreatedAt, is_descending: true };
        let paging = Paging { page_num: PAGE_NUM, page_size: PAGE_SIZE };
        let (cpu_before, begun) = (own_cpu_s()?, Instant::now());
        let mut pages = 0_u64;
        while begun.elapsed() < time {
            let (total, records) = tables::page(&self.db, &self.catalog, &filter, newest, &paging).await?;
            ensure!(total == TABLES && records.len() as i64 == PAGE_SIZE, "another page than expected");
            pages += 1;
        }
        let (took, cpu) = (begun.elapsed().as_secs_f64(), own_cpu_s()? - cpu_before);
        Ok(Round { requests_per_s: pages as f64 / took, cpu_us_per_request: cpu * 1e6 / pages as f64 })
    }
}

/// The CPU time of this process so far, user and system.
fn own_cpu_s() -> anyhow::Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(micros as f64 / 1e6)
}

async fn changes(server: &Measured, setup: &mut SetUp) -> anyhow::Result<()> {
    let one = setup.workflow("one").await?;
    let mut several = Vec::new();
    for n in 0..WRITERS {
        several.push(setup.workflow(&format!("workflow {n}")).await?);
    }
    println!("| {WRITERS} connections, SQLite, synchronous = FULL | changes/s | CPU a change |");
    println!("|---|---|---|");
    let number = Cell::new(0_u64);
    let next = || {
        number.set(number.get() + 1);
        number.get()
    };
    let task = |workflow: i64, bytes: &mut Vec<u8>| {
        let n = next();
        let form = json!({
            "task": { "workflowId": workflow, "taskName": format!("task {n}"), "taskType": "SQL", "datasourceId": 2,
                "sqlContent": "INSERT INTO turnover SELECT day, sum(total) FROM orders GROUP BY day" },
            "inputTableIds": [1 + n as i64 % 1_000], "outputTableIds": [1_001 + n as i64 % 999],
        });
        bytes.extend(measure::with_body("POST", server.address, "/api/v1/tasks", &form.to_string()));
    };
    let source = json!({ "name": "shop", "kind": "sqlite", "url": format!("sqlite:{}", "shop.db") });
    setup.post("/api/v1/datasources", &source).await?;
    let print = |what: &str, round: Round| {
        println!("| {what} | {:.0} | {:.0} µs |", round.requests_per_s, round.cpu_us_per_request);
    };
    let round = measure::load(server, WRITERS, ROUND, |n, bytes| task(several[n], bytes)).await?;
    print("`POST /tasks`, a workflow each", round);
    let round = measure::load(server, WRITERS, ROUND, |_, bytes| task(one, bytes)).await?;
    print("`POST /tasks`, all to one workflow", round);
    let update = |workflow: i64, bytes: &mut Vec<u8>| {
        let form = json!({ "description": format!("description {}", next()) });
        let path = format!("/api/v1/workflows/{workflow}");
        bytes.extend(measure::with_body("PUT", server.address, &path, &form.to_string()));
    };
    let round = measure::load(server, WRITERS, ROUND, |n, bytes| update(several[n], bytes)).await?;
    print("`PUT /workflows`, a workflow each", round);
    let round = measure::load(server, WRITERS, ROUND, |_, bytes| update(one, bytes)).await?;
    print("`PUT /workflows`, all of one workflow", round);
    Ok(())
}
