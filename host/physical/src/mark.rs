//! How a database tells, after the commit of a task's transaction, that it was made. The mark is kept elsewhere before the
//! commit; after a crash the database is asked for the outcome, once the task's session is ended.

use std::time::Duration;

use lakeport_bindings::host::data::Cell;
use lakeport_bindings::host::types::Error;
use lakeport_sql::{ReadStatement, Transport};
use serde::{Deserialize, Serialize};

use crate::database::Database;
use crate::errors::{is_locked, is_unknown};
use crate::naming;
use crate::script::Bounds;
use crate::session::Session;
use crate::task::TaskPlan;

/// Of questions about marks.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit of a prepared transaction's end: it flushes all of it.
const END_TIMEOUT: Duration = Duration::from_secs(600);
/// MariaDB keeps prepared transactions of ended sessions from this version on.
const XA_SINCE: (u32, u32) = (10, 5);
/// Prepared transactions of one server that are looked at.
const PREPARED_MAX: usize = 10_000;
/// Of a name.
const NAME_MAX_CHARS: usize = 64;

const TRANSACTION: &str = "SELECT CAST(pg_catalog.txid_current_if_assigned() AS text)";
/// PostgreSQL's code for a number that it has not given out: it was restored to a time before.
const IN_FUTURE: &str = "22023";
const VERSION: &str = "SELECT VERSION()";
const PREPARED: &str = "XA RECOVER";
/// By time, so that old rows are found without an index of their own.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS lakeport_tasks (at INTEGER NOT NULL, name TEXT NOT NULL, \
    PRIMARY KEY (at, name)) WITHOUT ROWID";
/// A row is asked for when a server has died; it may be a week until one starts again.
const FORGET: &str = "DELETE FROM lakeport_tasks WHERE at < CAST(strftime('%s', 'now') AS INTEGER) - 604800";

/// A transaction as its database will know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mark {
    /// PostgreSQL's number of it.
    Transaction(String),
    /// The name of an XA transaction of MariaDB that may be prepared by now. It is not to be committed yet.
    Preparing(String),
    /// The same, prepared. It is to be committed.
    Prepared(String),
    /// The name in the row that it adds to our table in a SQLite file.
    Row(String),
}

/// The outcome of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    RolledBack,
    /// It is neither yet, or another session holds it.
    InProgress,
    /// The database does not remember it.
    Forgotten,
}

/// What becomes a mark.
pub(crate) enum Tracking {
    No,
    /// A SQLite file has no transaction open: one statement reads.
    Reading,
    Transaction,
    Xa(String),
    Row(String),
}

impl Tracking {
    pub async fn of(session: &Session, plan: TaskPlan) -> Result<Tracking, Error> {
        Ok(match session.transport() {
            Transport::Sqlite if plan.is_one_read => Tracking::Reading,
            _ if !plan.writes => Tracking::No,
            Transport::Postgres => Tracking::Transaction,
            Transport::Sqlite if plan.may_add_table => Tracking::Row(plan.name),
            Transport::MySql if !plan.commits_early && keeps_prepared(session).await? => {
                Tracking::Xa(plan.name)
            }
            _ => Tracking::No,
        })
    }

    pub async fn begin(&mut self, session: &Session, writes: bool, timeout: Duration) -> Result<(), Error> {
        let name = match self {
            Tracking::Reading => return Ok(()),
            Tracking::Xa(name) => name,
            _ => return session.begin_task(writes, timeout).await,
        };
        match session.begin_named(&format!("XA START '{name}'"), timeout).await {
            // Servers of a Galera cluster have none.
            Err(refused) if !is_unknown(&refused) => {
                *self = Tracking::No;
                session.begin_task(writes, timeout).await
            }
            began => began,
        }
    }

    /// Names the transaction before its commit.
    pub async fn mark(&self, session: &Session) -> Result<Option<Mark>, Error> {
        match self {
            Tracking::No | Tracking::Reading => Ok(None),
            Tracking::Transaction => Ok(first_text(session, TRANSACTION).await?.map(Mark::Transaction)),
            Tracking::Xa(name) => {
                session.own(&format!("XA END '{name}'"), TIMEOUT).await?;
                Ok(Some(Mark::Preparing(name.clone())))
            }
            Tracking::Row(name) => {
                let row = format!(
                    "INSERT INTO lakeport_tasks (at, name) VALUES (CAST(strftime('%s', 'now') AS INTEGER), '{name}')"
                );
                for statement in [TABLE, FORGET, &row] {
                    session.own(statement, TIMEOUT).await?;
                }
                Ok(Some(Mark::Row(name.clone())))
            }
        }
    }

