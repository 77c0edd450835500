//! A session on a database of either kind.

mod authority;
mod cells;
mod sqlite;
mod sqlite_file;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lakeport_bindings::dialect::schema::TableName;
use lakeport_bindings::host::data::RowSet;
use lakeport_bindings::host::types::Error;
use lakeport_sql::script::ScriptStatement;
use lakeport_sql::{ReadStatement, Statement, Transport};

pub use self::authority::{Base, View, Views};
pub(crate) use self::sqlite::SqliteSession;
pub(crate) use self::sqlite_file::{FileAccess, SqliteFile};
use crate::script::{Bounds, Ran, Shown};
use crate::server::ServerSession;

/// Time limit of begin, commit, rollback and settings.
const OWN_TIMEOUT: Duration = Duration::from_secs(60);
/// How long SQLite may take to commit: a commit cannot be interrupted, and may copy a long write-ahead log.
const SQLITE_COMMIT_MAX: Duration = Duration::from_secs(600);

/// For PostgreSQL, where the views over the server's own store are created first.
const READ_ONLY_FROM_HERE: &str = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY";

/// A session, shared by the plan executor and the call that borrows it.
pub(crate) enum Session {
    Sqlite(SqliteSession),
    Server(ServerSession),
}

/// How a change of a table begins.
pub(crate) struct Beginning<'c> {
    /// The whole change runs in one transaction.
    pub transactional: bool,
    /// The table is rebuilt.
    pub rebuilds: bool,
    /// The table to lock against other clients.
    pub locks: Option<&'c TableName>,
}

impl Session {
    pub fn transport(&self) -> Transport {
        match self {
            Session::Sqlite(_) => Transport::Sqlite,
            Session::Server(session) => session.transport(),
        }
    }

    /// Whether the connection was lost.
    pub fn is_broken(&self) -> bool {
        match self {
            Session::Sqlite(session) => session.is_broken(),
            Session::Server(session) => session.is_broken(),
        }
    }

    /// Cancels running statements once the flag is set.
    pub fn cancelled_by(&self, flag: Arc<AtomicBool>) {
        match self {
            Session::Sqlite(session) => session.cancelled_by(flag),
            Session::Server(session) => session.cancelled_by(flag),
        }
    }

    /// Later statements, above all the undo, can no longer be cancelled.
    pub fn not_cancelled(&self) {
        self.cancelled_by(Arc::new(AtomicBool::new(false)));
    }

    /// Keeps a session on a server out of the pool.
    pub fn keep_from_others(&self) {
        if let Session::Server(session) = self {
            session.keep_from_others();
        }
    }

    /// After the connection was lost: whether its unfinished statement has stopped. False: it may still run.
    pub async fn has_stopped(&self) -> bool {
        match self {
            Session::Sqlite(_) => true,
            Session::Server(session) => session.has_stopped().await,
        }
    }

    /// Runs a reading statement that passed the guard.
    pub async fn read(&self, statement: &ReadStatement, bounds: Bounds) -> Result<RowSet, Error> {
        match self {
            Session::Sqlite(session) => session.read(statement, bounds).await,
            Session::Server(session) => session.read(statement, bounds).await,
        }
    }

    /// Runs a judged statement of a task, to its last row.
    pub async fn script(
        &self,
        statement: &ScriptStatement,
        shown: Shown,
        timeout: Duration,
    ) -> Result<Ran, Error> {
        let (sql, changes_rows) = (statement.as_str(), statement.changes_rows());
        match self {
            Session::Sqlite(session) => session.script(sql, changes_rows, shown, timeout).await,
            Session::Server(session) => session.script(sql, changes_rows, shown, timeout).await,
        }
    }

    /// Runs a statement of a checked plan.
    pub async fn change(&self, statement: &Statement, timeout: Duration) -> Result<(), Error> {
        self.own(statement.as_str(), timeout).await
    }

