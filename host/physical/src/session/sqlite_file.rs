//! A SQLite file, open in a worker process. A running statement is interrupted in the database itself: at its
//! deadline, when its future is dropped, or when enough rows were read. It is never just abandoned.
//!
//! SQLite cannot be interrupted within one operation, a search in a large text for instance. Values are
//! bounded, and the worker is killed when a statement does not end.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use lakeport_bindings::host::data::{Column, RowSet};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::ReadStatement;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Connection, Either, Executor, SqlSafeStr, Statement as _,
    TypeInfo,
};
use tokio::sync::Mutex;

use super::authority::{self, Authority};
use super::cells::{Collector, arguments, shown_cells};
use super::{Bounds, Views};
use crate::errors::{is_unfinished, of_sqlite};
use crate::script::{Ran, Shown};

/// How long to wait for another program's lock.
const BUSY_TIMEOUT_MS: i32 = 5_000;
const BUSY_TIMEOUT: Duration = Duration::from_millis(BUSY_TIMEOUT_MS as u64);
/// Virtual machine steps between two deadline checks: well below a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 1_000;
/// Rows that SQLite may compute ahead: each may be large.
const ROWS_AHEAD: usize = 1;
/// A deadline in the past.
const NOW_MS: u64 = 0;
/// No deadline.
const NEVER_MS: u64 = u64::MAX;

/// When a statement must end. Checked from within SQLite.
struct Watch {
    opened: Instant,
    /// Milliseconds since `opened`.
    deadline_ms: AtomicU64,
    /// Set when the waiting future was dropped.
    abandoned: AtomicBool,
    /// Set by the caller from outside.
    cancelled: std::sync::Mutex<Option<Arc<AtomicBool>>>,
}

impl Watch {
    fn may_go_on(&self) -> bool {
        let cancelled = self.cancelled.lock().expect("no panic while it is held");
        !self.abandoned.load(Ordering::Relaxed)
            && !cancelled.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
            && !self.is_late()
    }

    fn is_late(&self) -> bool {
        self.elapsed_ms() >= self.deadline_ms.load(Ordering::Relaxed)
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(NEVER_MS)
    }
}

/// Interrupts the running statement when the waiting future is dropped.
struct Waiting<'a>(&'a Watch, bool);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.deadline_ms.store(NEVER_MS, Ordering::Relaxed);
        if !self.1 {
            self.0.abandoned.store(true, Ordering::Relaxed);
        }
    }
}

/// The largest value in a session, bytes.
const VALUE_MAX_BYTES: i32 = 128 * 1024 * 1024;

/// What a session does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FileAccess {
    Change,
    /// Statements of the host and of dialects.
    Read,
    /// A user's or a model's statements: SQLite's authorizer judges them, too.
    Query,
}

/// A file, open.
pub(crate) struct SqliteFile {
    connection: Mutex<SqliteConnection>,
    watch: Arc<Watch>,
    path: PathBuf,
    access: FileAccess,
    /// Its device and number.
    number: Option<(u64, u64)>,
    rests: AtomicBool,
}

impl SqliteFile {
    /// Opens an existing file. Takes as long as SQLite needs to recover it: the caller decides how long it waits.
    pub async fn open(path: &Path, access: FileAccess) -> Result<SqliteFile, Error> {
        // SQLite's own error does not distinguish a missing file from one that may not be opened.
        if !tokio::fs::try_exists(path).await.unwrap_or(false) {
            return Err(error("unreachable", "the database file does not exist"));
        }
        let file = match SqliteFile::connect(path, access).await {
            // SQLite rolls back the transaction of a program that died, which a read-only session may not do.
            Err(cause) if access != FileAccess::Change && is_unfinished(&cause) => {
                SqliteFile::connect(path, FileAccess::Change).await?.close().await;
                SqliteFile::connect(path, access).await?
            }
            opened => opened?,
        };
        if access == FileAccess::Query {
            let mut connection = file.connection.lock().await;
            let mut handle = connection.lock_handle().await.map_err(|cause| of_sqlite(&cause))?;
            authority::install(&mut handle, Authority::Tables)?;
        }
        Ok(file)
    }

