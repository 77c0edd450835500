//! The stores that a server is tested on.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use sqlx::{Connection as _, Executor as _};

use crate::server::{Options, Server};

/// A kind of store.
#[derive(Clone, Debug)]
pub enum Store {
    /// A file in the data folder.
    Sqlite,
    /// A new database on the server with this URL.
    Postgres(String),
}

impl Store {
    pub fn is_postgres(&self) -> bool {
        matches!(self, Store::Postgres(_))
    }
}

/// The stores to test on: the one in `LAKEPORT_TEST_STORE` (`sqlite`, `postgres`), or else SQLite, and
/// PostgreSQL if there is a server (`LAKEPORT_TEST_POSTGRES`). `cargo xtask test` sets both.
pub fn stores() -> Vec<Store> {
    let chosen = std::env::var("LAKEPORT_TEST_STORE").ok();
    let postgres = std::env::var("LAKEPORT_TEST_POSTGRES").ok().map(Store::Postgres);
    match (chosen.as_deref(), postgres) {
        (Some("sqlite"), _) => vec![Store::Sqlite],
        (Some("postgres"), Some(postgres)) => vec![postgres],
        (Some(other), _) => panic!("LAKEPORT_TEST_STORE is {other}: a store is missing or not known"),
        (None, Some(postgres)) => vec![Store::Sqlite, postgres],
        (None, None) => {
            eprintln!(
                "NOT TESTED on PostgreSQL: LAKEPORT_TEST_POSTGRES is not set; `cargo xtask test` sets it"
            );
            vec![Store::Sqlite]
        }
    }
}

/// A database of one server, dropped with it.
pub(crate) struct Database {
    url: Option<String>,
    drop: Option<(String, String)>,
}

/// The template of this run's databases.
/// Begins the names of the databases that others copy.
const TEMPLATES: &str = "lakeport_test_template_";
static TEMPLATE: OnceLock<String> = OnceLock::new();

impl Database {
    /// Without a schema.
    pub fn empty(store: &Store) -> Database {
        Database::create(store, "template1")
    }

    /// On PostgreSQL as after a first start, whose migrations take most of its time.
    pub fn migrated(store: &Store) -> Database {
        let Store::Postgres(admin) = store else { return Database::empty(store) };
        Database::create(store, TEMPLATE.get_or_init(|| template(admin)))
    }

    fn create(store: &Store, template: &str) -> Database {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let Store::Postgres(admin) = store else { return Database { url: None, drop: None } };
        let name = format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        run(admin, &format!("CREATE DATABASE {name} TEMPLATE {template}"));
        Database { url: Some(url_of(admin, &name)), drop: Some((admin.clone(), name)) }
    }

    /// The value of `--database-url`; `None`: the default.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some((admin, name)) = &self.drop {
            run(admin, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        }
    }
}

/// Makes the database that others copy, on which the program under test was started once; returns its name. It stays, for
/// the test programs that follow, until one of another build replaces it.
fn template(admin: &str) -> String {
    let binary = crate::binary();
    let file = std::fs::metadata(&binary).unwrap_or_else(|error| panic!("{}: {error}", binary.display()));
    let built =
        file.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let name = format!("{TEMPLATES}{}_{}", built.as_nanos(), file.len());
    let partial = format!("{TEMPLATES}of_{}", std::process::id());
    if try_run(&url_of(admin, &name), "SELECT 1").is_ok() {
        return name;
    }
    run(admin, &format!("DROP DATABASE IF EXISTS {partial} WITH (FORCE)"));
    run(admin, &format!("CREATE DATABASE {partial}"));
    let database = Database { url: Some(url_of(admin, &partial)), drop: None };
    let mut server = Server::over(Arc::new(database), Options::default());
    server.run();
    server.stop();
    drop(server);
    if let Err(error) = try_run(admin, &format!("ALTER DATABASE {partial} RENAME TO {name}")) {
        // Another test program was faster.
        try_run(&url_of(admin, &name), "SELECT 1").unwrap_or_else(|_| panic!("{error}"));
        run(admin, &format!("DROP DATABASE {partial} WITH (FORCE)"));
    }
    for other in databases(admin, TEMPLATES) {
        if other != name && !other.starts_with(&format!("{TEMPLATES}of_")) {
            let _ = try_run(admin, &format!("DROP DATABASE IF EXISTS {other}"));
        }
    }
    name
}

/// The names of the databases that begin with a text.
fn databases(admin: &str, prefix: &str) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let found = runtime.block_on(async {
        let mut connection = sqlx::PgConnection::connect(admin).await?;
        let select = "SELECT datname FROM pg_database WHERE starts_with(datname, $1)";
        sqlx::query_scalar(select).bind(prefix).fetch_all(&mut connection).await
    });
    found.unwrap_or_else(|error| panic!("the list of databases: {error}"))
}

fn url_of(admin: &str, database: &str) -> String {
    let base = admin.rsplit_once('/').map_or(admin, |(base, _)| base);
    format!("{base}/{database}")
}

/// Runs one statement of the test on a connection of its own.
fn run(url: &str, statement: &str) {
    if let Err(error) = try_run(url, statement)
        && !std::thread::panicking()
    {
        panic!("{statement}: {error}");
    }
}

/// The same on either kind of database; the error is its message.
pub(crate) fn try_run(url: &str, statement: &str) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let statement = || sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()));
    let done = runtime.block_on(async {
        if url.starts_with("sqlite:") {
            let mut connection = sqlx::SqliteConnection::connect(url).await?;
            connection.execute(statement()).await?;
            return connection.close().await;
        }
        let mut connection = sqlx::PgConnection::connect(url).await?;
        connection.execute(statement()).await?;
        connection.close().await
    });
    done.map_err(|error| error.to_string())
}
