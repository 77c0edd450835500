//! `cargo xtask bench reads`: the cost of common requests on both stores, in processor time of the server and
//! of its database together. On a busy machine processor time is steadier than latency.
//!
//! The server and PostgreSQL have one core; the load has the other. Prints a table in Markdown and asserts
//! only that each answer is good. `LAKEPORT_BIN` may name another binary to compare with.

use std::cell::Cell;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use lakeport_tests::measure::{self, Connection, Measured, load, pin_to_load_core};
use lakeport_tests::{KEY, Kind, Session, Warehouse};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const TABLES: usize = 1_000;
const LAYERS: [&str; 4] = ["ODS", "DWD", "DWS", "ADS"];
/// Tables when tasks are made for the second time: their cost must not grow with them.
const TABLES_AT_LAST: usize = 4_000;
const WORKFLOWS: usize = 100;
/// Created after the reads, for the tasks that are measured.
const WORKFLOWS_OF_NEW_TASKS: usize = 400;
const TASKS_OF_A_WORKFLOW: usize = 3;
const EXECUTIONS_OF_A_WORKFLOW: usize = 30;
const CLIENTS: usize = 16;
/// Per kind of request; the first second of a kind is not counted.
const TIME: Duration = Duration::from_secs(3);
const WARM_UP: Duration = Duration::from_secs(1);
/// The unit of CPU times in `/proc`.
const CLOCK_TICKS_PER_SECOND: f64 = 100.0;

pub fn bench(_: &[String]) -> anyhow::Result<()> {
    // Before threads start: they inherit it.
    pin_to_load_core()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut columns = Vec::new();
    let postgres = Kind::servers().contains(&Kind::Postgres);
    let shared = postgres.then(|| Warehouse::create(Kind::Postgres, std::path::Path::new("")));
    for store in [None, shared.as_ref()].into_iter().take(1 + usize::from(postgres)) {
        columns.push(Bench::start(&runtime, store)?.measured()?);
    }
    let names = ["SQLite", "PostgreSQL (server + database)"];
    println!("| CPU µs per request, {CLIENTS} clients | {} |", names[..columns.len()].join(" | "));
    println!("|---{}|", "|---".repeat(columns.len()));
    for (row, (what, _)) in columns[0].iter().enumerate() {
        let costs: Vec<String> = columns.iter().map(|column| column[row].1.to_string()).collect();
        println!("| {what} | {} |", costs.join(" | "));
    }
    Ok(())
}

/// The cost of a request, in µs.
#[derive(Clone, Copy)]
struct Cost {
    server: f64,
    database: Option<f64>,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.database {
            None => write!(out, "{:.0}", self.server),
            Some(database) => {
                write!(out, "{:.0} ({:.0} + {database:.0})", self.server + database, self.server)
            }
        }
    }
}

struct Bench<'r> {
    runtime: &'r Runtime,
    server: Measured,
    connection: Connection,
    store: Session,
    /// The first process of PostgreSQL.
    database: Option<u32>,
    /// The data source of all tasks, and the folder of its file.
    source: i64,
    folder: tempfile::TempDir,
    /// The next task's number.
    task: Cell<usize>,
    tables: Vec<i64>,
    workflows: Vec<i64>,
    workflows_of_new_tasks: Vec<i64>,
}

