//! Third-party programs against a real server: clients that generators make from the server's OpenAPI
//! description, and a fuzzer that checks the server against it.
//!
//! `cargo xtask test --engines` sets up the tools and names their folder in `LAKEPORT_CLIENT_TOOLS`. Each
//! test works in a folder below `target/clients`, which remains for inspection.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use lakeport_tests::{
    Away, EventStream, Kind, ModelServer, Options, Relay, Say, Server, Store, component, on_servers, stores,
    workspace,
};
use serde_json::{Value, json};

const TOOLS_VARIABLE: &str = "LAKEPORT_CLIENT_TOOLS";

#[test]
fn a_typescript_client_is_made_compiles_and_works() {
    let work = Work::begin("typescript");
    for file in ["package.json", "tsconfig.json", "main.ts"] {
        work.copy(&format!("typescript/{file}"));
    }
    let modules = tools().join("typescript/node_modules");
    std::os::unix::fs::symlink(&modules, work.folder.join("node_modules")).expect("linked");
    work.describe();
    let node = Path::new("node");
    // Members of a body that have a default may be left out.
    let how = ["openapi.json", "--output", "schema.d.ts", "--default-non-nullable", "false"];
    work.run(node, &[&["node_modules/openapi-typescript/bin/cli.js"][..], &how].concat(), &[]);
    work.run(node, &["node_modules/typescript/bin/tsc", "--project", "."], &[]);
    let url = work.database();
    for store in stores() {
        let server = work.start(&store);
        work.run(node, &["out/main.js"], &[("LAKEPORT_URL", &server.url()), ("DATASOURCE_URL", &url)]);
    }
}

#[test]
fn a_python_client_is_made_type_checks_and_works() {
    let work = Work::begin("python");
    for file in ["python/generator.yml", "python/mypy.ini", "python/main.py"] {
        work.copy(file);
    }
    work.describe();
    let python = python();
    let made = ["-m", "openapi_python_client", "generate", "--path", "openapi.json", "--meta", "none"];
    let how = ["--output-path", "lakeport_client", "--config", "generator.yml", "--fail-on-warning"];
    work.run(&python, &[&made[..], &how].concat(), &[]);
    work.run(&python, &["-m", "mypy", "lakeport_client", "main.py"], &[]);
    let url = work.database();
    for store in stores() {
        let server = work.start(&store);
        work.run(&python, &["main.py"], &[("LAKEPORT_URL", &server.url()), ("DATASOURCE_URL", &url)]);
    }
}

#[test]
fn official_clients_of_models_read_the_scripts() {
    let work = Work::begin("models");
    work.copy("python/models.py");
    let call = Say::call("run_sql", &json!({ "sql": "SELECT count(*) FROM orders" }));
    let said = [
        call.clone(),
        Say::text("There are 3, 订单."),
        Say::Status(429, Some("1"), "slow down".to_owned()),
        Say::Cut(Box::new(call)),
    ];
    let models = ModelServer::start(move |number, _| said[number % said.len()].clone());
    work.run(&python(), &["models.py"], &[("MODEL_SERVER", models.address())]);
    assert_eq!(models.requests().len(), 16);
}

/// The guard accepts the queries of two benchmarks, which are as far-fetched as honest queries come.
#[test]
fn all_queries_of_tpc_h_and_tpc_ds_pass_the_guard() {
    let work = Work::begin("tpc");
    work.copy("python/tpc.py");
    let made = "import subprocess, sys; open('tpc.json', 'w').write(subprocess.check_output([sys.executable, 'tpc.py'], text=True))";
    work.run(&python(), &["-c", made], &[]);
    let text = fs::read_to_string(work.folder.join("tpc.json")).expect("it was written");
    let benchmarks: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let texts = |value: &Value| -> Vec<String> {
        let all = value.as_array().expect("an array").iter();
        all.map(|one| one.as_str().expect("a text").to_owned()).collect()
    };
    let mut counts = Vec::new();
    for benchmark in &benchmarks {
        let Some((lake, warehouse)) = on_servers().find(|(_, warehouse)| warehouse.kind == Kind::Postgres)
        else {
            return;
        };
        texts(&benchmark["tables"]).iter().for_each(|table| warehouse.run(table));
        lake.read_in(warehouse.source);
        let name =
            lake.server.get(&format!("/api/v1/datasources/{}", warehouse.source)).data()["name"].clone();
        let queries = texts(&benchmark["queries"]);
        for (number, sql) in (1..).zip(&queries) {
            let answer = lake.server.post("/api/v1/nl2sql/run", &json!({ "datasource": name, "sql": sql }));
            assert_eq!(answer.status, 200, "query {number}: {sql}\n{answer:?}");
        }
        counts.push(queries.len());
    }
    assert_eq!(counts, [22, 99]);
}

