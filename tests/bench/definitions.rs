//! `cargo xtask bench definitions`: a workflow of 500 tasks (details, comparison, preview of its publication), the import
//! of 2,000 tasks, and pages of a list of 100,000 workflows, on both stores.
//!
//! The server and PostgreSQL have one core, the load has the other. Prints a table in Markdown and asserts only that each
//! answer is good.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use lakeport_tests::measure::{self, Connection, Measured, pin_to_load_core};
use lakeport_tests::{KEY, Kind, Session, Warehouse};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const TABLES: usize = 50;
const TASKS: usize = 500;
const IMPORTED_TASKS: usize = 2_000;
/// The workflows of the long list.
const WORKFLOWS: usize = 100_000;
/// Requests of each kind; of those before them none is counted.
const REQUESTS: usize = 300;
const WARM_UP: usize = 10;

pub fn bench(_: &[String]) -> anyhow::Result<()> {
    // Before threads start: they inherit it.
    pin_to_load_core()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let postgres = Kind::servers().contains(&Kind::Postgres);
    let shared = postgres.then(|| Warehouse::create(Kind::Postgres, std::path::Path::new("")));
    for store in [None, shared.as_ref()].into_iter().take(1 + usize::from(postgres)) {
        let name = if store.is_some() { "PostgreSQL" } else { "SQLite" };
        println!("| on {name} | p50, ms | p99, ms | server CPU, µs |\n|---|---|---|---|");
        Bench::start(&runtime, store)?.measured()?;
        println!();
    }
    Ok(())
}

struct Bench<'r> {
    runtime: &'r Runtime,
    server: Measured,
    connection: Connection,
    store: Session,
    _folder: tempfile::TempDir,
}

