//! `cargo xtask bench runs`: the embedded scheduler on both stores. Queued task runs with trivial SQL until all have
//! ended, and 1,000 workflows with schedules: what they cost while none is due, and how late they fire when all are.
//!
//! The server has one core; the load and PostgreSQL have the other. Prints a table in Markdown and asserts only that all
//! runs have succeeded. `LAKEPORT_BIN` may name another binary to compare with.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, ensure};
use lakeport_tests::measure::{self, Connection, Measured, pin_to_load_core};
use lakeport_tests::{KEY, Kind, Session, Warehouse};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const TASKS: usize = 1_000;
const RUNS: usize = 10;
const SCHEDULED: usize = 1_000;
/// How long the server is watched while no schedule is due.
const IDLE: Duration = Duration::from_secs(30);
/// All schedules are set for one second, so far ahead.
const AHEAD: Duration = Duration::from_secs(60);
/// How long all runs may take.
const ENDED_MAX: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(50);

pub fn bench(arguments: &[String]) -> anyhow::Result<()> {
    // Before threads start: they inherit it.
    pin_to_load_core()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("| store | tasks | runs/s | server CPU, µs a run | idle, % of a core | late at most, ms |");
    println!("|---|---|---|---|---|---|");
    // `-- PostgreSQL` measures that alone.
    let only = arguments.first();
    if only.is_none_or(|only| only == "SQLite") {
        Bench::start(&runtime, None)?.measured("SQLite")?;
    }
    if Kind::servers().contains(&Kind::Postgres) {
        let shared = Warehouse::create(Kind::Postgres, std::path::Path::new(""));
        Bench::start(&runtime, Some(&shared))?.measured("PostgreSQL")?;
    }
    Ok(())
}

struct Bench<'r> {
    runtime: &'r Runtime,
    server: Measured,
    connection: Connection,
    store: Session,
    folder: tempfile::TempDir,
}

impl<'r> Bench<'r> {
    fn start(runtime: &'r Runtime, shared: Option<&Warehouse>) -> anyhow::Result<Bench<'r>> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().display().to_string();
        let mut settings = vec![
            ("LAKEPORT_RATE_LIMIT_PER_S", "1000000"),
            ("LAKEPORT_EGRESS_ALLOW", "127.0.0.1"),
            ("LAKEPORT_SQLITE_ROOTS", root.as_str()),
            ("LAKEPORT_TIME_ZONE", "UTC"),
        ];
        if let Some(shared) = shared {
            settings.extend([("LAKEPORT_DATABASE_URL", shared.url.as_str()), ("LAKEPORT_KEY", KEY)]);
        }
        let server = Measured::lakeport(&[], &settings)?;
        let store = match shared {
            Some(shared) => shared.session(),
            None => {
                let file = format!("sqlite:{}", server.data().join("lakeport.db").display());
                Session::open(&file).map_err(anyhow::Error::msg)?
            }
        };
        let connection = runtime.block_on(Connection::open(server.address))?;
        Ok(Bench { runtime, server, connection, store, folder })
    }

    fn measured(mut self, store: &str) -> anyhow::Result<()> {
        let shop = Warehouse::create(Kind::Sqlite, &self.folder.path().join("bench.db"));
        shop.run("CREATE TABLE noted (n INTEGER)");
        let form = json!({ "name": "bench", "kind": "sqlite", "url": shop.url });
        self.ask("POST", "/api/v1/datasources", &form)?;
        for (what, sql) in
            [("SELECT", "SELECT 1"), ("INSERT", "INSERT INTO noted VALUES (${system.task.instance.id})")]
        {
            let (per_s, cpu_us) = self.drained(what, sql)?;
            println!("| {store} | {what} | {per_s:.0} | {cpu_us:.0} | | |");
        }
        let (idle, late_ms) = self.scheduled()?;
        println!("| {store} | {SCHEDULED} schedules | | | {idle:.1} | {late_ms} |");
        Ok(())
    }

    fn ask(&mut self, method: &str, path: &str, form: &Value) -> anyhow::Result<Value> {
        let request = match method {
            "GET" => measure::get(self.server.address, path),
            _ => measure::with_body(method, self.server.address, path, &form.to_string()),
        };
        let length = self.runtime.block_on(self.connection.ask(&request)).with_context(|| path.to_owned())?;
        let mut answer: Value = serde_json::from_slice(self.connection.body(length))?;
        Ok(answer["data"].take())
    }