    pub async fn prepare(&self, session: &Session) -> Result<Option<Mark>, Error> {
        let Tracking::Xa(name) = self else { return Ok(None) };
        session.own(&format!("XA PREPARE '{name}'"), END_TIMEOUT).await?;
        Ok(Some(Mark::Prepared(name.clone())))
    }

    pub async fn commit(&self, session: &Session, timeout: Duration) -> Result<(), Error> {
        match self {
            Tracking::Xa(name) => session.own(&format!("XA COMMIT '{name}'"), timeout).await,
            Tracking::Reading => Ok(()),
            _ => session.commit(timeout).await,
        }
    }

    pub async fn wait_shortly(&self, session: &Session, timeout: Duration) -> Result<(), Error> {
        match self {
            Tracking::Reading => Ok(()),
            _ => session.wait_shortly(timeout).await,
        }
    }

    /// Rolls back what closing the session would not.
    pub async fn roll_back(&self, session: &Session) {
        let Tracking::Xa(name) = self else { return };
        // Of one that is not prepared this fails: the end of its session rolls it back.
        if let Err(error) = session.own(&format!("XA ROLLBACK '{name}'"), TIMEOUT).await {
            tracing::debug!("an XA transaction was not rolled back by its session: {}", error.message);
        }
    }
}

/// The outcome of a task's transaction. Its session, which has this name, is ended first if it is still there. A
/// transaction that was prepared is ended now: committed if it is to be, else rolled back. Without a mark it had not come to
/// its commit, or the database keeps no record.
pub async fn outcome(
    database: &Database,
    session_name: Option<&str>,
    mark: Option<&Mark>,
) -> Result<Outcome, Error> {
    if !session_name.is_none_or(is_well_formed) || !mark.is_none_or(Mark::is_well_formed) {
        return Ok(Outcome::Forgotten);
    }
    // The data source is another one by now.
    if mark.is_some_and(|mark| mark.transport() != database.transport()) {
        return Ok(Outcome::Forgotten);
    }
    let session = match database.transport() {
        Transport::Postgres => database.open_to_query(false).await?,
        _ => database.open_to_change().await?,
    };
    let outcome = async {
        if let Some(name) = session_name
            && !naming::end_session(&session, name).await?
        {
            return Ok(Outcome::InProgress);
        }
        match mark {
            None => Ok(Outcome::Forgotten),
            Some(Mark::Transaction(number)) => of_transaction(&session, number).await,
            Some(Mark::Preparing(name)) => of_prepared(&session, name, "ROLLBACK", Outcome::RolledBack).await,
            Some(Mark::Prepared(name)) => of_prepared(&session, name, "COMMIT", Outcome::Committed).await,
            Some(Mark::Row(name)) => of_row(&session, name).await,
        }
    }
    .await;
    session.close().await;
    outcome
}

impl Mark {
    fn transport(&self) -> Transport {
        match self {
            Mark::Transaction(_) => Transport::Postgres,
            Mark::Preparing(_) | Mark::Prepared(_) => Transport::MySql,
            Mark::Row(_) => Transport::Sqlite,
        }
    }

    /// What stands in a statement has passed through a store.
    fn is_well_formed(&self) -> bool {
        match self {
            Mark::Transaction(number) => {
                !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
            }
            Mark::Preparing(name) | Mark::Prepared(name) | Mark::Row(name) => is_well_formed(name),
        }
    }
}

fn is_well_formed(name: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !name.is_empty() && name.len() <= NAME_MAX_CHARS && name.bytes().all(is_known)
}

async fn of_transaction(session: &Session, number: &str) -> Result<Outcome, Error> {
    let status = match first_text(session, &format!("SELECT pg_catalog.txid_status({number})")).await {
        Err(error) if code(&error) == Some(IN_FUTURE) => return Ok(Outcome::Forgotten),
        status => status?,
    };
    Ok(match status.as_deref() {
        Some("committed") => Outcome::Committed,
        Some("aborted") => Outcome::RolledBack,
        Some("in progress") => Outcome::InProgress,
        _ => Outcome::Forgotten,
    })
}

