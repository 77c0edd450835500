//! The embedded store: one file, one writer, several readers.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use lakeport_base::Error;
use sqlx::query::Query;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{
    Column, ConnectOptions, Row as _, SqlSafeStr, Sqlite, SqliteConnection, SqlitePool, TypeInfo, ValueRef,
};

use super::readers::Readers;
use super::{BUSY_TIMEOUT, Row, Store, Value};

/// Owner only: the store contains components and encrypted secrets.
const FILE_MODE: u32 = 0o600;

pub async fn connect(path: &Path) -> anyhow::Result<Store> {
    // Created here for its mode: SQLite gives the write-ahead log the mode of the file.
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(FILE_MODE)
        .open(path)
        .with_context(|| format!("cannot open the store {}", path.display()))?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging();
    let named = || format!("cannot open the store {}", path.display());
    let writer = SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(BUSY_TIMEOUT)
        .connect_with(options)
        .await
        .with_context(named)?;
    let readers = Readers::new(path);
    Ok(Store::Sqlite { writer, readers })
}

/// A read-only connection of its own, without read-ahead of rows.
pub async fn open_reader(writer: &SqlitePool) -> Result<SqliteConnection, sqlx::Error> {
    let options = writer.connect_options().as_ref().clone();
    options.pragma("query_only", "ON").row_buffer_size(1).connect().await
}

pub async fn fetch(
    connection: &mut SqliteConnection,
    sql: impl SqlSafeStr,
    values: &[Value],
) -> Result<Vec<Row>, Error> {
    let rows = bind(sql, values).fetch_all(connection).await?;
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let columns: Arc<[String]> = first.columns().iter().map(|column| column.name().to_owned()).collect();
    rows.iter().map(|row| Ok(Row { columns: Arc::clone(&columns), values: decode(row)? })).collect()
}

pub async fn execute(
    connection: &mut SqliteConnection,
    sql: impl SqlSafeStr,
    values: &[Value],
) -> Result<u64, Error> {
    Ok(bind(sql, values).execute(connection).await?.rows_affected())
}

pub fn bind<'q>(sql: impl SqlSafeStr, values: &[Value]) -> Query<'q, Sqlite, SqliteArguments> {
    values.iter().fold(sqlx::query::<Sqlite>(sql), |query, value| match value {
        Value::Null => query.bind(None::<i64>),
        Value::Int(value) => query.bind(*value),
        Value::Real(value) => query.bind(*value),
        Value::Text(value) => query.bind(value.clone()),
        Value::Bytes(value) => query.bind(value.clone()),
        Value::Bool(value) => query.bind(*value),
    })
}

/// The values of one row, in the order of its columns.
pub fn decode(row: &SqliteRow) -> Result<Vec<Value>, Error> {
    let mut values = Vec::with_capacity(row.columns().len());
    for (index, column) in row.columns().iter().enumerate() {
        let raw = row.try_get_raw(index)?;
        let kind = raw.type_info().into_owned();
        values.push(match kind.name() {
            _ if raw.is_null() => Value::Null,
            "INTEGER" | "BOOLEAN" => Value::Int(row.try_get_unchecked(index)?),
            "REAL" => Value::Real(row.try_get_unchecked(index)?),
            "TEXT" => Value::Text(row.try_get_unchecked(index)?),
            "BLOB" => Value::Bytes(row.try_get_unchecked(index)?),
            other => {
                let column = column.name();
                return Err(Error::internal(anyhow::anyhow!(
                    "column `{column}` has the type {other}, which is not read"
                )));
            }
        });
    }
    Ok(values)
}
