//! `cargo xtask bench executions`: the history and the statistics of a million executions on both stores, in
//! milliseconds, one request after another.
//!
//! The server has one core; the load and PostgreSQL have the other. Prints a table in Markdown and asserts only that each
//! answer is good. `LAKEPORT_BIN` may name another binary to compare with.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, ensure};
use lakeport_tests::measure::{self, Connection, Measured, pin_to_load_core};
use lakeport_tests::{KEY, Kind, Session, Warehouse};
use serde_json::Value;
use tokio::runtime::Runtime;

const RUNS: i64 = 100_000;
const EXECUTIONS_OF_A_RUN: i64 = 10;
const EXECUTIONS: i64 = RUNS * EXECUTIONS_OF_A_RUN;
const DAYS: i64 = 80;
const DAY_MS: i64 = 24 * 3_600_000;
/// A tenth of all executions are of this task.
const LARGE_TASK: i64 = 1;
const SMALL_TASKS: i64 = 1_000;
/// Of each kind of request; the first ones are not counted.
const REQUESTS: usize = 300;
const WARM_UP: usize = 20;
/// How long the server may take to prepare statistics.
const READY_MAX: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(200);

pub fn bench(_: &[String]) -> anyhow::Result<()> {
    // Before threads start: they inherit it.
    pin_to_load_core()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let postgres = Kind::servers().contains(&Kind::Postgres);
    let shared = postgres.then(|| Warehouse::create(Kind::Postgres, std::path::Path::new("")));
    let mut columns = Vec::new();
    for store in [None, shared.as_ref()].into_iter().take(1 + usize::from(postgres)) {
        columns.push(Bench::start(&runtime, store)?.measured()?);
    }
    let names = ["SQLite", "PostgreSQL"];
    println!("| {EXECUTIONS} executions, p50 · p99 ms | {} |", names[..columns.len()].join(" | "));
    println!("|---{}|", "|---".repeat(columns.len()));
    for (row, (what, _)) in columns[0].iter().enumerate() {
        let times: Vec<String> = columns.iter().map(|column| column[row].1.to_string()).collect();
        println!("| {what} | {} |", times.join(" | "));
    }
    Ok(())
}

/// The times of requests of one kind, in milliseconds.
struct Times {
    median: f64,
    p99: f64,
}

impl Times {
    fn of(mut ms: Vec<f64>) -> Times {
        ms.sort_unstable_by(f64::total_cmp);
        Times { median: ms[ms.len() / 2], p99: ms[ms.len() * 99 / 100] }
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:.1} · {:.1}", self.median, self.p99)
    }
}

struct Bench<'r> {
    runtime: &'r Runtime,
    server: Measured,
    connection: Connection,
    store: Session,
    is_postgres: bool,
    /// When the first run began.
    begin_ms: i64,
    /// The last random number.
    random: u64,
}