/// DuckDB finds the types and the values of the database.
#[test]
fn a_result_as_parquet_is_read_by_a_third_party() {
    const SQL: &str = "SELECT 9007199254740993 AS whole, 0.1 + 0.2 AS exact, CAST(0.5 AS double precision) AS near, \
        true AS yes, DATE '2026-11-27' AS day, TIMESTAMPTZ '2026-11-27 10:00:00.25+02' AS at, \
        TIMESTAMP '2026-11-27 10:00:00' AS clock, '北京' AS city, CAST('\\x00ff' AS bytea) AS raw \
        UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL";
    let Some((lake, warehouse)) = on_servers().find(|(_, warehouse)| warehouse.kind == Kind::Postgres) else {
        return;
    };
    let work = Work::begin("parquet");
    work.copy("python/parquet.py");
    let ok = |response: lakeport_tests::Response| {
        assert_eq!(response.status, 200, "{response:?}");
        response.json()
    };
    let source = lake.server.get(&format!("/api/v1/datasources/{}", warehouse.source)).data();
    let call = json!({ "datasource": source["name"], "sql": SQL });
    let models = ModelServer::saying(vec![Say::call("run_sql", &call), Say::text("There it is.")]);
    let form =
        json!({ "name": "quick", "provider": "openai", "baseUrl": models.base_url("openai"), "model": "m" });
    ok(lake.server.post("/api/v1/nl2sql/models", &form));
    let topic = ok(lake.server.post("/api/v1/nl2sql/topics", &json!({ "title": "types", "model": "quick" })));
    let question = json!({ "topic_id": topic["topic_id"], "content": "What types are there?" });
    let task = ok(lake.server.post("/api/v1/nl2sql/tasks/deliver-message", &question))["task_id"].clone();
    let task = format!("/api/v1/nl2sql/tasks/{}", task.as_str().expect("an id"));
    let events = EventStream::open(lake.server.address(), &format!("{task}/events/stream"), &[]).all();
    let called = events.iter().find(|event| event.kind == "tool_result").expect("a result");
    assert_eq!(called.data["ok"], true, "{events:?}");
    let call = called.data["call_id"].as_str().expect("an id");
    let file = lake.server.get(&format!("{task}/results/{call}?format=parquet"));
    assert_eq!(file.status, 200, "{file:?}");
    fs::write(work.folder.join("result.parquet"), file.body).expect("written");
    work.run(&python(), &["parquet.py"], &[]);
}

/// npm's `eventsource` over connections that are cut.
#[test]
fn a_third_party_reader_resumes_a_stream() {
    const CUT_INTERVAL: Duration = Duration::from_millis(2_000);
    let work = Work::begin("eventsource");
    work.copy("typescript/events.mjs");
    let modules = tools().join("typescript/node_modules");
    std::os::unix::fs::symlink(&modules, work.folder.join("node_modules")).expect("linked");
    let environment = &[("LAKEPORT_EGRESS_ALLOW", "127.0.0.1")];
    let server = Server::start_as(&Store::Sqlite, Options { environment, ..Options::default() });
    // Some 15 s: the reader comes back 3 s after a cut.
    let call = Say::call("search_catalog", &json!({ "query": "orders" }));
    let slow = |say| Say::Slow(Duration::from_millis(60), Box::new(say));
    let script = std::iter::repeat_n(slow(call), 20).chain([slow(Say::text("There are none."))]);
    let models = ModelServer::saying(script.collect());
    let ok = |response: lakeport_tests::Response| {
        assert_eq!(response.status, 200, "{response:?}");
        response.json()
    };
    let form =
        json!({ "name": "slow", "provider": "openai", "baseUrl": models.base_url("openai"), "model": "m" });
    ok(server.post("/api/v1/nl2sql/models", &form));
    let topic = ok(server.post("/api/v1/nl2sql/topics", &json!({ "title": "cuts", "model": "slow" })));
    let question = json!({ "topic_id": topic["topic_id"], "content": "Where are orders?" });
    let task = ok(server.post("/api/v1/nl2sql/tasks/deliver-message", &question))["task_id"].clone();
    let relay = Relay::start(&server.address().to_string());
    let task = task.as_str().expect("an id");
    let stream = format!("http://{}/api/v1/nl2sql/tasks/{task}/events/stream", relay.address());
    let (done, cutting) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let cutting = cutting;
            while cutting.recv_timeout(CUT_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                relay.take_away(Away::Closed);
                relay.bring_back();
            }
        });
        work.run(Path::new("node"), &["events.mjs"], &[("STREAM", &stream)]);
        drop(done);
    });
}

#[test]
fn on_sqlite_fuzzed_answers_match_the_description() {
    fuzz("sqlite", |store| matches!(store, Store::Sqlite));
}

#[test]
fn on_postgresql_fuzzed_answers_match_the_description() {
    fuzz("postgresql", |store| matches!(store, Store::Postgres(_)));
}