impl<'r> Bench<'r> {
    fn start(runtime: &'r Runtime, store: Option<&Warehouse>) -> anyhow::Result<Bench<'r>> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().display().to_string();
        let mut settings = vec![("LAKEPORT_RATE_LIMIT_PER_S", "1000000"), ("LAKEPORT_SQLITE_ROOTS", &*root)];
        if let Some(store) = store {
            settings.extend([("LAKEPORT_DATABASE_URL", store.url.as_str()), ("LAKEPORT_KEY", KEY)]);
        }
        let server = Measured::lakeport(&[], &settings)?;
        let connection = runtime.block_on(Connection::open(server.address))?;
        let file = format!("sqlite:{}", server.data().join("lakeport.db").display());
        let url = store.map_or(file.as_str(), |store| store.url.as_str());
        let mut session = Session::open(url).map_err(|error| anyhow::anyhow!("{error}"))?;
        let database = match store {
            None => None,
            Some(_) => {
                let own = session.numbers("SELECT pg_backend_pid()")[0];
                Some(parent_of(u32::try_from(own)?)?)
            }
        };
        let mut bench = Bench {
            runtime,
            server,
            connection,
            store: session,
            database,
            source: 0,
            task: Cell::new(0),
            tables: Vec::new(),
            workflows: Vec::new(),
            workflows_of_new_tasks: Vec::new(),
            folder,
        };
        // An empty file is an empty database, and tasks need one.
        let url = format!("sqlite:{}", bench.folder.path().join("bench.db").display());
        Session::open(&url).map_err(|error| anyhow::anyhow!("{error}"))?;
        let form = json!({ "name": "bench", "kind": "sqlite", "url": url });
        bench.source = bench.post("/api/v1/datasources", &form)?;
        Ok(bench)
    }

    fn post(&mut self, path: &str, form: &Value) -> anyhow::Result<i64> {
        let request = measure::with_body("POST", self.server.address, path, &form.to_string());
        let length = self.runtime.block_on(self.connection.ask(&request)).with_context(|| path.to_owned())?;
        let answer: Value = serde_json::from_slice(self.connection.body(length))?;
        answer["data"]["id"].as_i64().with_context(|| format!("an id in {answer}"))
    }

    /// Arranges the data and measures one request after the other.
    fn measured(mut self) -> anyhow::Result<Vec<(String, Cost)>> {
        self.define_tables(TABLES)?;
        for n in 0..WORKFLOWS {
            let id = self.post("/api/v1/workflows", &json!({ "name": format!("workflow {n}") }))?;
            self.workflows.push(id);
            for _ in 0..TASKS_OF_A_WORKFLOW {
                let task = self.task.replace(self.task.get() + 1);
                let form = self.form_of_task(id, task);
                self.post("/api/v1/tasks", &form)?;
            }
        }
        self.run_workflows();
        let detail = format!("/api/v1/workflows/{}", self.workflows[WORKFLOWS / 2]);
        let mut rows = Vec::new();
        let table = format!("/api/v1/tables/{}", self.tables[TABLES / 2]);
        for (what, path) in [
            ("health", "/health/live"),
            ("tables, page of 20", "/api/v1/tables?pageSize=20"),
            ("table detail", table.as_str()),
            ("workflows, page of 20", "/api/v1/workflows?pageSize=20"),
            ("workflow detail", detail.as_str()),
            ("executions, page of 10", "/api/v1/executions/history?pageSize=10"),
        ] {
            rows.push((what.to_owned(), self.asked(path)?));
        }
        for n in 0..WORKFLOWS_OF_NEW_TASKS {
            let id = self.post("/api/v1/workflows", &json!({ "name": format!("new tasks {n}") }))?;
            self.workflows_of_new_tasks.push(id);
        }
        for tables in [TABLES, TABLES_AT_LAST] {
            self.define_tables(tables)?;
            self.settle();
            rows.push((format!("POST /tasks, {tables} tables"), self.tasks()?));
        }
        Ok(rows)
    }

    fn define_tables(&mut self, up_to: usize) -> anyhow::Result<()> {
        for n in self.tables.len()..up_to {
            let field = |n: usize| json!({ "fieldName": format!("field_{n}"), "fieldType": "bigint" });
            let form = json!({ "tableName": format!("orders_{n:04}"), "dbName": format!("db_{}", n % 50),
                "tableComment": "one row for each order", "layer": LAYERS[n % LAYERS.len()],
                "fields": (0..5).map(field).collect::<Vec<_>>() });
            let id = self.post("/api/v1/tables", &form)?;
            self.tables.push(id);
        }
        Ok(())
    }

