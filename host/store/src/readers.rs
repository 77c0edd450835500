//! Connections that read the SQLite store. A statement runs on the caller's thread: most take a few
//! microseconds, and a thread per connection, as in sqlx, would cost several times as much in switching. A
//! statement that takes longer than [`HERE_STEPS`] is stopped and restarted on a thread that may block.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, ErrorCode, OpenFlags};
use tokio::task::spawn_blocking;

use super::pool::{Lent, Pool};
use super::{BUSY_TIMEOUT, Row, Value, failure::Failure};

/// Readers beside the single writer.
const READERS: u32 = 8;
/// More than the program's statements.
const STATEMENTS: usize = 512;
/// Instructions of SQLite's virtual machine between two checks of the budget.
const STEP: i32 = 1_000;
/// The budget of a statement on the caller's thread: some 50,000 instructions, about a millisecond.
const HERE_STEPS: i64 = 50;
const ANY_STEPS: i64 = i64::MAX;
const STOP: i64 = i64::MIN / 2;

#[derive(Clone)]
pub(super) struct Readers {
    path: Arc<PathBuf>,
    pool: Pool<Reader>,
}

/// One read-only connection.
pub(super) struct Reader {
    connection: rusqlite::Connection,
    /// The remaining steps of the running statement.
    left: Arc<AtomicI64>,
    /// The names of a statement's columns, by the address of its text.
    columns: HashMap<(usize, usize), Arc<[String]>>,
}

/// A statement's text: most are constants.
#[derive(Debug, Clone)]
pub(super) enum Sql {
    Fixed(&'static str),
    Made(Arc<str>),
}

impl Sql {
    fn text(&self) -> &str {
        match self {
            Sql::Fixed(text) => text,
            Sql::Made(text) => text,
        }
    }
}

impl Readers {
    pub fn new(path: &Path) -> Readers {
        Readers { path: Arc::new(path.to_owned()), pool: Pool::new(READERS) }
    }

    /// Runs a reading statement.
    pub async fn fetch(&self, sql: Sql, values: &[Value]) -> Result<Vec<Row>, sqlx::Error> {
        let lent = self.take().await?;
        let (lent, rows) = run(lent, sql, values).await?;
        // The statement is finished, whether it failed or not.
        lent.give_back();
        rows
    }

    /// A reader that sees one consistent state from its first statement on.
    pub async fn snapshot(&self) -> Result<Lent<Reader>, sqlx::Error> {
        let mut lent = self.take().await?;
        open(&mut lent)?.transaction("BEGIN")?;
        Ok(lent)
    }

    async fn take(&self) -> Result<Lent<Reader>, sqlx::Error> {
        let mut lent = self.pool.take().await?;
        if lent.connection().is_none() {
            lent.fill(Reader::open(&self.path)?);
        }
        Ok(lent)
    }

    pub async fn close(&self) {
        let readers = self.pool.close().await;
        // The last one to close checkpoints the log into the file, which may take a while.
        if let Err(error) = spawn_blocking(move || drop(readers)).await {
            tracing::warn!("a reader of the store did not close: {error}");
        }
    }
}

/// Runs a statement here or, if it takes long, on a blocking thread. Dropping the future stops a long one and
/// closes its connection.
pub(super) async fn run(
    mut lent: Lent<Reader>,
    sql: Sql,
    values: &[Value],
) -> Result<(Lent<Reader>, Result<Vec<Row>, sqlx::Error>), sqlx::Error> {
    let reader = open(&mut lent)?;
    reader.left.store(HERE_STEPS, Ordering::Relaxed);
    match reader.fetch(&sql, values) {
        Err(error) if needs_a_thread(&error) => {}
        rows => return Ok((lent, rows.map_err(Failure::of))),
    }
    // Not on the other thread, which may start after this read was dropped.
    reader.left.store(ANY_STEPS, Ordering::Relaxed);
    let mut stop = Stop(Some(Arc::clone(&reader.left)));
    let values = values.to_vec();
    let ran = spawn_blocking(move || {
        let rows = match lent.connection() {
            Some(reader) => reader.fetch_patiently(&sql, &values).map_err(Failure::of),
            None => Err(sqlx::Error::WorkerCrashed),
        };
        (lent, rows)
    });
    let ran = ran.await.map_err(|_| sqlx::Error::WorkerCrashed)?;
    stop.0 = None;
    Ok(ran)
}

/// Ends a snapshot.
pub(super) fn end_snapshot(mut lent: Lent<Reader>) {
    let ended = lent.connection().map(|reader| reader.transaction("COMMIT"));
    if matches!(ended, Some(Ok(()))) {
        lent.give_back();
    }
}

fn open(lent: &mut Lent<Reader>) -> Result<&mut Reader, sqlx::Error> {
    lent.connection().ok_or(sqlx::Error::WorkerCrashed)
}

fn needs_a_thread(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::OperationInterrupted | ErrorCode::DatabaseBusy))
}

/// Stops a statement whose caller is gone.
struct Stop(Option<Arc<AtomicI64>>);

impl Drop for Stop {
    fn drop(&mut self) {
        if let Some(left) = &self.0 {
            left.store(STOP, Ordering::Relaxed);
        }
    }
}

impl Reader {
    fn open(path: &Path) -> Result<Reader, sqlx::Error> {
        Reader::open_with(path).map_err(Failure::of)
    }

