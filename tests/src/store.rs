//! The stores that a server is tested on.

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{Connection as _, Executor as _};

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

impl Database {
    pub fn create(store: &Store) -> Database {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let Store::Postgres(admin) = store else { return Database { url: None, drop: None } };
        let name = format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        run(admin, &format!("CREATE DATABASE {name}"));
        let base = admin.rsplit_once('/').map_or(admin.as_str(), |(base, _)| base);
        Database { url: Some(format!("{base}/{name}")), drop: Some((admin.clone(), name)) }
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