    /// Simulates runs: writes records for which no engine did any work.
    fn run_workflows(&mut self) {
        self.store.run(&format!(
            "INSERT INTO runs (engine, workflow_id, workflow_name, instance_id, state, cause, asked_at, ended_at) \
             SELECT 'local', id, name, 'run-' || id, 'success', 'manual', 1, 2 FROM workflows \
             WHERE name LIKE 'workflow %'; \
             INSERT INTO executions (run_id, task_key, engine, instance_id, workflow_id, workflow_name, task_id, \
             task_name, status, trigger_type, attempt, start_time, end_time, duration, tries, at, created_at, \
             updated_at) SELECT r.id, 'k' || n.i, 'local', r.instance_id, r.workflow_id, r.workflow_name, n.i, \
             'task', 'success', 'manual', 1, 1700000000000, 1700000001000, 1000, '[]', 1700000000000, \
             1700000000000, 1700000000000 FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
             WHERE i < {EXECUTIONS_OF_A_WORKFLOW}) SELECT i FROM n) n CROSS JOIN runs r"
        ));
        self.settle();
    }

    /// Does now what PostgreSQL would do by itself a minute later.
    fn settle(&mut self) {
        if self.database.is_some() {
            self.store.run("VACUUM ANALYZE");
        }
    }

    fn asked(&self, path: &str) -> anyhow::Result<Cost> {
        let request = measure::get(self.server.address, path);
        self.cost(|_, bytes| bytes.extend_from_slice(&request))
    }

    /// Creates tasks, each in the next workflow.
    fn tasks(&self) -> anyhow::Result<Cost> {
        self.cost(|_, bytes| {
            let n = self.task.replace(self.task.get() + 1);
            let form =
                self.form_of_task(self.workflows_of_new_tasks[n % WORKFLOWS_OF_NEW_TASKS], n).to_string();
            bytes.extend(measure::with_body("POST", self.server.address, "/api/v1/tasks", &form));
        })
    }

    fn form_of_task(&self, workflow: i64, n: usize) -> Value {
        let table = |n: usize| self.tables[n % self.tables.len()];
        json!({
            "task": { "workflowId": workflow, "taskName": format!("task {n}"), "taskType": "SQL",
                "datasourceId": self.source, "sqlContent": "SELECT 1" },
            // From an odd one to an even one: no cycle.
            "inputTableIds": [table(2 * n + 1)],
            "outputTableIds": [table(2 * n)],
        })
    }

    fn cost(&self, request: impl Fn(usize, &mut Vec<u8>)) -> anyhow::Result<Cost> {
        self.runtime.block_on(load(&self.server, CLIENTS, WARM_UP, &request))?;
        let before = self.database.map(cpu_of_family_s).transpose()?;
        let round = self.runtime.block_on(load(&self.server, CLIENTS, TIME, &request))?;
        let requests = round.requests_per_s * TIME.as_secs_f64();
        let after = self.database.map(cpu_of_family_s).transpose()?;
        let database = before.zip(after).map(|(before, after)| (after - before) * 1e6 / requests);
        Ok(Cost { server: round.cpu_us_per_request, database })
    }
}

/// Fields of `/proc/PID/stat` from the third one on.
fn stat_of(pid: u32) -> anyhow::Result<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = stat.rsplit_once(')').context("a name in parentheses")?;
    Ok(fields.split_whitespace().map(str::to_owned).collect())
}

fn parent_of(pid: u32) -> anyhow::Result<u32> {
    let fields = stat_of(pid)?;
    Ok(fields.get(1).context("a parent")?.parse()?)
}

/// The CPU time of a process and its children, including children that have ended.
fn cpu_of_family_s(first: u32) -> anyhow::Result<f64> {
    let mut ticks = 0.0;
    let mut found = false;
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // The process may have ended already.
        let Ok(fields) = stat_of(pid) else { continue };
        let is_first = pid == first;
        if !is_first && fields.get(1).and_then(|parent| parent.parse().ok()) != Some(first) {
            continue;
        }
        found |= is_first;
        // utime and stime, and of those that ended and were waited for cutime and cstime.
        let counted = if is_first { 11..15 } else { 11..13 };
        for field in fields.get(counted).context("times")? {
            ticks += field.parse::<f64>()?;
        }
    }
    ensure!(found, "the database's process {first} is not here");
    Ok(ticks / CLOCK_TICKS_PER_SECOND)
}