    fn open_with(path: &Path) -> rusqlite::Result<Reader> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = rusqlite::Connection::open_with_flags(path, flags)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.busy_timeout(Duration::ZERO)?;
        connection.pragma_update(None, "query_only", true)?;
        // Without this, SQLite recompiles a statement with a bound LIMIT each time it runs.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        let left = Arc::new(AtomicI64::new(ANY_STEPS));
        let looked = Arc::clone(&left);
        let look = move || looked.fetch_sub(1, Ordering::Relaxed) <= 0;
        connection.progress_handler(STEP, Some(look))?;
        Ok(Reader { connection, left, columns: HashMap::new() })
    }

    fn transaction(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        self.left.store(ANY_STEPS, Ordering::Relaxed);
        let begun = self.connection.prepare_cached(sql).and_then(|mut statement| statement.raw_execute());
        begun.map(drop).map_err(Failure::of)
    }

    /// On a thread that may block: also waits for locks.
    fn fetch_patiently(&mut self, sql: &Sql, values: &[Value]) -> rusqlite::Result<Vec<Row>> {
        self.connection.busy_timeout(BUSY_TIMEOUT)?;
        let rows = self.fetch(sql, values);
        self.connection.busy_timeout(Duration::ZERO)?;
        rows
    }

    fn fetch(&mut self, sql: &Sql, values: &[Value]) -> rusqlite::Result<Vec<Row>> {
        let mut statement = self.connection.prepare_cached(sql.text())?;
        bind(&mut statement, values)?;
        let count = statement.column_count();
        let columns = names(&mut self.columns, sql, &statement, count);
        let mut found = Vec::new();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            let mut values = Vec::with_capacity(count);
            for index in 0..count {
                values.push(value(row.get_ref(index)?, index)?);
            }
            found.push(Row { columns: Arc::clone(&columns), values });
        }
        Ok(found)
    }
}

fn names(
    known: &mut HashMap<(usize, usize), Arc<[String]>>,
    sql: &Sql,
    statement: &CachedStatement<'_>,
    count: usize,
) -> Arc<[String]> {
    let named = || statement.column_names().into_iter().map(str::to_owned).collect::<Arc<[String]>>();
    let Sql::Fixed(text) = sql else { return named() };
    let columns = known.entry((text.as_ptr() as usize, text.len())).or_insert_with(named);
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
    use std::time::Instant;

    use super::*;
    use crate::testing::on_sqlite;

    /// Counts far longer than a test may take.
    const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) \
        SELECT count(*) FROM n";

    async fn readers(test: impl AsyncFn(Readers)) {
        on_sqlite(async |db| {
            let crate::Store::Sqlite { readers, .. } = &db.store else { panic!("it is SQLite") };
            test(readers.clone()).await;
        })
        .await;
    }

    #[tokio::test]
    async fn values_are_numbered_as_on_postgresql() {
        readers(async |readers| {
            let sql = Sql::Fixed("SELECT $2 AS second, $1 AS first, $2 AS again");
            let rows = readers.fetch(sql, &["a".into(), 7.into()]).await.unwrap();
            let mut row = rows[0].by_name();
            assert_eq!(row.get::<String>("first").unwrap(), "a");
            assert_eq!(row.get::<i64>("second").unwrap(), 7);
            assert_eq!(row.get::<i64>("again").unwrap(), 7);
            assert!(readers.fetch(Sql::Fixed("SELECT $2"), &[1.into()]).await.is_err());
        })
        .await;
    }

    #[tokio::test]
    async fn a_reader_cannot_write() {
        readers(async |readers| {
            let sql = Sql::Fixed("CREATE TABLE written (id INTEGER)");
            let error = readers.fetch(sql, &[]).await.unwrap_err().to_string();
            assert!(error.contains("readonly"), "{error}");
        })
        .await;
    }

    #[tokio::test]
    async fn a_long_statement_goes_on_where_it_may_block() {
        readers(async |readers| {
            let counted = readers.fetch(Sql::Fixed(ENDLESS), &[1_000_000.into()]).await.unwrap();
            assert_eq!(counted[0].get::<i64>(0).unwrap(), 1_000_000);
        })
        .await;
    }

    #[tokio::test]
    async fn a_read_that_is_given_up_stops_and_frees_its_place() {
        readers(async |readers| {
            let begun = Instant::now();
            for _ in 0..READERS * 2 {
                let values = [i64::MAX.into()];
                let endless = readers.fetch(Sql::Fixed(ENDLESS), &values);
                assert!(tokio::time::timeout(Duration::from_millis(20), endless).await.is_err());
            }
            // All slots are free again; otherwise this would wait for the longest statement.
            let rows = readers.fetch(Sql::Fixed("SELECT 1"), &[]).await.unwrap();
            assert_eq!(rows[0].get::<i64>(0).unwrap(), 1);
            assert!(begun.elapsed() < BUSY_TIMEOUT);
        })
        .await;
    }

    #[tokio::test]
    async fn a_bound_limit_does_not_compile_the_statement_again() {
        readers(async |readers| {
            let mut lent = readers.take().await.unwrap();
            let reader = lent.connection().unwrap();
            let sql = Sql::Fixed("SELECT name FROM sqlite_schema ORDER BY name LIMIT $1 OFFSET $2");
            for limit in 0..5 {
                reader.fetch(&sql, &[limit.into(), 0.into()]).unwrap();
            }
            let statement = reader.connection.prepare_cached(sql.text()).unwrap();
            assert_eq!(statement.get_status(rusqlite::StatementStatus::RePrepare), 0);
        })
        .await;
    }
}
