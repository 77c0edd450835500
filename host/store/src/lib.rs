//! The store of the server's own state: one handle over SQLite and PostgreSQL.
//!
//! One SQL text serves both: `$1`, `RETURNING`, `ON CONFLICT`; times are i64 milliseconds. SQLite has one
//! writer, whose transactions begin with the write lock, and several readers; PostgreSQL has a pool. Every
//! wait is bounded and ends in 503 `store_busy`. This module knows no domain, and no text of a user or a
//! model ever goes through it: statements are part of the program, and [`tables`] alone writes some from names
//! of the store's own catalogue.
//!
//! Beside statements there are four things that every module may need: [`changes`], the log that others follow;
//! [`leases`], who may do a piece of work; [`jobs`], the loop of a worker; [`dump`], all rows in and out.

pub mod changes;
pub mod dump;
mod failure;
mod group;
pub mod jobs;
pub mod leases;
mod migrate;
mod pool;
mod postgres;
mod postgres_pool;
mod readers;
mod retained;
mod snapshot;
mod sqlite;
mod tables;
#[cfg(feature = "testing")]
pub mod testing;
mod together;
mod transaction;
mod value;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_base::failpoints;

pub use changes::{Applied, Changes, Event, Feed, Followed, Follows, Subscription};
use changes::{Changed, Signal};
pub use group::{Group, WriteTogether};
pub use leases::{Held, Lease, Leases};
pub use migrate::{Migration, SchemaVersion, newest_version};
use readers::Readers;
pub use retained::Retained;
use snapshot::Moment;
pub use snapshot::Snapshot;
use sqlite::Sql;
pub use tables::count_rows;
pub use together::{Select, Selects, Statement};
pub use value::{ByName, FromValue, Row, Value};
use writer::Writer;

/// The longest wait for a connection or a lock.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A handle to the store; clones share it.
#[derive(Clone)]
pub struct Db {
    store: Store,
    signal: Arc<Signal>,
    /// Where all reads of this handle see one moment.
    moment: Option<Arc<Moment>>,
}

#[derive(Clone)]
enum Store {
    Sqlite { writer: Writer, readers: Readers },
    Postgres(postgres::Postgres),
}

/// A transaction that writes. Dropped without [`Tx::commit`], it changes nothing.
pub struct Tx {
    transaction: Begun,
    /// For the change log; written as the last thing before the commit, for the log's lock is held until then.
    changed: Changed,
    /// Writes that go with the commit, see [`Tx::execute_later`].
    later: Vec<Statement>,
    signal: Arc<Signal>,
}

/// A transaction of either store.
enum Begun {
    Sqlite(transaction::Transaction),
    Postgres(postgres_pool::Transaction),
}

/// One statement where the two stores need different words.
#[derive(Debug, Clone, Copy)]
pub struct Either {
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

impl Either {
    fn words(self, is_postgres: bool) -> &'static str {
        if is_postgres { self.postgres } else { self.sqlite }
    }
}

impl From<&'static str> for Either {
    /// The same words for both.
    fn from(sql: &'static str) -> Either {
        Either { sqlite: sql, postgres: sql }
    }
}

/// Where a store is, from its address.
#[derive(Clone, PartialEq, Eq)]
pub enum Address {
    Sqlite(PathBuf),
    /// May hold a password.
    Postgres(String),
}

impl std::fmt::Debug for Address {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Sqlite(path) => write!(out, "Sqlite({})", path.display()),
            Address::Postgres(_) => out.write_str("Postgres"),
        }
    }
}

impl Address {
    /// `sqlite:<path>`, `sqlite://<path>`, `postgres://…` or `postgresql://…`.
    pub fn parse(url: &str) -> Result<Address, String> {
        let path = url.strip_prefix("sqlite://").or_else(|| url.strip_prefix("sqlite:"));
        match path {
            Some("" | ":memory:") => Err("names no file; write `sqlite:<path>`".to_owned()),
            Some(path) if path.contains('?') => {
                Err("has options after `?`; write `sqlite:<path>` alone".to_owned())
            }
            Some(path) => Ok(Address::Sqlite(PathBuf::from(path))),
            None if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                postgres::check_url(url)?;
                Ok(Address::Postgres(url.to_owned()))
            }
            None => {
                Err("is neither `sqlite:<path>` nor `postgres://user:password@host:5432/database`".to_owned())
            }
        }
    }
}

