//! The connections to PostgreSQL. A dead one is detected when a statement fails: if nothing can have been
//! written, a new connection replaces it.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use lakeport_base::error;
use sqlx::postgres::{PgColumn, PgConnectOptions, PgRow, PgTypeInfo};
use sqlx::{
    Column as _, ConnectOptions, Connection as _, Executor as _, PgConnection, SqlSafeStr, SqlStr,
    Statement as _, TypeInfo as _,
};

use tokio::time::Instant;

use super::pool::{Lent, Pool};
use super::together::{CombinedReads, Statement};
use super::{BUSY_TIMEOUT, Value, postgres};

/// Between two attempts to reach a server.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The longest wait for the answer to one statement: longer than the server's own `statement_timeout`.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(35);

#[derive(Clone)]
pub struct Connections {
    options: Arc<PgConnectOptions>,
    pool: Pool<PgConnection>,
    pub combined: CombinedReads,
}

/// A transaction. Dropping it rolls back.
pub struct Transaction {
    lent: Option<Lent<PgConnection>>,
    pub combined: CombinedReads,
    /// COMMIT was sent.
    is_committing: bool,
}

impl Connections {
    pub fn new(options: PgConnectOptions, size: u32) -> Connections {
        Connections { options: Arc::new(options), pool: Pool::new(size), combined: CombinedReads::default() }
    }

    /// Runs one statement that only reads.
    pub async fn read(&self, sql: impl SqlSafeStr, values: &[Value]) -> Result<Vec<PgRow>, sqlx::Error> {
        let sql = sql.into_sql_str();
        let mut lent = self.pool.take().await?;
        loop {
            let (connection, is_fresh) = self.open(&mut lent).await?;
            match answer(postgres::read(connection, sql.clone(), values)).await {
                Ok(rows) => {
                    lent.give_back();
                    return Ok(rows);
                }
                Err(error) => lent = self.replaced(lent, error, is_fresh)?,
            }
        }
    }

    /// See [`columns`].
    pub async fn columns(&self, statement: &Statement) -> Result<Vec<(String, String)>, sqlx::Error> {
        let mut lent = self.pool.take().await?;
        loop {
            let (connection, is_fresh) = self.open(&mut lent).await?;
            match answer(columns(connection, statement)).await {
                Ok(columns) => {
                    lent.give_back();
                    return Ok(columns);
                }
                Err(error) => lent = self.replaced(lent, error, is_fresh)?,
            }
        }
    }

    /// Begins a transaction with this statement.
    pub async fn begin(&self, begin: &'static str) -> Result<Transaction, sqlx::Error> {
        let mut lent = self.pool.take().await?;
        loop {
            let (connection, is_fresh) = self.open(&mut lent).await?;
            match answer(simple(connection, begin)).await {
                Ok(()) => {
                    let combined = self.combined.clone();
                    return Ok(Transaction { lent: Some(lent), combined, is_committing: false });
                }
                Err(error) => lent = self.replaced(lent, error, is_fresh)?,
            }
        }
    }

    /// Opens one connection, to report a missing server.
    pub async fn check(&self) -> Result<(), sqlx::Error> {
        let mut lent = self.pool.take().await?;
        self.open(&mut lent).await?;
        lent.give_back();
        Ok(())
    }