/// Does nothing if this run has no such store; `stores` has reported that.
fn fuzz(name: &str, is_wanted: impl Fn(&Store) -> bool) {
    let Some(store) = stores().into_iter().find(is_wanted) else { return };
    let work = Work::begin(&format!("fuzzer-{name}"));
    for file in ["fuzzer/schemathesis.toml", "fuzzer/hooks.py"] {
        work.copy(file);
    }
    if std::env::var("LAKEPORT_TEST_TIER").is_ok_and(|tier| tier == "slow") {
        work.fuzz_for_long();
    }
    let server = work.start(&store);
    let (token, token_id) = prepare(&server, &work.database());
    let description = format!("{}/openapi.json", server.url());
    let arguments = ["-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run", &description];
    work.run(&python(), &arguments, &[("FUZZER_TOKEN", &token), ("FUZZER_TOKEN_ID", &token_id)]);
    let ready = server.get("/health/ready");
    assert_eq!(ready.status, 200, "after the fuzzer: {ready:?}");
}

/// Creates data to find: a plugin with two generations, a synced data source. Returns the token and its id.
fn prepare(server: &Server, url: &str) -> (String, String) {
    let stage = |name| server.post_bytes("/api/v1/plugins", "application/wasm", &component(name)).data();
    let staged = ["greeter_v1", "greeter_v2"].map(stage);
    server.post("/api/v1/plugins/greeter/activate", &json!({ "digest": staged[0]["digest"] })).data();
    let source = json!({ "name": "shop", "kind": "sqlite", "url": url });
    let source = server.post("/api/v1/datasources", &source).data();
    server.post(&format!("/api/v1/datasources/{}/sync", source["id"]), &json!({})).data();
    let made = server.post("/api/v1/tokens", &json!({ "name": "fuzzer", "role": "admin" })).data();
    (made["token"].as_str().expect("it is shown once").to_owned(), made["id"].to_string())
}

/// A folder to work in.
struct Work {
    folder: PathBuf,
}

impl Work {
    /// Empty at first.
    fn begin(name: &str) -> Work {
        let folder = workspace().join("target/clients").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("what an earlier run left can be removed");
        }
        fs::create_dir_all(&folder).expect("a folder");
        let folder = folder.canonicalize().expect("it was made just now");
        Work { folder }
    }

    /// Copies a file of this package.
    fn copy(&self, file: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let name = from.file_name().expect("a file has a name");
        fs::copy(&from, self.folder.join(name)).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }

    /// Makes the fuzzer send more requests, and others each time.
    fn fuzz_for_long(&self) {
        let path = self.folder.join("schemathesis.toml");
        let mut text = fs::read_to_string(&path).expect("it was copied");
        for (short, long) in
            [("deterministic = true", "deterministic = false"), ("max-examples = 50", "max-examples = 200")]
        {
            assert!(text.contains(short), "{short}");
            text = text.replace(short, long);
        }
        fs::write(&path, text).expect("it can be written");
    }

    /// A server that may open the databases here. The log, with thousands of successful requests, is shown
    /// only if a test fails.
    fn start(&self, store: &Store) -> Server {
        let roots = self.folder.to_string_lossy();
        let environment = &[("LAKEPORT_LOG", "warn"), ("LAKEPORT_SQLITE_ROOTS", &*roots)];
        Server::start_as(store, Options { environment, ..Options::default() })
    }

    /// A database with two tables; returns its address for a data source.
    fn database(&self) -> String {
        let tables = [
            "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
            "CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer_id INTEGER, amount REAL)",
        ];
        let made =
            format!("import sqlite3; sqlite3.connect('shop.db').executescript('{}')", tables.join("; "));
        self.run(&python(), &["-c", &made], &[]);
        format!("sqlite:{}", self.folder.join("shop.db").display())
    }

    /// Writes the server's OpenAPI description to a file.
    fn describe(&self) {
        let description = Server::start(&Store::Sqlite).get("/openapi.json");
        assert_eq!(description.status, 200, "{description:?}");
        fs::write(self.folder.join("openapi.json"), description.body).expect("written");
    }

    /// Runs a program here; shows its output if it fails.
    fn run(&self, program: &Path, arguments: &[&str], variables: &[(&str, &str)]) {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder).envs(variables.iter().copied());
        let output = command.output().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let settings: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let (settings, folder) = (settings.join(" "), self.folder.display());
        let line = format!("cd {folder} && {settings} {} {}", program.display(), arguments.join(" "));
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        println!("{line}\n{}", said.concat());
        assert!(output.status.success(), "{}: {line}", output.status);
    }
}

/// The folder of the interpreter and the modules.
fn tools() -> PathBuf {
    let tools = std::env::var_os(TOOLS_VARIABLE)
        .unwrap_or_else(|| panic!("{TOOLS_VARIABLE} is not set; `cargo xtask test --engines` sets it"));
    PathBuf::from(tools)
}

fn python() -> PathBuf {
    tools().join("python/bin/python")
}