impl<'r> Bench<'r> {
    fn start(runtime: &'r Runtime, store: Option<&Warehouse>) -> anyhow::Result<Bench<'r>> {
        let mut settings = vec![("LAKEPORT_RATE_LIMIT_PER_S", "1000000")];
        if let Some(store) = store {
            settings.extend([("LAKEPORT_DATABASE_URL", store.url.as_str()), ("LAKEPORT_KEY", KEY)]);
        }
        let server = Measured::lakeport(&[], &settings)?;
        let connection = runtime.block_on(Connection::open(server.address))?;
        let file = format!("sqlite:{}", server.data().join("lakeport.db").display());
        let url = store.map_or(file.as_str(), |store| store.url.as_str());
        let session = Session::open(url).map_err(|error| anyhow::anyhow!("{error}"))?;
        let now_ms = i64::try_from(SystemTime::UNIX_EPOCH.elapsed()?.as_millis())?;
        Ok(Bench {
            runtime,
            server,
            connection,
            store: session,
            is_postgres: store.is_some(),
            begin_ms: now_ms - DAYS * DAY_MS,
            random: 1,
        })
    }

    fn measured(mut self) -> anyhow::Result<Vec<(String, Times)>> {
        self.fill();
        self.wait_until_ready()?;
        self.check()?;
        let times: Vec<String> = self.times()?;
        let pages = |bench: &mut Bench<'_>, count: i64| 1 + bench.below(count / 10);
        let small = |bench: &mut Bench<'_>| LARGE_TASK + 1 + bench.below(SMALL_TASKS);
        let time = |bench: &mut Bench<'_>| {
            let pair = &times[usize::try_from(bench.below(REQUESTS as i64)).unwrap_or_default()];
            pair.clone()
        };
        let mut rows = Vec::new();
        rows.push(("history, first page", self.asked(|_| "history".to_owned())?));
        rows.push((
            "history, any page",
            self.asked(|bench| format!("history?pageNum={}", pages(bench, EXECUTIONS)))?,
        ));
        rows.push((
            "history of a small task, any page",
            self.asked(|bench| {
                format!("history?taskId={}&pageNum={}", small(bench), pages(bench, EXECUTIONS / SMALL_TASKS))
            })?,
        ));
        rows.push((
            "history of a large task, any page",
            self.asked(|bench| {
                format!("history?taskId={LARGE_TASK}&pageNum={}", pages(bench, EXECUTIONS / 10))
            })?,
        ));
        rows.push(("statistics", self.asked(|_| "statistics".to_owned())?));
        rows.push((
            "statistics, any time to the second",
            self.asked(|bench| format!("statistics?{}", time(bench)))?,
        ));
        rows.push((
            "statistics of a small task, any time",
            self.asked(|bench| format!("statistics?taskId={}&{}", small(bench), time(bench)))?,
        ));
        rows.push((
            "statistics of a large task, any time",
            self.asked(|bench| format!("statistics?taskId={LARGE_TASK}&{}", time(bench)))?,
        ));
        rows.push((
            "statistics after a change",
            self.asked(|bench| {
                let id = EXECUTIONS - bench.below(1_000);
                bench.store.run(&format!("UPDATE executions SET duration = duration + 1 WHERE id = {id}"));
                "statistics".to_owned()
            })?,
        ));
        Ok(rows.into_iter().map(|(what, times)| (what.to_owned(), times)).collect())
    }

    /// Writes runs that no engine did.
    fn fill(&mut self) {
        let (begin_ms, apart_ms) = (self.begin_ms, DAYS * DAY_MS / RUNS);
        self.store.run(&format!(
            "INSERT INTO runs (id, engine, workflow_id, workflow_name, instance_id, state, cause, asked_at, started_at, \
             ended_at) WITH RECURSIVE n (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < {RUNS}) \
             SELECT i, 'local', 1 + i % 100, 'workflow', 'run-' || i, 'success', 'schedule', {begin_ms} + i * {apart_ms}, \
             {begin_ms} + i * {apart_ms}, {begin_ms} + i * {apart_ms} + 60000 FROM n"
        ));
        // The numbers are spread without a function that only one store has.
        self.store.run(&format!(
            "INSERT INTO executions (id, run_id, task_key, engine, instance_id, workflow_id, workflow_name, task_id, \
             task_name, status, trigger_type, schedule_time, attempt, start_time, end_time, duration, error_message, \
             rows_affected, tries, at, created_at, updated_at) \
             WITH RECURSIVE n (i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < {EXECUTIONS} - 1), \
             e AS (SELECT i, 1 + i / {EXECUTIONS_OF_A_RUN} AS run, \
             CASE WHEN i % 10 = 0 THEN {LARGE_TASK} ELSE {LARGE_TASK} + 1 + (i / 10 * 9 + i % 10) % {SMALL_TASKS} END AS task, \
             {begin_ms} + (1 + i / {EXECUTIONS_OF_A_RUN}) * {apart_ms} + (i * 104729) % 60000 AS at, \
             40 + (i * 15485863) % 9973 * (1 + i % 7) * (1 + i % 3) AS took, \
             CASE WHEN i % 20 = 7 THEN 'failed' WHEN i % 500 = 11 THEN 'killed' ELSE 'success' END AS status FROM n) \
             SELECT i + 1, run, 'k' || i, 'local', 'run-' || run, 1 + run % 100, 'workflow', task, 'load the orders', \
             status, 'schedule', at, 1, at, at + took, took, CASE WHEN status = 'failed' THEN 'no such table: orders' \
             END, 100, '[{{\"id\":\"1\",\"attempt\":1,\"ended\":true}}]', at, at, at FROM e"
        ));
        if self.is_postgres {
            // What PostgreSQL would do by itself a minute later.
            self.store.run("VACUUM ANALYZE");
        }
    }

