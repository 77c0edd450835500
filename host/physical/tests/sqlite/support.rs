//! A SQLite file, the real dialect in the real plugin host, and the plan executor on both.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lakeport_bindings::dialect::planner::Change;
use lakeport_bindings::dialect::schema::{DefaultValue, Field, Table, TableName};
use lakeport_physical::{
    Database, Outcome, PlanExecutor, Request, RunError, SqliteDatabase, WorkerProcesses,
};
use lakeport_plugins::dialect::Dialect;
use lakeport_plugins::{Origin, Registry, RegistrySettings, Sandbox, SandboxSettings};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, Row};
use tokio::sync::OnceCell;

/// A component's bytes: `profile/path` below the folder of built components.
#[expect(clippy::disallowed_methods, reason = "a test has no configuration but its environment")]
pub fn component(name: &str) -> Vec<u8> {
    let folder = std::env::var_os("LAKEPORT_WASM_DIR").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/components")),
        PathBuf::from,
    );
    let path = folder.join(name);
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; `cargo xtask build` builds it", path.display()))
}

/// The dialect of a component, staged and active. It is never quarantined: some are attacked on purpose.
pub async fn dialect_of(name: &str) -> Dialect {
    dialect_quarantined_after(0, name).await
}

/// The dialect of a component, staged and active.
pub async fn dialect_quarantined_after(quarantine_after: u64, name: &str) -> Dialect {
    let sandbox = Sandbox::new(&SandboxSettings::default(), None).expect("the engine starts on this machine");
    let settings = RegistrySettings { quarantine_after, ..RegistrySettings::default() };
    let registry = Arc::new(Registry::new(Arc::new(sandbox), settings));
    let staged = registry.stage(component(name), Origin::Uploaded).await;
    let generation = staged.unwrap_or_else(|error| panic!("{name}: {error}")).generation;
    registry.activate(&generation.id, &generation.digest, None).expect("it was just staged");
    registry.dialect(&generation.id.name, "")
}

/// One database and the dialect for it.
pub struct Bench {
    pub dialect: Dialect,
    folder: tempfile::TempDir,
}

impl Bench {
    /// A new file in which these statements were run.
    pub async fn new(statements: &[&str]) -> Bench {
        Bench::with(dialect_of("plugin/dialect_sqlite.wasm").await, statements).await
    }

    pub async fn with(dialect: Dialect, statements: &[&str]) -> Bench {
        let bench = Bench { dialect, folder: tempfile::tempdir().expect("a folder") };
        let mut connection = bench.connect(true).await;
        for statement in statements {
            connection.execute(AssertSqlSafe(*statement)).await.expect("a sound statement");
        }
        // An empty database is an empty file until something is written.
        connection.execute("PRAGMA user_version = 1").await.expect("a sound statement");
        connection.close().await.expect("closes");
        bench
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("shop.db")
    }

    pub fn database(&self) -> Database {
        Database::Sqlite(SqliteDatabase::at(self.path(), WorkerProcesses::inside()))
    }

    pub async fn connect(&self, create: bool) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.path()).create_if_missing(create);
        options.connect().await.expect("the file opens")
    }

    /// The first column of all rows, as text.
    pub async fn query(&self, sql: &str) -> Vec<String> {
        let mut connection = self.connect(false).await;
        let rows = connection.fetch_all(AssertSqlSafe(sql)).await.expect("a sound query");
        connection.close().await.expect("closes");
        rows.iter().map(|row| row.get::<String, _>(0)).collect()
    }

    /// Every statement of the schema.
    pub async fn schema(&self) -> Vec<String> {
        self.query("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name").await
    }

    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path()).expect("the file is there")
    }

    pub async fn run(&self, change: Change) -> Result<Outcome, RunError> {
        self.ask(change, false).await
    }

    pub async fn ask(&self, change: Change, dry_run: bool) -> Result<Outcome, RunError> {
        let database = self.database();
        let executor = PlanExecutor {
            database: &database,
            dialect: &self.dialect,
            options: "{}",
            id: "test".into(),
            server: &OnceCell::new(),
            cancelled: Arc::new(AtomicBool::new(false)),
        };
        executor.run(Request { change, dry_run }).await
    }
}

pub fn field(name: &str, type_text: &str) -> Field {
    Field {
        name: name.to_owned(),
        type_text: type_text.to_owned(),
        nullable: true,
        key: false,
        comment: String::new(),
        defaults_to: DefaultValue::Absent,
        generated: None,
        extra: None,
    }
}

pub fn table(name: &str, fields: Vec<Field>) -> Table {
    let keys = fields.iter().filter(|field| field.key).map(|field| field.name.clone()).collect();
    Table {
        name: TableName { database: "main".to_owned(), name: name.to_owned() },
        kind: "table".to_owned(),
        comment: String::new(),
        fields,
        keys,
        model: None,
        distribution: Vec::new(),
        buckets: None,
        replicas: None,
        partition: Vec::new(),
        companions: Vec::new(),
        extra: None,
    }
}

/// A table by name only: the plan executor reads the rest.
pub fn named(name: &str) -> Table {
    table(name, Vec::new())
}