    async fn connect(path: &Path, access: FileAccess) -> Result<SqliteFile, Error> {
        let read_only = access != FileAccess::Change;
        let mut options = SqliteConnectOptions::new()
            .filename(path)
            .read_only(read_only)
            .create_if_missing(false)
            .busy_timeout(BUSY_TIMEOUT)
            .row_buffer_size(ROWS_AHEAD)
            .foreign_keys(true)
            .pragma("trusted_schema", "OFF")
            .disable_statement_logging();
        if read_only {
            options = options.pragma("query_only", "ON");
        }
        let mut connection = options.connect().await.map_err(|cause| of_sqlite(&cause))?;
        let watch = Arc::new(Watch {
            opened: Instant::now(),
            deadline_ms: AtomicU64::new(NEVER_MS),
            abandoned: AtomicBool::new(false),
            cancelled: std::sync::Mutex::new(None),
        });
        let looking = watch.clone();
        let mut handle = connection.lock_handle().await.map_err(|cause| of_sqlite(&cause))?;
        handle.set_progress_handler(STEPS_BETWEEN_LOOKS, move || looking.may_go_on());
        authority::limit_values(&mut handle, VALUE_MAX_BYTES);
        drop(handle);
        // The path was judged with its links followed; the opened file must be the same one.
        let opened: Option<String> =
            sqlx::query_scalar("SELECT file FROM pragma_database_list WHERE name = 'main'")
                .fetch_optional(&mut connection)
                .await
                .map_err(|cause| of_sqlite(&cause))?;
        if opened.as_deref().map(Path::new) != Some(path) {
            return Err(error("forbidden", "the file was replaced while it was opened"));
        }
        // Only the first access to the schema shows whether the file is a database.
        connection
            .fetch_all("SELECT 1 FROM sqlite_schema LIMIT 1")
            .await
            .map_err(|cause| of_sqlite(&cause))?;
        Ok(SqliteFile {
            connection: Mutex::new(connection),
            watch,
            path: path.to_owned(),
            access,
            number: number_of(path),
            rests: AtomicBool::new(false),
        })
    }

    /// Interrupts running statements once the flag is set.
    pub fn cancelled_by(&self, flag: Arc<AtomicBool>) {
        *self.watch.cancelled.lock().expect("no panic while it is held") = Some(flag);
    }

    /// Creates the views, in this session's own memory: that is its only write. Then SQLite's authorizer allows nothing
    /// else.
    pub async fn restrict(&self, views: &Views, timeout: Duration) -> Result<(), Error> {
        self.within(timeout, async |connection: &mut SqliteConnection| {
            let said = |cause: sqlx::Error| of_sqlite(&cause);
            connection.execute("PRAGMA query_only = OFF").await.map_err(said)?;
            for statement in views.statements() {
                let made = connection.execute(AssertSqlSafe(statement)).await;
                made.map_err(said)?;
            }
            connection.execute("PRAGMA query_only = ON").await.map_err(said)?;
            let tables: Vec<String> =
                sqlx::query_scalar("SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view')")
                    .fetch_all(&mut *connection)
                    .await
                    .map_err(said)?;
            let mut handle = connection.lock_handle().await.map_err(said)?;
            authority::install(&mut handle, Authority::of_views(views, &tables))
        })
        .await
    }

    /// Runs a reading statement that passed the guard.
    pub async fn read(&self, statement: &ReadStatement, bounds: Bounds) -> Result<RowSet, Error> {
        let arguments = arguments(&statement.binds)?;
        let sql = AssertSqlSafe(statement.sql.clone()).into_sql_str();
        self.within(bounds.timeout, async |connection: &mut SqliteConnection| {
            let columns = columns(connection.prepare(sql.clone()).await.map_err(|cause| of_sqlite(&cause))?);
            let mut collector = Collector::new(columns, bounds.max_rows, bounds.max_bytes);
            let mut rows = sqlx::query_with(sql, arguments).fetch(connection);
            while let Some(row) = rows.try_next().await.map_err(|cause| of_sqlite(&cause))? {
                if !collector.take(&row)? {
                    break;
                }
            }
            Ok(collector.rows)
        })
        .await
    }