/// Ends a prepared transaction; one that is not there any more was ended so before.
async fn of_prepared(session: &Session, name: &str, end: &str, ended: Outcome) -> Result<Outcome, Error> {
    let bounds = Bounds { max_rows: PREPARED_MAX, max_bytes: 1024 * 1024, timeout: TIMEOUT };
    let rows = read(session, PREPARED, bounds).await?;
    let is_it = |cell: &Cell| match cell {
        Cell::Text(text) => text == name,
        Cell::Bytes(bytes) => bytes == name.as_bytes(),
        _ => false,
    };
    if !rows.iter().any(|row| row.iter().any(is_it)) {
        return Ok(ended);
    }
    match session.own(&format!("XA {end} '{name}'"), END_TIMEOUT).await {
        Ok(()) => Ok(ended),
        Err(error) if is_unknown(&error) => Err(error),
        // Its session is still there.
        Err(error) => {
            tracing::debug!("a prepared transaction is not ended yet: {}", error.message);
            Ok(Outcome::InProgress)
        }
    }
}

/// Waits for writers: one that adds the row may be about to commit.
async fn of_row(session: &Session, name: &str) -> Result<Outcome, Error> {
    match session.begin_task(true, TIMEOUT).await {
        Err(error) if is_locked(&error) => return Ok(Outcome::InProgress),
        began => began?,
    }
    // It is not there if the first task that would have made it was rolled back.
    session.own(TABLE, TIMEOUT).await?;
    let sql = format!("SELECT name FROM lakeport_tasks WHERE name = '{name}'");
    let is_there = first_text(session, &sql).await?.is_some();
    session.roll_back().await?;
    Ok(if is_there { Outcome::Committed } else { Outcome::RolledBack })
}

/// Whether prepared transactions outlive their sessions.
async fn keeps_prepared(session: &Session) -> Result<bool, Error> {
    Ok(first_text(session, VERSION).await?.is_some_and(|version| is_mariadb_with_xa(&version)))
}

/// `10.11.6-MariaDB-log`; other servers of the protocol, and older ones, roll back what was prepared.
fn is_mariadb_with_xa(version: &str) -> bool {
    let mut numbers = version.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let number = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version.contains("MariaDB") && number >= XA_SINCE
}

fn code(error: &Error) -> Option<&str> {
    error.upstream.as_ref()?.code.as_deref()
}

/// The first column of the first row.
pub(crate) async fn first_text(session: &Session, sql: &str) -> Result<Option<String>, Error> {
    let bounds = Bounds { max_rows: 1, max_bytes: 1_024, timeout: TIMEOUT };
    let rows = read(session, sql, bounds).await?;
    Ok(match rows.first().and_then(|row| row.first()) {
        Some(Cell::Text(text)) => Some(text.clone()),
        _ => None,
    })
}

async fn read(session: &Session, sql: &str, bounds: Bounds) -> Result<Vec<Vec<Cell>>, Error> {
    let statement = ReadStatement { sql: sql.to_owned(), binds: Vec::new() };
    Ok(session.read(&statement, bounds).await?.rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prepared_transactions_are_kept_by_mariadb_alone() {
        for version in ["10.5.1-MariaDB", "10.11.6-MariaDB-0+deb12u1", "11.4.2-MariaDB-log"] {
            assert!(is_mariadb_with_xa(version), "{version}");
        }
        for version in ["8.0.36", "10.4.33-MariaDB", "5.7.99-log", "", "MariaDB"] {
            assert!(!is_mariadb_with_xa(version), "{version}");
        }
    }

    #[test]
    fn a_mark_brings_no_text_of_its_own() {
        assert!(Mark::Row("task-0195".to_owned()).is_well_formed());
        for name in ["", "a'b", "a b", "a\\", &"x".repeat(65)] {
            assert!(!Mark::Prepared(name.to_owned()).is_well_formed(), "{name}");
        }
        assert!(!Mark::Transaction("1; DROP".to_owned()).is_well_formed());
    }
}