impl Db {
    /// Connects; makes the SQLite file (mode 0600) where there is none. Changes no schema.
    pub async fn connect(address: &Address) -> anyhow::Result<Db> {
        let store = match address {
            Address::Sqlite(path) => {
                Store::Sqlite { writer: Writer::connect(path).await?, readers: Readers::new(path) }
            }
            Address::Postgres(url) => postgres::connect(url).await?,
        };
        Ok(Db { store, signal: Arc::default(), moment: None })
    }

    /// Brings the schema to this version of the program, or says why it cannot.
    pub async fn migrate(&self) -> anyhow::Result<()> {
        migrate::run(self).await
    }

    /// What the store's schema is at; changes nothing.
    pub async fn schema_version(&self) -> anyhow::Result<SchemaVersion> {
        migrate::version(self).await
    }

    /// Whether it has no table at all, also none of another program.
    pub async fn is_empty(&self) -> Result<bool, Error> {
        migrate::is_empty(self).await
    }

    /// `SQLite` or `PostgreSQL`.
    pub fn product(&self) -> &'static str {
        self.words(Either { sqlite: "SQLite", postgres: "PostgreSQL" })
    }

    /// Whether other servers may share this store.
    pub fn is_shared(&self) -> bool {
        matches!(self.store, Store::Postgres(_))
    }

    /// The words for this store.
    pub fn words(&self, either: Either) -> &'static str {
        either.words(self.is_shared())
    }

    /// Runs a reading statement.
    pub async fn read(&self, sql: &'static str, values: &[Value]) -> Result<Vec<Row>, Error> {
        if let Some(moment) = &self.moment {
            return moment.read(sql, values).await;
        }
        match &self.store {
            Store::Sqlite { readers, .. } => Ok(readers.fetch(Sql::Fixed(sql), values).await?),
            Store::Postgres(postgres) => postgres::decode_all(&postgres.connections.read(sql, values).await?),
        }
    }

    /// Runs a reading statement that was put together in [`tables`].
    async fn read_made(&self, sql: Sql) -> Result<Vec<Row>, Error> {
        match &self.store {
            Store::Sqlite { readers, .. } => Ok(readers.fetch(sql, &[]).await?),
            Store::Postgres(postgres) => postgres::decode_all(&postgres.connections.read(sql, &[]).await?),
        }
    }

    /// Runs one writing statement in a transaction of its own; answers the number of rows it changed.
    pub async fn execute(&self, sql: &'static str, values: &[Value]) -> Result<u64, Error> {
        let mut tx = self.begin().await?;
        let changed = tx.execute(sql, values).await?;
        tx.commit().await?;
        Ok(changed)
    }

    /// Begins a transaction that writes. On SQLite it has the write lock from the start.
    pub async fn begin(&self) -> Result<Tx, Error> {
        let transaction = match &self.store {
            Store::Sqlite { writer, .. } => Begun::Sqlite(writer.begin().await?),
            Store::Postgres(postgres) => Begun::Postgres(postgres.connections.begin("BEGIN").await?),
        };
        Ok(Tx {
            transaction,
            changed: Changed::default(),
            later: Vec::new(),
            signal: Arc::clone(&self.signal),
        })
    }

    /// Ends all connections; waits until they are closed.
    pub async fn close(&self) {
        match &self.store {
            Store::Sqlite { writer, readers } => {
                readers.close().await;
                writer.close().await;
            }
            Store::Postgres(postgres) => {
                postgres.connections.close().await;
                postgres.listener.close().await;
            }
        }
    }
}

impl Tx {
    /// Runs a statement that answers rows: a read, or a write with `RETURNING`.
    pub async fn query(&mut self, sql: &'static str, values: &[Value]) -> Result<Vec<Row>, Error> {
        self.answered(async |transaction| transaction.fetch(sql, values).await).await
    }

