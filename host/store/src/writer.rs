//! The connection that writes to the SQLite store. Transactions wait for each other here, and in SQLite for
//! other processes.
//!
//! A writing statement runs on the caller's thread if it was quick so far. It cannot be stopped and restarted
//! elsewhere, as a reading one, for SQLite would roll back the whole transaction. So a statement runs on a
//! blocking thread the first time, and always if it ever took long. One that takes long after it was quick
//! holds up the caller's thread once.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use parking_lot::RwLock;
use tokio::task::spawn_blocking;

use super::failure::Failure;
use super::pool::{Lent, Pool};
use super::sqlite::{self, Place, Ran, Session, Sql};
use super::transaction::Transaction;
use super::{BUSY_TIMEOUT, Value};

/// Owner only: the store contains components and encrypted secrets.
const FILE_MODE: u32 = 0o600;
/// SQLite allows a single one.
const WRITERS: u32 = 1;
/// A writing statement of more steps is not quick: some 10,000 instructions, at most about a millisecond.
const QUICK_STEPS: i64 = 10;
/// Statements with larger values run on a blocking thread: they may be long lists.
const QUICK_BYTES: usize = 16 * 1024;
/// Pauses between two attempts to get the lock from another process.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

#[derive(Clone)]
pub(super) struct Writer {
    path: Arc<PathBuf>,
    pool: Pool<Session>,
    known: Arc<Known>,
}

/// Which statements were quick each time, by the address of their text.
#[derive(Default)]
pub(super) struct Known(RwLock<HashMap<(usize, usize), bool>>);

impl Known {
    pub fn place(&self, sql: &Sql, values: &[Value]) -> Place {
        let was_quick = sql.address().and_then(|address| self.0.read().get(&address).copied());
        let bytes: usize = values.iter().map(Value::size).sum();
        if was_quick == Some(true) && bytes <= QUICK_BYTES { Place::Here } else { Place::Thread }
    }

    pub fn learn(&self, sql: &Sql, ran: &Ran) {
        let Some(address) = sql.address() else { return };
        // A reading one is stopped if it takes long.
        let is_quick = ran.only_reads || ran.steps <= QUICK_STEPS;
        let known = self.0.read().get(&address).copied();
        if known.is_none() || (known == Some(true) && !is_quick) {
            self.0.write().insert(address, is_quick);
        }
    }
}

impl Writer {
    /// Opens the file; makes it where there is none.
    pub async fn connect(path: &Path) -> anyhow::Result<Writer> {
        let named = || format!("cannot open the store {}", path.display());
        // Created here for its mode: SQLite gives the write-ahead log the mode of the file.
        OpenOptions::new().create(true).append(true).mode(FILE_MODE).open(path).with_context(named)?;
        let shared = Arc::new(path.to_owned());
        let writer = Writer { path: shared, pool: Pool::new(WRITERS), known: Arc::default() };
        // The first connection shows whether the file is a store.
        writer.take().await.with_context(named)?.give_back();
        Ok(writer)
    }

    /// A transaction with the write lock.
    pub async fn begin(&self) -> Result<Transaction, sqlx::Error> {
        self.begin_within(BUSY_TIMEOUT).await
    }