    /// A deployed workflow of so many independent tasks; returns its path.
    fn deployed(&mut self, name: &str, tasks: usize, sql: &str) -> anyhow::Result<String> {
        // The server closes one that rests.
        self.connection = self.runtime.block_on(Connection::open(self.server.address))?;
        let task = |number: usize| json!({ "taskName": format!("task {number:04}"), "taskType": "SQL", "datasource": "bench", "sqlContent": sql });
        let definition = json!({ "format": "lakeport.workflow/1", "workflow": { "name": name },
            "tasks": (0..tasks).map(task).collect::<Vec<_>>() });
        let mut form = json!({ "source": "json", "definition": definition });
        let preview = self.ask("POST", "/api/v1/workflows/import/preview", &form)?;
        form["previewToken"] = preview["previewToken"].clone();
        let imported = self.ask("POST", "/api/v1/workflows/import/commit", &form)?;
        let path = format!("/api/v1/workflows/{}", imported["workflowId"]);
        let record = self.ask("POST", &format!("{path}/publish"), &json!({}))?["recordId"].clone();
        self.ask("POST", &format!("{path}/publish/{record}/approve"), &json!({ "status": "APPROVED" }))?;
        while self.ask("GET", &path, &Value::Null)?["publishStatus"] != "published" {
            std::thread::sleep(POLL);
        }
        Ok(path)
    }

    /// Queued task runs until all have ended: how many a second, and the server's CPU for each.
    fn drained(&mut self, name: &str, sql: &str) -> anyhow::Result<(f64, f64)> {
        let path = self.deployed(name, TASKS, sql)?;
        let (begun, cpu_before) = (Instant::now(), self.server.cpu_s()?);
        for _ in 0..RUNS {
            self.ask("POST", &format!("{path}/execute"), &json!({}))?;
        }
        let open = "SELECT count(*) FROM runner_runs WHERE ended_at IS NULL";
        while self.store.numbers(open) != [0] {
            ensure!(begun.elapsed() < ENDED_MAX, "not all have ended after {ENDED_MAX:?}");
            std::thread::sleep(POLL);
        }
        let (took, cpu) = (begun.elapsed(), self.server.cpu_s()? - cpu_before);
        ensure!(self.store.numbers("SELECT count(*) FROM runner_runs WHERE state <> 'success'") == [0]);
        let runs = (TASKS * RUNS) as f64;
        // The history follows; what it costs belongs to the next figures otherwise.
        let executions = "SELECT count(*) FROM executions WHERE status = 'success'";
        let all = self.store.numbers("SELECT count(*) FROM runner_task_runs");
        while self.store.numbers(executions) != all {
            ensure!(begun.elapsed() < ENDED_MAX, "not all are in the history after {ENDED_MAX:?}");
            std::thread::sleep(POLL);
        }
        eprintln!("{name}: ended after {took:.1?}, in the history after {:.1?}", begun.elapsed());
        Ok((runs / took.as_secs_f64(), cpu * 1e6 / runs))
    }

    /// The cost of schedules that are not due, in percent of a core, and how late the last of them begins when all are due
    /// in the same second, in milliseconds.
    fn scheduled(&mut self) -> anyhow::Result<(f64, i64)> {
        let mut paths = Vec::with_capacity(SCHEDULED);
        for number in 0..SCHEDULED {
            let path = self.deployed(&format!("scheduled {number}"), 1, "SELECT 1")?;
            self.ask("PUT", &format!("{path}/schedule"), &json!({ "crontab": "0 0 0 1 1 ? 2090" }))?;
            self.ask("POST", &format!("{path}/schedule/online"), &json!({}))?;
            paths.push(path);
        }
        std::thread::sleep(Duration::from_secs(5));
        let cpu_before = self.server.cpu_s()?;
        std::thread::sleep(IDLE);
        let idle = (self.server.cpu_s()? - cpu_before) / IDLE.as_secs_f64() * 100.0;
        let due_s = SystemTime::UNIX_EPOCH.elapsed()?.as_secs() + AHEAD.as_secs();
        let (minute, second) = (due_s / 60 % 60, due_s % 60);
        for path in &paths {
            let crontab = format!("{second} {minute} * * * ? *");
            self.ask("PUT", &format!("{path}/schedule"), &json!({ "crontab": crontab }))?;
        }
        let due_ms = i64::try_from(due_s)? * 1_000;
        let now_s = SystemTime::UNIX_EPOCH.elapsed()?.as_secs();
        ensure!(now_s < due_s, "setting the schedules took longer than {AHEAD:?}");
        let fired =
            format!("SELECT count(*) FROM runner_runs WHERE cause = 'schedule' AND business_at = {due_ms}");
        let begun = Instant::now();
        while self.store.numbers(&fired) != [SCHEDULED as i64] {
            ensure!(begun.elapsed() < ENDED_MAX, "not all have fired");
            std::thread::sleep(POLL);
        }
        let late = "SELECT max(created_at) FROM runner_runs WHERE cause = 'schedule'";
        Ok((idle, self.store.numbers(late)[0] - due_ms))
    }
}