    /// Runs a statement and answers the number of rows it changed.
    pub async fn execute(&mut self, sql: &'static str, values: &[Value]) -> Result<u64, Error> {
        self.answered(async |transaction| transaction.execute(sql, values).await).await
    }

    /// Bounds the wait for a server that vanished without a word. A statement of SQLite ends by itself.
    async fn answered<T>(
        &mut self,
        statement: impl AsyncFnOnce(&mut Begun) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let is_on_postgres = self.is_on_postgres();
        let statement = statement(&mut self.transaction);
        if is_on_postgres { postgres_pool::answer(statement).await } else { statement.await }
    }

    /// The words for this store.
    pub fn words(&self, either: Either) -> &'static str {
        self.transaction.words(either)
    }

    fn is_on_postgres(&self) -> bool {
        self.transaction.is_on_postgres()
    }

    /// Keeps all of it, with what [`Tx::changed`] was told.
    pub async fn commit(self) -> Result<(), Error> {
        self.commit_numbered().await.map(drop)
    }

    /// Keeps all of it; answers the number of its last change, where it had any.
    pub async fn commit_numbered(mut self) -> Result<Option<i64>, Error> {
        let number = self.write_changes().await?;
        if number.is_some() {
            failpoints::reach("changes.before_commit");
        }
        match self.transaction {
            Begun::Sqlite(tx) => tx.commit().await?,
            Begun::Postgres(tx) => tx.commit().await.map_err(uncertain)?,
        }
        if let Some(number) = number {
            failpoints::reach("changes.committed");
            self.signal.committed(number);
        }
        Ok(number)
    }

    /// Runs a migration's statements.
    async fn batch(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        match &mut self.transaction {
            Begun::Sqlite(tx) => tx.batch(sql).await,
            Begun::Postgres(tx) => sqlx::raw_sql(sql).execute(tx.connection()?).await.map(drop),
        }
    }
}

/// The error of a COMMIT: without its answer, whether it was kept is unknown.
fn uncertain(error: sqlx::Error) -> Error {
    if !lakeport_base::error::is_lost(&error) {
        return error.into();
    }
    tracing::warn!("the connection to the store was lost in a commit: {error}");
    let message = "the store did not say whether the change was kept, so it may have been made: \
        look before you try again, or repeat the request with the same Idempotency-Key";
    Error::unavailable("store_busy", message).retry_after(1)
}

impl Begun {
    fn is_on_postgres(&self) -> bool {
        matches!(self, Begun::Postgres(_))
    }