    /// The same; waits so long for other processes.
    async fn begin_within(&self, patience: Duration) -> Result<Transaction, sqlx::Error> {
        let mut transaction = Transaction::writing(self.take().await?, Arc::clone(&self.known));
        let deadline = Instant::now() + patience;
        let mut pause = FIRST_PAUSE;
        loop {
            match transaction.begin("BEGIN IMMEDIATE") {
                Err(error) if Failure::is_busy(&error) && Instant::now() < deadline => {}
                begun => return begun.map(|()| transaction),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn take(&self) -> Result<Lent<Session>, sqlx::Error> {
        let mut lent = self.pool.take().await?;
        if lent.connection().is_none() {
            let path = Arc::clone(&self.path);
            let opening = spawn_blocking(move || Session::open_to_write(&path));
            lent.fill(opening.await.map_err(|_| sqlx::Error::WorkerCrashed)??);
        }
        Ok(lent)
    }

    pub async fn close(&self) {
        sqlite::close(&self.pool).await;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use lakeport_base::Error;

    use super::*;
    use crate::testing::on_sqlite;
    use crate::{Db, Store};

    const MAKE: &str = "CREATE TABLE kept (id INTEGER PRIMARY KEY, of INTEGER REFERENCES kept (id) \
        DEFERRABLE INITIALLY DEFERRED)";
    const INSERT: &str = "INSERT INTO kept (id) VALUES ($1)";
    /// A list of so many rows.
    const FILL: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) \
        INSERT INTO kept (id) SELECT i FROM n";
    /// Longer than a test may take.
    const ENDLESS: i64 = i64::MAX;
    const SOON: Duration = Duration::from_millis(50);

    async fn written(test: impl AsyncFn(Db, Writer)) {
        on_sqlite(async |db| {
            db.execute(MAKE, &[]).await.unwrap();
            let Store::Sqlite { writer, .. } = &db.store else { panic!("it is SQLite") };
            test(db.clone(), writer.clone()).await;
        })
        .await;
    }

    async fn count(db: &Db) -> i64 {
        db.read("SELECT count(*) FROM kept", &[]).await.unwrap()[0].get(0).unwrap()
    }

    /// Another process that has the write lock.
    fn other(writer: &Writer) -> rusqlite::Connection {
        let other = rusqlite::Connection::open(&*writer.path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        other
    }

    #[tokio::test]
    async fn a_dropped_transaction_is_rolled_back_and_its_connection_kept() {
        written(async |db, _| {
            db.execute("CREATE TEMP TABLE here (id INTEGER)", &[]).await.unwrap();
            let mut tx = db.begin().await.unwrap();
            tx.execute(INSERT, &[1.into()]).await.unwrap();
            drop(tx);
            let mut tx = db.begin().await.unwrap();
            assert!(tx.query("SELECT id FROM kept", &[]).await.unwrap().is_empty());
            assert!(tx.query("SELECT id FROM temp.here", &[]).await.is_ok());
        })
        .await;
    }

    #[tokio::test]
    async fn an_error_leaves_the_transaction_usable() {
        written(async |db, _| {
            let mut tx = db.begin().await.unwrap();
            tx.execute(INSERT, &[1.into()]).await.unwrap();
            let error = tx.execute(INSERT, &[1.into()]).await.unwrap_err();
            assert_eq!(error.unique_as("taken", "it is taken").code(), "taken");
            assert!(tx.query("SELECT wrong FROM kept", &[]).await.is_err());
            tx.execute(INSERT, &[2.into()]).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(count(&db).await, 2);
        })
        .await;
    }

    #[tokio::test]
    async fn a_transaction_that_sqlite_ended_is_refused() {
        written(async |db, _| {
            let mut tx = db.begin().await.unwrap();
            tx.execute(INSERT, &[1.into()]).await.unwrap();
            let end = tx.execute("INSERT OR ROLLBACK INTO kept (id) VALUES (1)", &[]).await;
            assert!(end.is_err());
            let refused = tx.execute(INSERT, &[2.into()]).await.unwrap_err().to_string();
            assert!(refused.contains("ended the transaction"), "{refused}");
            let refused = tx.commit().await.unwrap_err().to_string();
            assert!(refused.contains("ended the transaction"), "{refused}");
            assert_eq!(count(&db).await, 0);
            db.execute(INSERT, &[3.into()]).await.unwrap();
        })
        .await;
    }

    #[tokio::test]
    async fn a_commit_that_fails_is_rolled_back() {
        written(async |db, _| {
            let mut tx = db.begin().await.unwrap();
            tx.execute("INSERT INTO kept VALUES (1, 2)", &[]).await.unwrap();
            let error = tx.commit().await.unwrap_err().gone_as("gone", "it is gone");
            assert_eq!((error.status(), error.code()), (503, "gone"));
            assert_eq!(count(&db).await, 0);
            db.execute(INSERT, &[1.into()]).await.unwrap();
        })
        .await;
    }

    #[tokio::test]
    async fn all_rows_of_an_answer_are_written_and_counted() {
        const RETURNING: &str = "INSERT INTO kept (id) VALUES (1), (2), (3) RETURNING id";
        written(async |db, _| {
            assert_eq!(db.execute(RETURNING, &[]).await.unwrap(), 3);
            let mut tx = db.begin().await.unwrap();
            let deleted = tx.query("DELETE FROM kept WHERE id > $1 RETURNING id", &[1.into()]).await;
            assert_eq!(deleted.unwrap().len(), 2);
            tx.commit().await.unwrap();
            assert_eq!(count(&db).await, 1);
        })
        .await;
    }

    #[tokio::test]
    async fn another_process_is_waited_for_so_long_and_no_longer() {
        written(async |_, writer| {
            let other = other(&writer);
            let begun = Instant::now();
            let error = writer.begin_within(SOON).await.err().map(Error::from).unwrap();
            assert_eq!((error.status(), error.code()), (503, "store_busy"));
            assert!(begun.elapsed() >= SOON);
            let release = async {
                tokio::time::sleep(SOON).await;
                drop(other);
            };
            let (begun, ()) = tokio::join!(writer.begin_within(BUSY_TIMEOUT), release);
            let mut transaction = begun.unwrap();
            transaction.run(Sql::Fixed(INSERT), &[1.into()]).await.unwrap();
            transaction.commit().await.unwrap();
        })
        .await;
    }

    #[tokio::test]
    async fn a_wait_for_another_process_that_is_given_up_leaves_the_writer_usable() {
        written(async |db, writer| {
            let other = other(&writer);
            assert!(tokio::time::timeout(SOON, writer.begin()).await.is_err());
            drop(other);
            db.execute(INSERT, &[1.into()]).await.unwrap();
        })
        .await;
    }

    #[tokio::test]
    async fn two_tasks_that_write_wait_for_each_other() {
        written(async |db, _| {
            let mut first = db.begin().await.unwrap();
            let second = tokio::spawn({
                let db = db.clone();
                async move { db.execute(INSERT, &[1.into()]).await }
            });
            tokio::time::sleep(SOON).await;
            assert!(!second.is_finished());
            first.execute(INSERT, &[1.into()]).await.unwrap();
            first.commit().await.unwrap();
            let error = second.await.unwrap().unwrap_err();
            assert_eq!(error.unique_as("taken", "it is taken").code(), "taken");
        })
        .await;
    }

    #[tokio::test]
    async fn a_long_write_lets_others_run() {
        written(async |db, _| {
            let (mut tx, values) = (db.begin().await.unwrap(), [ENDLESS.into()]);
            let ticks = async {
                let mut every = tokio::time::interval(Duration::from_millis(1));
                for _ in 0..10 {
                    every.tick().await;
                }
            };
            // Of one thread: the writer's statement must run on another.
            tokio::select! {
                biased;
                wrote = tx.execute(FILL, &values) => panic!("it ended: {wrote:?}"),
                () = ticks => {}
            }
        })
        .await;
    }

    #[tokio::test]
    async fn many_short_writes_let_others_run() {
        written(async |db, _| {
            db.execute(INSERT, &[0.into()]).await.unwrap();
            let other = tokio::spawn(async {});
            let mut tx = db.begin().await.unwrap();
            for id in 1..1_000 {
                tx.execute(INSERT, &[id.into()]).await.unwrap();
            }
            assert!(other.is_finished());
        })
        .await;
    }

    #[tokio::test]
    async fn a_write_that_is_given_up_is_rolled_back() {
        written(async |db, _| {
            let mut tx = db.begin().await.unwrap();
            tx.execute(INSERT, &[(-1).into()]).await.unwrap();
            let values = [ENDLESS.into()];
            assert!(tokio::time::timeout(SOON, tx.execute(FILL, &values)).await.is_err());
            let refused = tx.execute(INSERT, &[(-2).into()]).await.unwrap_err().to_string();
            assert!(refused.contains("ended the transaction"), "{refused}");
            assert!(tx.commit().await.is_err());
            db.execute(INSERT, &[(-3).into()]).await.unwrap();
            assert_eq!(count(&db).await, 1);
        })
        .await;
    }

    #[tokio::test]
    async fn a_commit_that_is_given_up_goes_on() {
        written(async |db, _| {
            let mut tx = db.begin().await.unwrap();
            tx.execute(INSERT, &[1.into()]).await.unwrap();
            assert!(futures_util::poll!(std::pin::pin!(tx.commit())).is_pending());
            db.execute(INSERT, &[2.into()]).await.unwrap();
            assert_eq!(count(&db).await, 2);
        })
        .await;
    }

    #[tokio::test]
    async fn a_statement_runs_here_while_it_is_quick() {
        const NEW: &str = "INSERT INTO kept (id) SELECT value FROM json_each($1)";
        written(async |db, writer| {
            let place = |sql, values: &[Value]| writer.known.place(&Sql::Fixed(sql), values);
            assert_eq!(place(NEW, &["[1]".into()]), Place::Thread);
            db.execute(NEW, &["[1]".into()]).await.unwrap();
            assert_eq!(place(NEW, &["[2]".into()]), Place::Here);
            assert_eq!(place(NEW, &[" ".repeat(QUICK_BYTES + 1).into()]), Place::Thread);
            let many: Vec<i64> = (2..2_000).collect();
            db.execute(NEW, &[serde_json::to_string(&many).unwrap().into()]).await.unwrap();
            assert_eq!(place(NEW, &["[]".into()]), Place::Thread);
            db.execute(NEW, &["[]".into()]).await.unwrap();
            assert_eq!(place(NEW, &["[]".into()]), Place::Thread);
            db.execute(INSERT, &[0.into()]).await.unwrap();
            let mut tx = db.begin().await.unwrap();
            tx.query("SELECT a.id FROM kept a JOIN kept b", &[]).await.unwrap();
            assert_eq!(place("SELECT a.id FROM kept a JOIN kept b", &[]), Place::Here);
        })
        .await;
    }

    #[tokio::test]
    async fn only_the_owner_may_read_the_file() {
        written(async |_, writer| {
            let mode = std::fs::metadata(&*writer.path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, FILE_MODE);
        })
        .await;
    }

    #[tokio::test]
    async fn what_is_no_store_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "not a database, but long enough to be looked at".repeat(100)).unwrap();
        let error = Writer::connect(&path).await.err().unwrap();
        assert!(format!("{error:#}").contains("not a database"), "{error:#}");
    }
}
