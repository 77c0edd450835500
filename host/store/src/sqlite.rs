//! One connection to the SQLite file. A statement runs on the caller's thread: most take a few microseconds,
//! and a thread per connection, as in sqlx, would cost several times as much in switching. What may take
//! longer runs on a thread that may block.

use std::collections::HashMap;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, ErrorCode, OpenFlags};
use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};
use tokio::task::spawn_blocking;

use super::failure::Failure;
use super::pool::{Lent, Pool};
use super::value::json_of;
use super::{BUSY_TIMEOUT, Row, Value};

/// More than the program's statements.
const STATEMENTS: usize = 512;
/// Instructions of SQLite's virtual machine between two checks of the budget.
const STEP: i32 = 1_000;
/// The budget of a reading statement on the caller's thread: some 50,000 instructions, about a millisecond.
const HERE_STEPS: i64 = 50;
const ANY_STEPS: i64 = i64::MAX;

/// A statement's text: most are constants.
#[derive(Debug, Clone)]
pub(super) enum Sql {
    Fixed(&'static str),
    Made(Arc<str>),
}

/// Where a statement runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// On the caller's thread. A reading statement that takes longer than [`HERE_STEPS`] is stopped and
    /// restarted on a blocking thread. A writing one is not stopped: SQLite would roll back the transaction.
    Here,
    /// On a blocking thread.
    Thread,
}

/// What a statement answered.
#[derive(Debug)]
pub(super) struct Ran {
    pub rows: Vec<Row>,
    /// The number of rows that it changed.
    pub changed: u64,
    pub only_reads: bool,
    /// Its duration, in units of [`STEP`] instructions.
    pub steps: i64,
}

/// One connection.
pub(super) struct Session {
    connection: rusqlite::Connection,
    limit: Arc<Limit>,
    /// The names of a statement's columns, by the address of its text.
    columns: HashMap<(usize, usize), Arc<[String]>>,
}

/// When the running statement is stopped.
#[derive(Default)]
struct Limit {
    /// Its steps so far.
    done: AtomicI64,
    /// The steps that it may take.
    budget: AtomicI64,
    /// The caller is gone. It stays set: the connection is closed.
    is_stopped: AtomicBool,
}

impl Sql {
    pub fn text(&self) -> &str {
        match self {
            Sql::Fixed(text) => text,
            Sql::Made(text) => text,
        }
    }

    /// The address of a constant text.
    pub fn address(&self) -> Option<(usize, usize)> {
        match self {
            Sql::Fixed(text) => Some((text.as_ptr() as usize, text.len())),
            Sql::Made(_) => None,
        }
    }
}

impl From<&'static str> for Sql {
    fn from(text: &'static str) -> Sql {
        Sql::Fixed(text)
    }
}

impl SqlSafeStr for Sql {
    fn into_sql_str(self) -> SqlStr {
        match self {
            Sql::Fixed(text) => text.into_sql_str(),
            Sql::Made(text) => AssertSqlSafe(text).into_sql_str(),
        }
    }
}

/// Runs a statement. Dropping the future stops one that runs on a blocking thread, and closes its connection.
pub(super) async fn run(
    mut lent: Lent<Session>,
    sql: Sql,
    values: &[Value],
    place: Place,
) -> Result<(Lent<Session>, Result<Ran, sqlx::Error>), sqlx::Error> {
    if place == Place::Here {
        let session = lent.connection().ok_or(sqlx::Error::WorkerCrashed)?;
        match session.run(&sql, values, HERE_STEPS) {
            Err(error) if needs_a_thread(&error) => {}
            ran => return Ok((lent, ran.map_err(Failure::of))),
        }
    }
    let values = values.to_vec();
    on_thread(lent, move |session| session.run_patiently(&sql, &values)).await
}

/// Starts work on a blocking thread. Dropping the future stops its statement and closes the connection.
pub(super) fn on_thread<T: Send + 'static>(
    mut lent: Lent<Session>,
    work: impl FnOnce(&mut Session) -> rusqlite::Result<T> + Send + 'static,
) -> impl Future<Output = Result<(Lent<Session>, Result<T, sqlx::Error>), sqlx::Error>> {
    let stop = Stop(lent.connection().map(|session| Arc::clone(&session.limit)));
    let running = spawn_blocking(move || {
        let done = match lent.connection() {
            Some(session) => work(session).map_err(Failure::of),
            None => Err(sqlx::Error::WorkerCrashed),
        };
        (lent, done)
    });
    async move {
        let ended = running.await.map_err(|_| sqlx::Error::WorkerCrashed)?;
        stop.disarm();
        Ok(ended)
    }
}