    /// The borrowed connection, and whether it is new.
    async fn open<'l>(
        &self,
        lent: &'l mut Lent<PgConnection>,
    ) -> Result<(&'l mut PgConnection, bool), sqlx::Error> {
        let is_fresh = lent.connection().is_none();
        if is_fresh {
            lent.fill(self.connect().await?);
        }
        lent.connection().map(|connection| (connection, is_fresh)).ok_or(sqlx::Error::PoolClosed)
    }

    /// Waits [`BUSY_TIMEOUT`] at most for a server that is starting, or has no connection free.
    async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        let end = Instant::now() + BUSY_TIMEOUT;
        let mut pause = FIRST_PAUSE;
        loop {
            let opened = tokio::time::timeout_at(end, self.options.connect()).await;
            match opened.map_err(|_| sqlx::Error::PoolTimedOut)? {
                Err(error) if is_starting(&error) && Instant::now() + pause < end => {}
                opened => return opened.map_err(unanswered),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// After a failed statement that wrote nothing: the right to open another connection if the old one was
    /// dead; otherwise, and after a wait of [`ANSWER_TIMEOUT`], the error.
    fn replaced(
        &self,
        mut lent: Lent<PgConnection>,
        error: sqlx::Error,
        is_fresh: bool,
    ) -> Result<Lent<PgConnection>, sqlx::Error> {
        if !is_dead(&error) {
            lent.give_back();
            return Err(error);
        }
        lent.empty();
        self.pool.forget_idle();
        if is_fresh || is_late(&error) {
            return Err(error);
        }
        tracing::debug!("a connection to PostgreSQL was dead and is replaced: {error}");
        Ok(lent)
    }

    pub async fn close(&self) {
        for connection in self.pool.close().await {
            if let Err(error) = connection.close().await {
                tracing::debug!("a connection to PostgreSQL did not close: {error}");
            }
        }
    }
}

impl Transaction {
    pub fn connection(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        self.lent.as_mut().and_then(Lent::connection).ok_or(sqlx::Error::PoolClosed)
    }

    /// After an error, whether it was committed is unknown.
    pub async fn commit(mut self) -> Result<(), sqlx::Error> {
        self.is_committing = true;
        answer(simple(self.connection()?, "COMMIT")).await?;
        if let Some(lent) = self.lent.take() {
            lent.give_back();
        }
        Ok(())
    }

    /// Ends one that has only read and whose statements all succeeded. It does not wait for the server's answer: the
    /// next borrower's first statement reads it. (After a failed statement the driver would wait before it writes.)
    pub fn end(mut self) {
        let Some(mut lent) = self.lent.take() else { return };
        let Some(connection) = lent.connection() else { return };
        // The first poll writes the statement, the wait for the answer is left out.
        match tokio::task::unconstrained(simple(connection, "ROLLBACK")).now_or_never() {
            None | Some(Ok(())) => lent.give_back(),
            Some(Err(error)) => tracing::debug!("a connection to PostgreSQL broke: {error}"),
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some(mut lent) = self.lent.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        // It may be in the middle of a statement, whose answer is read first. After COMMIT nothing is to be undone.
        let end = if self.is_committing { "SELECT 1" } else { "ROLLBACK" };
        runtime.spawn(async move {
            let Some(connection) = lent.connection() else { return };
            match tokio::time::timeout(BUSY_TIMEOUT, simple(connection, end)).await {
                Ok(Ok(())) => lent.give_back(),
                Ok(Err(error)) => tracing::debug!("a connection to PostgreSQL broke: {error}"),
                Err(_) => tracing::debug!("a transaction's statement did not end; its connection is closed"),
            }
        });
    }
}

/// Bounds the wait for a server that vanished without a word. After that time the connection is in the middle of
/// a statement.
pub async fn answer<T, E: From<sqlx::Error>>(statement: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let Ok(answer) = tokio::time::timeout(ANSWER_TIMEOUT, statement).await else {
        tracing::warn!("PostgreSQL did not answer for {ANSWER_TIMEOUT:?}");
        return Err(sqlx::Error::Io(ErrorKind::TimedOut.into()).into());
    };
    answer
}

/// The error of [`answer`], not the kernel's of a dead connection.
fn is_late(error: &sqlx::Error) -> bool {
    let is_late =
        |error: &std::io::Error| error.kind() == ErrorKind::TimedOut && error.raw_os_error().is_none();
    matches!(error, sqlx::Error::Io(error) if is_late(error))
}

/// The names and types of a reading statement's columns.
// With the types of its values: the driver keeps the prepared statement, and executes it with other values later.
pub async fn columns(
    connection: &mut PgConnection,
    statement: &Statement,
) -> Result<Vec<(String, String)>, sqlx::Error> {
    let types: Vec<PgTypeInfo> = statement.values.iter().map(postgres::type_of).collect();
    let statement = connection.prepare_with(SqlStr::from_static(statement.sql), &types).await?;
    let column = |column: &PgColumn| (column.name().to_owned(), column.type_info().name().to_owned());
    Ok(statement.columns().iter().map(column).collect())
}

/// Runs a statement without values and answers.
async fn simple(connection: &mut PgConnection, sql: &'static str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(sql).execute(connection).await.map(drop)
}

/// No server listens yet, or it takes no connection for now.
fn is_starting(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(error) => error.kind() == ErrorKind::ConnectionRefused,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| ["57P03", "53300"].contains(&&*code)),
        _ => false,
    }
}