    /// Waits until the server has packed all executions. An older one packs none.
    fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        let changed = "SELECT count(*) FROM execution_block_changes";
        while self.store.try_run(changed).is_ok() && self.store.numbers(changed) != [0] {
            ensure!(begun.elapsed() < READY_MAX, "not ready after {READY_MAX:?}");
            std::thread::sleep(POLL);
        }
        // The server has closed the first one, which was not used for so long.
        self.connection = self.runtime.block_on(Connection::open(self.server.address))?;
        eprintln!("ready after {:.1} s", begun.elapsed().as_secs_f64());
        Ok(())
    }

    fn check(&mut self) -> anyhow::Result<()> {
        for path in ["history", "statistics"] {
            let answer = self.answer(path)?;
            ensure!(answer["data"]["total"] == EXECUTIONS, "not all are there: {answer}");
        }
        Ok(())
    }

    /// Random times as parameters.
    fn times(&mut self) -> anyhow::Result<Vec<String>> {
        let texts = (0..2 * REQUESTS).map(|_| {
            let at_s = (self.begin_ms + self.below(DAYS * DAY_MS)) / 1_000;
            let shown = match self.is_postgres {
                true => format!(
                    "to_char(to_timestamp({at_s}) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
                ),
                false => format!("strftime('%Y-%m-%dT%H:%M:%SZ', {at_s}, 'unixepoch')"),
            };
            self.store.texts(&format!("SELECT {shown}")).pop().context("a time")
        });
        let texts = texts.collect::<anyhow::Result<Vec<String>>>()?;
        let parameters = texts.chunks_exact(2).map(|pair| {
            let (start, end) = if pair[0] <= pair[1] { (&pair[0], &pair[1]) } else { (&pair[1], &pair[0]) };
            format!("startTime={start}&endTime={end}")
        });
        Ok(parameters.collect())
    }

    /// Measures requests with these paths.
    fn asked(&mut self, path: impl Fn(&mut Bench<'_>) -> String) -> anyhow::Result<Times> {
        let mut ms = Vec::with_capacity(REQUESTS);
        for n in 0..WARM_UP + REQUESTS {
            let path = path(self);
            let request = self.request(&path);
            let begun = Instant::now();
            self.runtime.block_on(self.connection.ask(&request)).with_context(|| path.clone())?;
            if n >= WARM_UP {
                ms.push(begun.elapsed().as_secs_f64() * 1e3);
            }
        }
        Ok(Times::of(ms))
    }

    fn answer(&mut self, path: &str) -> anyhow::Result<Value> {
        let request = self.request(path);
        let length = self.runtime.block_on(self.connection.ask(&request)).with_context(|| path.to_owned())?;
        Ok(serde_json::from_slice(self.connection.body(length))?)
    }

    fn request(&self, path: &str) -> Vec<u8> {
        measure::get(self.server.address, &format!("/api/v1/executions/{path}"))
    }

    /// A random number: the xorshift generator of 64 bits.
    fn below(&mut self, bound: i64) -> i64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 1) as i64 % bound
    }
}
