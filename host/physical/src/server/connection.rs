//! One connection to a server, over either driver.
//!
//! If the future of a statement is dropped, its connection is left in the middle of an answer, and the
//! session discards it. The timeouts are the caller's.

use std::net::SocketAddr;

use futures_util::TryStreamExt;
use lakeport_bindings::host::data::{Cell, RowSet};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::{ReadStatement, Transport};
use sqlx::mysql::{MySql, MySqlConnection};
use sqlx::postgres::{PgConnection, Postgres};
use sqlx::{AssertSqlSafe, Connection as _, Either, Executor, Row, raw_sql};

use super::driver::{Collector, Driver};
use super::login::{DriverSettings, Login};
use super::{mysql, postgres};
use crate::script::{Ran, Shown};

/// An open connection.
pub(crate) enum Connection {
    Postgres(PgConnection),
    MySql {
        connection: MySqlConnection,
        /// Statements are never prepared.
        is_text_only: bool,
    },
}

/// The rows of an answer.
pub(crate) struct Answer {
    pub rows: RowSet,
    /// More rows are on their way that were not read.
    pub has_more: bool,
}

impl Connection {
    /// Connects to one address, without session settings.
    pub async fn open(
        login: &Login,
        address: SocketAddr,
        driver: DriverSettings,
    ) -> Result<Connection, Error> {
        match login.transport {
            Transport::Postgres => postgres::connect(login, address).await.map(Connection::Postgres),
            Transport::MySql => {
                let connection = mysql::connect(login, address, driver).await?;
                Ok(Connection::MySql { connection, is_text_only: driver.text_protocol })
            }
            Transport::Sqlite | Transport::Http => Err(error("unsupported", "there is no driver for it")),
        }
    }

    /// Checks the settings that the host itself relies on, whatever the dialect set.
    pub async fn check_set_up(&mut self, reads_only: bool) -> Result<(), Error> {
        match self {
            Connection::Postgres(connection) => postgres::check_set_up(connection, reads_only).await,
            Connection::MySql { connection, .. } => mysql::check_set_up(connection).await,
        }
    }

    /// Checks that the server still answers.
    pub async fn check(&mut self) -> Result<(), Error> {
        match self {
            Connection::Postgres(connection) => {
                connection.ping().await.map_err(|cause| Postgres::said(&cause))
            }
            Connection::MySql { connection, .. } => {
                connection.ping().await.map_err(|cause| MySql::said(&cause))
            }
        }
    }

    /// Runs a judged statement, or the host's own; returns the number of changed rows.
    pub async fn execute(&mut self, sql: &str) -> Result<u64, Error> {
        match self {
            Connection::Postgres(connection) => execute(connection, sql).await,
            Connection::MySql { connection, .. } => execute(connection, sql).await,
        }
    }

    /// Reads the rows of a judged statement.
    pub async fn read(
        &mut self,
        statement: &ReadStatement,
        max_rows: usize,
        max_bytes: usize,
    ) -> Result<Answer, Error> {
        let mut collector = Collector::new(max_rows, max_bytes);
        match self {
            Connection::Postgres(connection) => {
                postgres::read(connection, statement, &mut collector).await?;
            }
            Connection::MySql { connection, is_text_only } => {
                mysql::read(connection, *is_text_only, statement, &mut collector).await?;
            }
        }
        Ok(Answer { has_more: collector.rows.truncated, rows: collector.rows })
    }

    /// Runs a judged statement of a task, to its last row.
    pub async fn script(&mut self, sql: &str, changes_rows: bool, shown: Shown) -> Result<Ran, Error> {
        match self {
            Connection::Postgres(connection) => script(connection, sql, changes_rows, shown).await,
            Connection::MySql { connection, .. } => script(connection, sql, changes_rows, shown).await,
        }
    }

    /// Closes the connection; the caller need not know if the server no longer answers.
    pub async fn close(self) {
        let closed = match self {
            Connection::Postgres(connection) => connection.close().await,
            Connection::MySql { connection, .. } => connection.close().await,
        };
        if let Err(cause) = closed {
            tracing::debug!(%cause, "a database session did not close in order");
        }
    }
}

async fn execute<C>(connection: &mut C, sql: &str) -> Result<u64, Error>
where
    C: sqlx::Connection,
    C::Database: Driver,
    for<'c> &'c mut C: Executor<'c, Database = C::Database>,
    <C::Database as sqlx::Database>::QueryResult: Changed,
{
    let done = connection.execute(raw_sql(AssertSqlSafe(sql))).await;
    done.map(|done| done.rows()).map_err(|cause| C::Database::said(&cause))
}

async fn script<C>(connection: &mut C, sql: &str, changes_rows: bool, shown: Shown) -> Result<Ran, Error>
where
    C: sqlx::Connection,
    C::Database: Driver,
    for<'c> &'c mut C: Executor<'c, Database = C::Database>,
    <C::Database as sqlx::Database>::QueryResult: Changed,
{
    let mut ran = Ran::default();
    let mut steps = connection.fetch_many(raw_sql(AssertSqlSafe(sql)));
    while let Some(step) = steps.try_next().await.map_err(|cause| C::Database::said(&cause))? {
        match step {
            Either::Right(row) => {
                if ran.columns.is_empty() {
                    let columns = C::Database::columns(&row);
                    ran.columns = columns.into_iter().map(|column| column.name).collect();
                }
                if ran.first.len() < shown.rows {
                    ran.first.push(shown_cells::<C::Database>(&row, shown.cell_chars)?);
                }
                ran.rows += 1;
            }
            Either::Left(done) if changes_rows => ran.changed += done.rows(),
            Either::Left(_) => {}
        }
    }
    Ok(ran)
}

fn shown_cells<DB: Driver>(row: &DB::Row, chars: usize) -> Result<Vec<String>, Error> {
    let shown = |index| {
        Ok(match DB::cell(row, index, true)? {
            Cell::Null => "NULL".to_owned(),
            Cell::Boolean(value) => value.to_string(),
            Cell::Integer(value) => value.to_string(),
            Cell::Float(value) => value.to_string(),
            Cell::Text(text) => match text.char_indices().nth(chars) {
                Some((end, _)) => format!("{}…", &text[..end]),
                None => text,
            },
            Cell::Bytes(bytes) => format!("{} bytes", bytes.len()),
        })
    };
    (0..row.len()).map(shown).collect()
}

/// The number of rows that a statement changed.
pub(crate) trait Changed {
    fn rows(&self) -> u64;
}

impl Changed for sqlx::postgres::PgQueryResult {
    fn rows(&self) -> u64 {
        self.rows_affected()
    }
}

impl Changed for sqlx::mysql::MySqlQueryResult {
    fn rows(&self) -> u64 {
        self.rows_affected()
    }
}