    /// Runs a judged statement of a task, to its last row.
    pub async fn script(
        &self,
        sql: String,
        changes_rows: bool,
        shown: Shown,
        timeout: Duration,
    ) -> Result<Ran, Error> {
        let sql = AssertSqlSafe(sql).into_sql_str();
        self.within(timeout, async |connection: &mut SqliteConnection| {
            let columns = connection.prepare(sql.clone()).await.map_err(|cause| of_sqlite(&cause))?;
            let columns = columns.columns().iter().map(|column| column.name().to_owned()).collect();
            let mut ran = Ran { columns, ..Ran::default() };
            let mut stream = connection.fetch_many(sqlx::query(sql).persistent(false));
            while let Some(step) = stream.try_next().await.map_err(|cause| of_sqlite(&cause))? {
                match step {
                    Either::Right(row) => {
                        if ran.first.len() < shown.rows {
                            ran.first.push(shown_cells(&row, shown.cell_chars)?);
                        }
                        ran.rows += 1;
                    }
                    Either::Left(done) if changes_rows => ran.changed += done.rows_affected(),
                    Either::Left(_) => {}
                }
            }
            Ok(ran)
        })
        .await
    }

    /// Runs a statement of a checked plan, or one of the host's own.
    pub async fn execute(&self, sql: String, timeout: Duration) -> Result<(), Error> {
        let sql = AssertSqlSafe(sql).into_sql_str();
        self.within(timeout, async |connection: &mut SqliteConnection| {
            connection.execute(sqlx::query(sql)).await.map(|_| ()).map_err(|cause| of_sqlite(&cause))
        })
        .await
    }

    /// Ends a session, as if it closed the file. False: it left something open.
    pub async fn rest(&self) -> bool {
        let mut connection = self.connection.lock().await;
        // What they hold is memory, and columns that may have changed when the next session comes.
        if connection.clear_cached_statements().await.is_err() {
            return false;
        }
        let Ok(mut handle) = connection.lock_handle().await else { return false };
        let is_at_rest = authority::rest(&mut handle, BUSY_TIMEOUT_MS);
        self.rests.store(is_at_rest, Ordering::Relaxed);
        is_at_rest
    }

    pub fn rests(&self) -> bool {
        self.rests.load(Ordering::Relaxed)
    }

    /// Begins a session with the file of an earlier one, if it is still this one.
    pub fn wakes(&self, path: &Path, access: FileAccess) -> bool {
        let is_it = self.path == path
            && self.access == access
            && self.number.is_some()
            && self.number == number_of(path);
        is_it && self.rests.swap(false, Ordering::Relaxed)
    }

    /// Closes the session cleanly.
    pub async fn close(self) {
        if let Err(cause) = self.connection.into_inner().close().await {
            tracing::warn!(%cause, "a database session did not close in order");
        }
    }

    async fn within<T>(
        &self,
        timeout: Duration,
        work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut connection = self.connection.lock().await;
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(NEVER_MS);
        let deadline_ms = self.watch.elapsed_ms().saturating_add(timeout_ms);
        self.watch.deadline_ms.store(deadline_ms, Ordering::Relaxed);
        let mut waiting = Waiting(&self.watch, false);
        let result = work(&mut connection).await;
        let late = self.watch.is_late();
        // If not all rows were read, SQLite computes the next one, which may not exist: interrupts it and
        // waits. A broken connection shows at the next statement.
        self.watch.deadline_ms.store(NOW_MS, Ordering::Relaxed);
        let is_alive = connection.lock_handle().await.is_ok();
        waiting.1 = true;
        drop(waiting);
        // The end of the rows may have been that of the driver's thread.
        let result = if is_alive {
            result
        } else {
            result
                .and_then(|_| Err(error("internal", "the database session ended in the middle of an answer")))
        };
        result.map_err(|cause| match cause.code.as_str() {
            "cancelled" if late => Error {
                retryable: true,
                upstream: cause.upstream,
                ..error("timeout", format!("the statement was stopped after {timeout_ms} ms"))
            },
            _ => cause,
        })
    }
}

/// What tells the file at a path from others.
fn number_of(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

fn columns(statement: sqlx::sqlite::SqliteStatement) -> Vec<Column> {
    let described = statement.columns().iter().map(|column| {
        let declared = column.type_info().name();
        // A computed column has no declared type.
        let type_text = if declared == "NULL" { "" } else { declared };
        Column { name: column.name().to_owned(), type_text: type_text.to_owned() }
    });
    described.collect()
}