fn needs_a_thread(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::OperationInterrupted | ErrorCode::DatabaseBusy))
}

/// Closes all connections of a pool.
pub(super) async fn close(pool: &Pool<Session>) {
    let sessions = pool.close().await;
    // The last one to close checkpoints the log into the file, which may take a while.
    if let Err(error) = spawn_blocking(move || drop(sessions)).await {
        tracing::warn!("a connection to the store did not close: {error}");
    }
}

/// Stops a statement whose caller is gone.
struct Stop(Option<Arc<Limit>>);

impl Stop {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        if let Some(limit) = &self.0 {
            limit.is_stopped.store(true, Ordering::Relaxed);
        }
    }
}

impl Limit {
    fn start(&self, budget: i64) {
        self.done.store(0, Ordering::Relaxed);
        self.budget.store(budget, Ordering::Relaxed);
    }

    /// Called after each step.
    fn is_reached(&self) -> bool {
        let done = self.done.fetch_add(1, Ordering::Relaxed);
        done >= self.budget.load(Ordering::Relaxed) || self.is_stopped.load(Ordering::Relaxed)
    }
}

impl Session {
    /// A connection that cannot write.
    pub fn open_to_read(path: &Path) -> Result<Session, sqlx::Error> {
        let set = |connection: &rusqlite::Connection| connection.pragma_update(None, "query_only", true);
        Session::open(path, set).map_err(Failure::of)
    }

    /// A connection that writes. Waits for locks: another process may be opening the file.
    pub fn open_to_write(path: &Path) -> Result<Session, sqlx::Error> {
        let set = |connection: &rusqlite::Connection| {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "foreign_keys", true)?;
            connection.busy_timeout(Duration::ZERO)
        };
        Session::open(path, set).map_err(Failure::of)
    }

    fn open(
        path: &Path,
        set: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<Session> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = rusqlite::Connection::open_with_flags(path, flags)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.busy_timeout(Duration::ZERO)?;
        // Without this, SQLite recompiles a statement with a bound LIMIT each time it runs.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        set(&connection)?;
        let limit = Arc::new(Limit::default());
        let looked = Arc::clone(&limit);
        connection.progress_handler(STEP, Some(move || looked.is_reached()))?;
        Ok(Session { connection, limit, columns: HashMap::new() })
    }

    /// Whether a transaction is open. SQLite ends it itself after some errors, for example on a full disk.
    pub fn is_in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Begins or ends a transaction.
    pub fn control(&mut self, sql: &'static str) -> rusqlite::Result<()> {
        self.limit.start(ANY_STEPS);
        self.connection.prepare_cached(sql)?.raw_execute().map(drop)
    }

    /// Runs several statements. May take long.
    pub fn batch(&mut self, sql: &str) -> rusqlite::Result<()> {
        self.limit.start(ANY_STEPS);
        self.connection.execute_batch(sql)
    }

    /// Calls it with each row of a reading statement, until it answers `false`. May take long.
    pub fn each_row(&mut self, sql: &Sql, mut take: impl FnMut(Vec<Value>) -> bool) -> rusqlite::Result<()> {
        self.step(sql, &[], ANY_STEPS, |_, values| take(values)).map(drop)
    }

    /// On a thread that may block: without a budget; waits for locks.
    fn run_patiently(&mut self, sql: &Sql, values: &[Value]) -> rusqlite::Result<Ran> {
        self.connection.busy_timeout(BUSY_TIMEOUT)?;
        let ran = self.run(sql, values, ANY_STEPS);
        self.connection.busy_timeout(Duration::ZERO)?;
        ran
    }

    /// Runs a statement to its end, within this budget if it only reads.
    fn run(&mut self, sql: &Sql, values: &[Value], budget: i64) -> rusqlite::Result<Ran> {
        let mut rows = Vec::new();
        let only_reads = self.step(sql, values, budget, |columns, values| {
            rows.push(Row { columns: Arc::clone(columns), values });
            true
        })?;
        let changed = if only_reads { 0 } else { self.connection.changes() };
        let steps = self.limit.done.load(Ordering::Relaxed);
        Ok(Ran { rows, changed, only_reads, steps })
    }

    /// Steps through a statement until `take` answers `false`; answers whether the statement only reads.
    fn step(
        &mut self,
        sql: &Sql,
        values: &[Value],
        budget: i64,
        mut take: impl FnMut(&Arc<[String]>, Vec<Value>) -> bool,
    ) -> rusqlite::Result<bool> {
        // The first statement of a connection also loads the schema.
        self.limit.start(ANY_STEPS);
        let mut statement = self.connection.prepare_cached(sql.text())?;
        bind(&mut statement, values)?;
        let only_reads = statement.readonly();
        self.limit.start(if only_reads { budget } else { ANY_STEPS });
        let count = statement.column_count();
        let columns = names(&mut self.columns, sql, &statement, count);
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            let mut values = Vec::with_capacity(count);
            for index in 0..count {
                values.push(value(row.get_ref(index)?, index)?);
            }
            if !take(&columns, values) {
                break;
            }
        }
        Ok(only_reads)
    }
}