    /// Replaces all tables by views: SQLite's authorizer allows nothing else then, on a server the guard.
    pub async fn restrict(&self, views: &Views, timeout: Duration) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.restrict(views, timeout).await,
            Session::Server(session) => {
                for statement in views.plain_statements() {
                    session.execute(&statement, timeout).await?;
                }
                session.execute(READ_ONLY_FROM_HERE, timeout).await.map(drop)
            }
        }
    }

    /// Begins a change of a table.
    pub async fn begin_change(&self, beginning: &Beginning<'_>) -> Result<(), Error> {
        if !beginning.transactional {
            return Ok(());
        }
        match self {
            Session::Sqlite(session) => {
                if beginning.rebuilds {
                    // SQLite ignores this pragma within a transaction, so it comes first. The check before
                    // the commit replaces it.
                    session.execute("PRAGMA foreign_keys = OFF", OWN_TIMEOUT).await?;
                }
                session.execute("BEGIN IMMEDIATE", OWN_TIMEOUT).await
            }
            Session::Server(session) => {
                session.begin("BEGIN", OWN_TIMEOUT).await?;
                let Some(table) = beginning.locks.filter(|_| session.transport() == Transport::Postgres)
                else {
                    return Ok(());
                };
                let lock = format!(
                    "LOCK TABLE {}.{} IN ACCESS EXCLUSIVE MODE",
                    quoted(&table.database),
                    quoted(&table.name)
                );
                session.execute(&lock, OWN_TIMEOUT).await.map(drop)
            }
        }
    }

    /// Makes the session read-only within a change, so that a dialect may borrow it.
    pub async fn begin_reading(&self, is_in_transaction: bool) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.execute("PRAGMA query_only = ON", OWN_TIMEOUT).await,
            // In PostgreSQL a transaction stays read-only until a savepoint is rolled back.
            Session::Server(session) if session.transport() == Transport::Postgres => {
                if is_in_transaction {
                    let savepoint = "SAVEPOINT reading; SET LOCAL transaction_read_only TO on";
                    session.execute(savepoint, OWN_TIMEOUT).await.map(drop)
                } else {
                    session.begin("BEGIN READ ONLY", OWN_TIMEOUT).await
                }
            }
            // The guard judges each statement of the borrower.
            Session::Server(_) => Ok(()),
        }
    }

    /// Ends the effect of [`Session::begin_reading`].
    pub async fn end_reading(&self, is_in_transaction: bool) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.execute("PRAGMA query_only = OFF", OWN_TIMEOUT).await,
            Session::Server(session) if session.transport() == Transport::Postgres => {
                if is_in_transaction {
                    session.execute("ROLLBACK TO SAVEPOINT reading", OWN_TIMEOUT).await.map(drop)
                } else {
                    session.end("ROLLBACK", OWN_TIMEOUT).await
                }
            }
            Session::Server(_) => Ok(()),
        }
    }

    /// Begins a task's transaction. If the database has a single writer, one that `writes` waits for its
    /// turn.
    pub async fn begin_task(&self, writes: bool, timeout: Duration) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => {
                session.execute(if writes { "BEGIN IMMEDIATE" } else { "BEGIN" }, timeout).await
            }
            Session::Server(session) => {
                session.keep_from_others();
                let begin =
                    if session.transport() == Transport::Postgres { BEGIN_IN_POSTGRES } else { "BEGIN" };
                session.begin(begin, timeout).await
            }
        }
    }

    /// Begins a task's transaction with a statement of a server that names it.
    pub async fn begin_named(&self, begin: &str, timeout: Duration) -> Result<(), Error> {
        match self {
            Session::Sqlite(_) => self.begin_task(true, timeout).await,
            Session::Server(session) => {
                session.keep_from_others();
                session.begin(begin, timeout).await
            }
        }
    }

    /// Runs a statement of the host.
    pub async fn own(&self, sql: &str, timeout: Duration) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.execute(sql, timeout).await,
            Session::Server(session) => session.execute(sql, timeout).await.map(drop),
        }
    }

    /// Shortens the lock wait, so that a statement reacts soon once the flag is set.
    pub async fn wait_shortly(&self, timeout: Duration) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.execute("PRAGMA busy_timeout = 200", timeout).await,
            Session::Server(_) => Ok(()),
        }
    }

    pub async fn commit(&self, timeout: Duration) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.execute("COMMIT", timeout.max(SQLITE_COMMIT_MAX)).await,
            Session::Server(session) => session.end("COMMIT", timeout).await,
        }
    }

    pub async fn roll_back(&self) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.execute("ROLLBACK", OWN_TIMEOUT).await,
            Session::Server(session) => session.end("ROLLBACK", OWN_TIMEOUT).await,
        }
    }

    /// Ends a session that has left nothing in itself; a file may stay open for the next one.
    pub async fn rest(self: Arc<Self>) {
        match Arc::into_inner(self) {
            Some(Session::Sqlite(session)) => session.rest().await,
            Some(Session::Server(session)) => session.close().await,
            None => {}
        }
    }

    /// Closes the session cleanly. If a call still holds it, it closes when the call lets go.
    pub async fn close(self: Arc<Self>) {
        match Arc::into_inner(self) {
            Some(Session::Sqlite(session)) => session.close().await,
            Some(Session::Server(session)) => session.close().await,
            None => {}
        }
    }
}

/// A task's names mean what they mean to its account, and only its own timeout ends it.
const BEGIN_IN_POSTGRES: &str = "BEGIN; SET LOCAL search_path TO DEFAULT; SET LOCAL statement_timeout TO 0";

/// A quoted name for PostgreSQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