/// The driver takes a connection that is closed before its first answer, as by a proxy without a server, for a wrong answer.
fn unanswered(error: sqlx::Error) -> sqlx::Error {
    match error {
        sqlx::Error::Protocol(message) => {
            sqlx::Error::Io(std::io::Error::new(ErrorKind::ConnectionReset, message))
        }
        error => error,
    }
}

/// The connection can no longer be used.
fn is_dead(error: &sqlx::Error) -> bool {
    error::is_lost(error) || matches!(error, sqlx::Error::Protocol(_) | sqlx::Error::Tls(_))
}

#[cfg(test)]
mod tests {
    use sqlx::postgres::PgConnectOptions;

    use super::*;
    use crate::testing::on_each_empty_store;
    use crate::{Db, Store};

    const PID: &str = "SELECT CAST(pg_backend_pid() AS BIGINT)";
    const END: &str = "SELECT pg_terminate_backend(CAST($1 AS INTEGER))";

    async fn pid(db: &Db) -> i64 {
        db.read(PID, &[]).await.unwrap()[0].get(0).unwrap()
    }

    /// Only on PostgreSQL; with a session beside the store's own.
    async fn on_postgres(test: impl AsyncFn(Db, PgConnection)) {
        on_each_empty_store(async |db| {
            let Store::Postgres(postgres) = &db.store else { return };
            let options: PgConnectOptions = postgres.connections.options.as_ref().clone();
            let other = options.connect().await.unwrap();
            test(db, other).await;
        })
        .await;
    }

    #[tokio::test]
    async fn one_that_is_closed_at_once_is_lost() {
        let closes = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = closes.local_addr().unwrap().port();
        tokio::spawn(async move { while closes.accept().await.is_ok() {} });
        let options = PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(port).username("x");
        let error = Connections::new(options, 1).check().await.unwrap_err();
        assert!(error::is_lost(&error), "{error}");
    }

    async fn end(other: &mut PgConnection, pid: i64) {
        sqlx::query(END).bind(pid).execute(other).await.unwrap();
        // It ends a moment later.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }

    #[tokio::test]
    async fn a_dead_connection_is_replaced_where_nothing_was_written() {
        on_postgres(async |db, mut other| {
            let first = pid(&db).await;
            assert_eq!(pid(&db).await, first, "the connection is kept");
            end(&mut other, first).await;
            let second = pid(&db).await;
            assert_ne!(second, first);
            end(&mut other, second).await;
            let mut tx = db.begin().await.unwrap();
            let third: i64 = tx.query(PID, &[]).await.unwrap()[0].get(0).unwrap();
            assert_ne!(third, second);
            tx.commit().await.unwrap();
            end(&mut other, third).await;
            let snapshot = db.snapshot().await.unwrap();
            assert_ne!(pid(&snapshot).await, third);
        })
        .await;
    }

    #[tokio::test]
    async fn a_connection_that_dies_in_a_transaction_fails_it_and_is_not_lent_again() {
        on_postgres(async |db, mut other| {
            let mut tx = db.begin().await.unwrap();
            let first: i64 = tx.query(PID, &[]).await.unwrap()[0].get(0).unwrap();
            end(&mut other, first).await;
            assert!(tx.query(PID, &[]).await.is_err());
            drop(tx);
            assert_ne!(pid(&db).await, first);
        })
        .await;
    }

    #[tokio::test]
    async fn a_dropped_transaction_is_rolled_back_and_its_connection_kept() {
        on_postgres(async |db, _other| {
            db.execute("CREATE TABLE kept (id BIGINT)", &[]).await.unwrap();
            let first = pid(&db).await;
            let mut tx = db.begin().await.unwrap();
            tx.execute("INSERT INTO kept VALUES (1)", &[]).await.unwrap();
            drop(tx);
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            assert_eq!(pid(&db).await, first);
            assert!(db.read("SELECT id FROM kept", &[]).await.unwrap().is_empty());
        })
        .await;
    }

    #[tokio::test]
    async fn a_read_that_is_given_up_closes_its_connection() {
        on_postgres(async |db, _other| {
            let first = pid(&db).await;
            let slow = db.read("SELECT pg_sleep(10) IS NULL", &[]);
            let given_up = tokio::time::timeout(std::time::Duration::from_millis(50), slow).await;
            assert!(given_up.is_err());
            assert_ne!(pid(&db).await, first);
        })
        .await;
    }
}
