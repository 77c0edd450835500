//! A server with databases that it may open: a folder of SQLite files, and servers on this machine.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Row as _};

use crate::{Kind, Options, Server, Store, Warehouse, stores};

/// A server, and the single root of its data sources.
pub struct Lake {
    pub server: Server,
    pub files: tempfile::TempDir,
}

impl Lake {
    pub fn start(store: &Store) -> Lake {
        let mut lake = Lake::prepare(store);
        lake.server.run();
        lake
    }

    /// A server that does not run yet. Its zone is UTC.
    pub fn prepare(store: &Store) -> Lake {
        let files = tempfile::tempdir().expect("a folder");
        let roots = files.path().display().to_string();
        let environment = &[
            ("LAKEPORT_SQLITE_ROOTS", roots.as_str()),
            ("LAKEPORT_EGRESS_ALLOW", "127.0.0.1"),
            ("LAKEPORT_TIME_ZONE", "UTC"),
        ];
        let server = Server::prepare(store, Options { environment, ..Options::default() });
        Lake { server, files }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// Runs statements on a database, which is created if it does not exist.
    pub fn run(&self, name: &str, statements: &str) {
        self.open(name, async |connection| {
            connection.execute(AssertSqlSafe(statements)).await.expect("sound statements");
        });
    }

    /// The first column of every row, as integers.
    pub fn numbers(&self, name: &str, query: &str) -> Vec<i64> {
        self.open(name, async |connection| {
            let rows = connection.fetch_all(AssertSqlSafe(query)).await.expect("a sound query");
            rows.iter().map(|row| row.get(0)).collect()
        })
    }

    /// The first column of every row, as texts.
    pub fn texts(&self, name: &str, query: &str) -> Vec<String> {
        self.open(name, async |connection| {
            let rows = connection.fetch_all(AssertSqlSafe(query)).await.expect("a sound query");
            rows.iter().map(|row| row.get(0)).collect()
        })
    }

    /// Works on a database outside of the server.
    pub fn open<T>(&self, name: &str, work: impl AsyncFnOnce(&mut SqliteConnection) -> T) -> T {
        on_sqlite(&self.path(name), work)
    }

    /// A data source for a file; returns its id.
    pub fn source(&self, name: &str) -> i64 {
        let form = json!({ "name": name, "kind": "sqlite", "url": format!("sqlite:{name}") });
        id_of(&self.server.post("/api/v1/datasources", &form).data())
    }

    /// A new database with its data source.
    pub fn warehouse(&self, kind: Kind) -> Warehouse {
        let file = self.files.path();
        let number = std::fs::read_dir(file).expect("the folder is there").count();
        let mut warehouse = Warehouse::create(kind, &file.join(format!("warehouse-{number}.db")));
        let mut form = json!({ "name": warehouse.name, "kind": kind.dialect(), "url": warehouse.url });
        if kind == Kind::Mariadb {
            // Including databases beside the one in the address.
            form["options"] = json!({ "databases": ["*"] });
        }
        warehouse.source = id_of(&self.server.post("/api/v1/datasources", &form).data());
        warehouse
    }

    /// Another data source for the same database, without the first one's tables; returns its id.
    pub fn another_source_of(&self, warehouse: &Warehouse) -> i64 {
        let name = format!("{} again", warehouse.name);
        let form = json!({ "name": name, "kind": warehouse.kind.dialect(), "url": warehouse.url });
        id_of(&self.server.post("/api/v1/datasources", &form).data())
    }

    /// A table of the catalogue with its fields, the first one its key; returns its id.
    pub fn table_of(&self, warehouse: &Warehouse, name: &str, fields: &[(&str, &str)]) -> i64 {
        self.table_in(warehouse.source, &warehouse.db, name, fields)
    }

    /// The same, created in its database.
    pub fn physical_table_of(&self, warehouse: &Warehouse, name: &str, fields: &[(&str, &str)]) -> i64 {
        let id = self.table_of(warehouse, name, fields);
        self.server.post(&format!("/api/v1/tables/{id}/physical"), &json!({})).data();
        id
    }

    /// Syncs a data source, and waits for the end.
    pub fn read_in(&self, source: i64) -> Value {
        let path = format!("/api/v1/datasources/{source}/sync");
        let first = self.server.post(&path, &json!({})).data();
        if first["state"] != "running" {
            return first;
        }
        crate::eventually("the tables are read in", std::time::Duration::from_secs(60), || {
            Some(self.server.get(&path).data()).filter(|sync| sync["state"] != "running")
        })
    }

    /// A table of the catalogue with its fields: `("id", "INTEGER")`, the first one its key; returns its id.
    pub fn table(&self, source: i64, name: &str, fields: &[(&str, &str)]) -> i64 {
        self.table_in(source, "main", name, fields)
    }

    fn table_in(&self, source: i64, db: &str, name: &str, fields: &[(&str, &str)]) -> i64 {
        let form = json!({ "tableName": name, "dbName": db, "clusterId": source });
        let id = id_of(&self.server.post("/api/v1/tables", &form).data());
        for (place, (field, type_text)) in fields.iter().enumerate() {
            let form = json!({ "fieldName": field, "fieldType": type_text, "isPrimaryKey": place == 0 });
            self.server.post(&format!("/api/v1/tables/{id}/fields"), &form).data();
        }
        id
    }

    /// The same, created in its database.
    pub fn physical_table(&self, source: i64, name: &str, fields: &[(&str, &str)]) -> i64 {
        let address = self.server.get(&format!("/api/v1/datasources/{source}")).data()["url"].clone();
        let file = address.as_str().and_then(|url| url.strip_prefix("sqlite:")).expect("a SQLite file");
        // An empty file is an empty database.
        self.run(file, "");
        let id = self.table(source, name, fields);
        self.server.post(&format!("/api/v1/tables/{id}/physical"), &json!({})).data();
        id
    }

    /// A workflow on the engine `local`; returns its id.
    pub fn workflow(&self, name: &str) -> i64 {
        id_of(&self.server.post("/api/v1/workflows", &json!({ "name": name })).data())
    }

    /// A task in SQL; returns its id.
    pub fn task(&self, workflow: i64, name: &str, source: i64, sql: &str, tables: [&[i64]; 2]) -> i64 {
        let form = json!({
            "task": { "workflowId": workflow, "taskName": name, "taskType": "SQL", "datasourceId": source,
                "sqlContent": sql },
            "inputTableIds": tables[0],
            "outputTableIds": tables[1],
        });
        id_of(&self.server.post("/api/v1/tasks", &form).data())
    }

    /// Publishes the current version and waits until it is deployed.
    pub fn deploy(&self, workflow: i64) -> Value {
        let path = format!("/api/v1/workflows/{workflow}");
        let record = self.server.post(&format!("{path}/publish"), &json!({ "comment": "go" })).data();
        let approve = format!("{path}/publish/{}/approve", record["recordId"]);
        self.server.post(&approve, &json!({ "status": "APPROVED", "comment": "fine" })).data();
        crate::eventually("the workflow is deployed", std::time::Duration::from_secs(20), || {
            let workflow = self.server.get(&path).data();
            let deployment = &workflow["publications"][0]["deployment"];
            assert_ne!(deployment["state"], "failed", "{deployment}");
            (deployment["state"] == "success").then_some(workflow)
        })
    }

    /// Runs a workflow now; returns the engine's id of the run.
    pub fn execute(&self, workflow: i64) -> String {
        let answer = self.server.post(&format!("/api/v1/workflows/{workflow}/execute"), &json!({})).data();
        answer.as_str().expect("the id is a text").to_owned()
    }

    /// The executions of a run, by their tasks' names.
    pub fn executions(&self, instance: &str) -> Vec<Value> {
        let page = self.server.get("/api/v1/executions/history?pageSize=500").data();
        let records = page["records"].as_array().expect("records");
        let mut of: Vec<Value> =
            records.iter().filter(|record| record["instanceId"] == instance).cloned().collect();
        of.sort_by_key(|record| record["taskName"].to_string());
        of
    }

    /// The executions of a run once there are `count` and none is running.
    pub fn ended(&self, instance: &str, count: usize) -> Vec<Value> {
        crate::eventually("the run ends", std::time::Duration::from_secs(60), || {
            let executions = self.executions(instance);
            let is_over = |record: &Value| !matches!(record["status"].as_str(), Some("pending" | "running"));
            (executions.len() >= count && executions.iter().all(is_over)).then_some(executions)
        })
    }
}

/// A server on each store with an empty database of each kind, one after the other.
pub fn everywhere() -> impl Iterator<Item = (Lake, Warehouse)> {
    on(Kind::all())
}

/// The same for databases that are servers.
pub fn on_servers() -> impl Iterator<Item = (Lake, Warehouse)> {
    on(Kind::servers())
}

fn on(kinds: Vec<Kind>) -> impl Iterator<Item = (Lake, Warehouse)> {
    let pairs = stores()
        .into_iter()
        .flat_map(move |store| kinds.clone().into_iter().map(move |kind| (store.clone(), kind)));
    pairs.map(|(store, kind)| {
        eprintln!("on {kind:?}, with the store {store:?}");
        let lake = Lake::start(&store);
        let warehouse = lake.warehouse(kind);
        (lake, warehouse)
    })
}

/// Works on a SQLite file, which is created if it does not exist.
pub fn on_sqlite<T>(path: &Path, work: impl AsyncFnOnce(&mut SqliteConnection) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
        let mut connection = options.connect().await.expect("the file opens");
        let done = work(&mut connection).await;
        connection.close().await.expect("it closes");
        done
    })
}

/// The `id` of an answer.
pub fn id_of(answer: &Value) -> i64 {
    answer["id"].as_i64().unwrap_or_else(|| panic!("no id in {answer}"))
}