fn names(
    known: &mut HashMap<(usize, usize), Arc<[String]>>,
    sql: &Sql,
    statement: &CachedStatement<'_>,
    count: usize,
) -> Arc<[String]> {
    let named = || statement.column_names().into_iter().map(str::to_owned).collect::<Arc<[String]>>();
    let Some(address) = sql.address() else { return named() };
    let columns = known.entry(address).or_insert_with(named);
    // `SELECT *` has another number of columns after a migration.
    if columns.len() != count {
        *columns = named();
    }
    Arc::clone(columns)
}

/// SQLite numbers `$2` by its first occurrence; here it is the second value, as on PostgreSQL.
fn bind(statement: &mut CachedStatement<'_>, values: &[Value]) -> rusqlite::Result<()> {
    for place in 1..=statement.parameter_count() {
        let name = statement.parameter_name(place).unwrap_or_default();
        let number = name.get(1..).and_then(|number| number.parse::<usize>().ok());
        let value = number.and_then(|number| values.get(number.checked_sub(1)?));
        match value {
            None => return Err(rusqlite::Error::InvalidParameterName(name.to_owned())),
            Some(Value::Null) => statement.raw_bind_parameter(place, rusqlite::types::Null)?,
            Some(Value::Int(value)) => statement.raw_bind_parameter(place, value)?,
            Some(Value::Real(value)) => statement.raw_bind_parameter(place, value)?,
            Some(Value::Text(value)) => statement.raw_bind_parameter(place, value)?,
            Some(Value::Bytes(value)) => statement.raw_bind_parameter(place, value)?,
            Some(Value::Bool(value)) => statement.raw_bind_parameter(place, value)?,
            Some(Value::Ids(ids)) => statement.raw_bind_parameter(place, json_of(ids))?,
        }
    }
    Ok(())
}

fn value(raw: ValueRef<'_>, index: usize) -> rusqlite::Result<Value> {
    Ok(match raw {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(bytes) => {
            let text = std::str::from_utf8(bytes);
            Value::Text(text.map_err(|error| rusqlite::Error::Utf8Error(index, error))?.to_owned())
        }
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_limit_does_not_compile_the_statement_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        std::fs::write(&path, "").unwrap();
        let mut session = Session::open_to_write(&path).unwrap();
        let sql = Sql::Fixed("SELECT name FROM sqlite_schema ORDER BY name LIMIT $1 OFFSET $2");
        for limit in 0..5 {
            session.run(&sql, &[limit.into(), 0.into()], ANY_STEPS).unwrap();
        }
        let statement = session.connection.prepare_cached(sql.text()).unwrap();
        assert_eq!(statement.get_status(rusqlite::StatementStatus::RePrepare), 0);
    }

    #[test]
    fn a_commit_is_on_the_disk_and_foreign_keys_hold() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        std::fs::write(&path, "").unwrap();
        let mut session = Session::open_to_write(&path).unwrap();
        let settings = [
            ("PRAGMA journal_mode", Value::from("wal")),
            ("PRAGMA synchronous", Value::Int(2)),
            ("PRAGMA foreign_keys", Value::Int(1)),
        ];
        for (ask, set) in settings {
            let answer = session.run(&ask.into(), &[], ANY_STEPS).unwrap();
            assert_eq!(answer.rows[0].values, [set], "{ask}");
        }
    }
}