impl<'r> Bench<'r> {
    fn start(runtime: &'r Runtime, shared: Option<&Warehouse>) -> anyhow::Result<Bench<'r>> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().display().to_string();
        let mut settings = vec![
            ("LAKEPORT_RATE_LIMIT_PER_S", "1000000"),
            ("LAKEPORT_EGRESS_ALLOW", "127.0.0.1"),
            ("LAKEPORT_SQLITE_ROOTS", root.as_str()),
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
        Ok(Bench { runtime, server, connection, store, _folder: folder })
    }

    fn ask(&mut self, method: &str, path: &str, form: &Value) -> anyhow::Result<Value> {
        let request = measure::with_body(method, self.server.address, path, &form.to_string());
        let length = self.runtime.block_on(self.connection.ask(&request)).with_context(|| path.to_owned())?;
        let mut answer: Value = serde_json::from_slice(self.connection.body(length))?;
        Ok(answer["data"].take())
    }

    /// Prints a row of the table.
    fn row(&mut self, what: &str, method: &str, path: &str, form: &Value) -> anyhow::Result<()> {
        let request = match method {
            "GET" => measure::get(self.server.address, path),
            _ => measure::with_body(method, self.server.address, path, &form.to_string()),
        };
        let mut times = Vec::with_capacity(REQUESTS);
        let mut cpu_s = 0.0;
        for number in 0..WARM_UP + REQUESTS {
            if number == WARM_UP {
                cpu_s = self.server.cpu_s()?;
            }
            let begun = Instant::now();
            self.runtime.block_on(self.connection.ask(&request)).with_context(|| path.to_owned())?;
            if number >= WARM_UP {
                times.push(begun.elapsed());
            }
        }
        let cpu_us = (self.server.cpu_s()? - cpu_s) * 1e6 / REQUESTS as f64;
        times.sort_unstable();
        let of = |hundredth: usize| times[REQUESTS * hundredth / 100].as_secs_f64() * 1e3;
        println!("| {what} | {:.2} | {:.2} | {cpu_us:.0} |", of(50), of(99));
        Ok(())
    }

    fn import(&mut self, definition: Value, workflow: Option<i64>) -> anyhow::Result<(i64, Duration)> {
        let mut form = json!({ "source": "json", "definition": definition, "workflowId": workflow });
        let begun = Instant::now();
        let preview = self.ask("POST", "/api/v1/workflows/import/preview", &form)?;
        ensure!(preview["canImport"] == true, "{preview}");
        form["previewToken"] = preview["previewToken"].clone();
        let imported = self.ask("POST", "/api/v1/workflows/import/commit", &form)?;
        Ok((imported["workflowId"].as_i64().context("an id")?, begun.elapsed()))
    }

    fn measured(mut self) -> anyhow::Result<()> {
        let form = json!({ "name": "bench", "kind": "sqlite", "url": "sqlite:bench.db" });
        let source = self.ask("POST", "/api/v1/datasources", &form)?["id"].clone();
        for table in 0..TABLES {
            let form = json!({ "tableName": format!("t{table}"), "dbName": "main", "clusterId": source });
            self.ask("POST", "/api/v1/tables", &form)?;
        }
        let (_, took) = self.import(definition("imported", IMPORTED_TASKS), None)?;
        println!("| {IMPORTED_TASKS} tasks, preview and import | {:.0} | | |", took.as_secs_f64() * 1e3);
        let (id, _) = self.import(definition("large", TASKS), None)?;
        let mut changed = definition("large", TASKS);
        for task in changed["tasks"].as_array_mut().context("tasks")?.iter_mut().step_by(2) {
            task["retryTimes"] = json!(3);
            task["sqlContent"] =
                json!(format!("{}\nLIMIT 10", task["sqlContent"].as_str().unwrap_or_default()));
        }
        self.import(changed, Some(id))?;
        let (small, _) = self.import(definition("small", 3), None)?;
        let path = format!("/api/v1/workflows/{id}");
        let versions = json!({ "v1": 1, "v2": 2 });
        self.row("details of 3 tasks", "GET", &format!("/api/v1/workflows/{small}"), &Value::Null)?;
        self.row(&format!("details of {TASKS} tasks"), "GET", &path, &Value::Null)?;
        self.row("comparison, half of them changed", "POST", &format!("{path}/versions/compare"), &versions)?;
        let preview = format!("{path}/publish/preview");
        self.row("preview of the first publication", "GET", &preview, &Value::Null)?;
        let record = self.ask("POST", &format!("{path}/publish"), &json!({}))?["recordId"].clone();
        self.ask("POST", &format!("{path}/publish/{record}/approve"), &json!({ "status": "APPROVED" }))?;
        while self.ask("GET", &path, &Value::Null)?["publishStatus"] != "published" {
            std::thread::sleep(Duration::from_millis(50));
        }
        self.row("preview of another publication", "GET", &preview, &Value::Null)?;
        self.many();
        // The server follows its change log: the next change makes it read all names again.
        self.ask("PUT", &path, &json!({ "description": "one of many" }))?;
        let page = "/api/v1/workflows?pageSize=20";
        for (what, query) in [
            ("page of 20 of 100,000", ""),
            ("keyword that few have, and status", "&keyword=flow%20990&status=draft"),
            ("keyword that all have, and status", "&keyword=FLOW&status=draft"),
            ("keyword that none has, and status", "&keyword=zebra&status=online"),
            ("the same, page 2,000", "&keyword=flow&status=draft&pageNum=2000"),
        ] {
            self.row(what, "GET", &format!("{page}{query}"), &Value::Null)?;
        }
        Ok(())
    }

    /// Adds workflows to the store itself, which takes seconds; over HTTP it would take minutes.
    fn many(&mut self) {
        let content = r#"{"name":"flow ' || n || '","description":null,"schedulerEngine":"local","globalParams":[],"schedule":null}"#;
        let rows = format!(
            "SELECT 'flow ' || n, 'flow ' || n, 'local', '{content}', 1, 1, 0, '{parts}', 0, 0, 0, 'draft', 'none', \
             'me', 'me', 5, 5 FROM numbers",
            parts = "0".repeat(64),
        );
        self.store.run(&format!(
            "INSERT INTO workflows (name, name_folded, scheduler_engine, content, version, changed_version, \
             schedule_version, parts, task_count, binding_count, text_bytes, status, publication, created_by, \
             updated_by, created_at, updated_at) WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 \
             FROM numbers WHERE n < {WORKFLOWS}) {rows}"
        ));
        self.store.run("UPDATE change_counter SET number = number + 1 WHERE id = 1");
        self.store.run(
            "INSERT INTO changes (number, topic, key, at) SELECT number, 'workflows', '*', 5 FROM change_counter",
        );
        self.store.run("ANALYZE");
    }
}

/// A document of so many tasks.
fn definition(name: &str, tasks: usize) -> Value {
    let table = |number: usize| json!([{ "datasource": "bench", "dbName": "main", "tableName": format!("t{}", number % TABLES) }]);
    let task = |number: usize| {
        let to = 1 + number % (TABLES - 1);
        json!({
            "taskName": format!("task {number:04}"), "taskType": "SQL", "datasource": "bench",
            "sqlContent": format!("INSERT INTO t{to}\nSELECT a, b, count(*)\nFROM t0\nWHERE a > {number}\nGROUP BY a, b"),
            "inputTables": table(0), "outputTables": table(to),
        })
    };
    let tasks: Vec<Value> = (0..tasks).map(task).collect();
    json!({ "format": "lakeport.workflow/1", "workflow": { "name": name }, "tasks": tasks })
}