    fn words(&self, either: Either) -> &'static str {
        either.words(self.is_on_postgres())
    }

    async fn fetch(&mut self, sql: impl Into<Sql>, values: &[Value]) -> Result<Vec<Row>, Error> {
        match self {
            Begun::Sqlite(tx) => Ok(tx.run(sql.into(), values).await?.rows),
            Begun::Postgres(tx) => postgres::fetch(tx.connection()?, sql.into(), values).await,
        }
    }

    async fn execute(&mut self, sql: impl Into<Sql>, values: &[Value]) -> Result<u64, Error> {
        match self {
            Begun::Sqlite(tx) => Ok(tx.run(sql.into(), values).await?.changed),
            Begun::Postgres(tx) => postgres::execute(tx.connection()?, sql.into(), values).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_each_store;

    const INSERT: &str = "INSERT INTO plugin_components \
        (digest, family, name, version, contract, bytes, size, staged_at) \
        VALUES ($1, $2, 'n', '1', 'c', $3, $4, 5)";

    fn component(digest: &str) -> [Value; 4] {
        [digest.into(), "tool".into(), vec![0u8, 255, 7].into(), i64::MAX.into()]
    }

    #[tokio::test]
    async fn what_is_committed_is_read_and_what_is_dropped_is_not() {
        on_each_store(async |db| {
            let mut tx = db.begin().await.unwrap();
            assert_eq!(tx.execute(INSERT, &component("a")).await.unwrap(), 1);
            tx.commit().await.unwrap();
            let mut tx = db.begin().await.unwrap();
            tx.execute(INSERT, &component("b")).await.unwrap();
            assert_eq!(tx.query("SELECT digest FROM plugin_components", &[]).await.unwrap().len(), 2);
            drop(tx);
            let rows = db.read("SELECT digest, bytes, size FROM plugin_components", &[]).await.unwrap();
            assert_eq!(rows.len(), 1);
            assert_eq!(rows[0].get::<String>(0).unwrap(), "a");
            assert_eq!(rows[0].get::<Vec<u8>>(1).unwrap(), [0, 255, 7]);
            assert_eq!(rows[0].get::<i64>(2).unwrap(), i64::MAX);
        })
        .await;
    }

    #[tokio::test]
    async fn a_null_is_bound_and_read_for_any_type() {
        const SET: &str = "INSERT INTO plugin_pointers (family, name, active_digest, canary_percent, updated_at) \
            VALUES ('tool', $1, $2, $3, 1) RETURNING active_digest, canary_percent";
        on_each_store(async |db| {
            db.execute(INSERT, &component("a")).await.unwrap();
            let mut tx = db.begin().await.unwrap();
            let none = tx.query(SET, &["x".into(), Value::Null, Value::Null]).await.unwrap();
            assert_eq!(none[0].get::<Option<String>>(0).unwrap(), None);
            assert_eq!(none[0].get::<Option<i64>>(1).unwrap(), None);
            let some = tx.query(SET, &["y".into(), "a".into(), 10.into()]).await.unwrap();
            assert_eq!(some[0].get::<Option<String>>(0).unwrap().as_deref(), Some("a"));
            assert_eq!(some[0].get::<Option<i64>>(1).unwrap(), Some(10));
            let error = none[0].get::<i64>(1).unwrap_err().to_string();
            assert!(error.contains("canary_percent"), "{error}");
        })
        .await;
    }

    #[tokio::test]
    async fn a_unique_violation_becomes_a_conflict_where_the_noun_is_known() {
        on_each_store(async |db| {
            db.execute(INSERT, &component("a")).await.unwrap();
            let error = db.execute(INSERT, &component("a")).await.unwrap_err();
            assert_eq!(error.status(), 500);
            let error = error.unique_as("name_taken", "taken");
            assert_eq!((error.status(), error.code()), (409, "name_taken"));
        })
        .await;
    }

    #[tokio::test]
    async fn a_pointer_to_a_component_that_is_not_there_is_refused() {
        const POINT: &str = "INSERT INTO plugin_pointers (family, name, active_digest, updated_at) VALUES ('tool', 'n', 'gone', 1)";
        on_each_store(async |db| assert_eq!(db.execute(POINT, &[]).await.unwrap_err().status(), 500)).await;
    }

    #[tokio::test]
    async fn booleans_and_no_rows() {
        on_each_store(async |db| {
            let rows = db.read("SELECT CAST($1 AS BIGINT) = 1 AS yes", &[1.into()]).await.unwrap();
            assert!(rows[0].get::<bool>(0).unwrap());
            assert!(db.read("SELECT id FROM plugin_activations", &[]).await.unwrap().is_empty());
        })
        .await;
    }

    #[tokio::test]
    async fn readers_see_the_last_commit_while_a_writer_works() {
        on_each_store(async |db| {
            let mut tx = db.begin().await.unwrap();
            tx.execute(INSERT, &component("a")).await.unwrap();
            assert!(db.read("SELECT digest FROM plugin_components", &[]).await.unwrap().is_empty());
            tx.commit().await.unwrap();
            assert_eq!(db.read("SELECT digest FROM plugin_components", &[]).await.unwrap().len(), 1);
        })
        .await;
    }

    #[test]
    fn an_address_is_a_file_or_a_server() {
        assert_eq!(Address::parse("sqlite:a/b.db"), Ok(Address::Sqlite("a/b.db".into())));
        assert_eq!(Address::parse("sqlite:///a/b.db"), Ok(Address::Sqlite("/a/b.db".into())));
        assert!(matches!(Address::parse("postgres://u:p@h/d"), Ok(Address::Postgres(_))));
        for wrong in [
            "sqlite:",
            "sqlite::memory:",
            "mysql://h/d",
            "lakeport.db",
            "sqlite:a?mode=ro",
            "postgres://h:x/d",
        ] {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
    }
}
