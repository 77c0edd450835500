//! The shared store: connections to one PostgreSQL database.

use std::str::FromStr;
use std::sync::Arc;

use anyhow::Context;
use lakeport_base::Error;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgConnectOptions, PgPoolOptions, PgRow, PgTypeInfo};
use sqlx::query::Query;
use sqlx::{
    Column, ConnectOptions, Encode, PgConnection, PgPool, Row as _, SqlSafeStr, Type, TypeInfo, ValueRef,
};

use super::postgres_pool::Connections;
use super::{BUSY_TIMEOUT, Row, Store, Value};

const CONNECTIONS: u32 = 16;
/// Prepared statements of a connection: more than the program's.
const STATEMENTS: usize = 512;
/// Begins a transaction whose statements see one consistent state.
pub const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// A statement of the metadata store that takes longer is an error.
const STATEMENT_TIMEOUT_MS: u64 = 30_000;
/// A transaction of a dead owner must not hold its locks.
const IDLE_IN_TRANSACTION_TIMEOUT_MS: u64 = 60_000;

pub fn check_url(url: &str) -> Result<(), String> {
    PgConnectOptions::from_str(url).map(drop).map_err(|error| format!("is not a PostgreSQL address: {error}"))
}

pub async fn connect(url: &str) -> anyhow::Result<Store> {
    let options = PgConnectOptions::from_str(url).context("database_url is not a PostgreSQL address")?;
    let place = format!("{}:{}", options.get_host(), options.get_port());
    let options = options
        .application_name("lakeport")
        .statement_cache_capacity(STATEMENTS)
        .options([
            ("lock_timeout", BUSY_TIMEOUT.as_millis().to_string()),
            ("statement_timeout", STATEMENT_TIMEOUT_MS.to_string()),
            ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION_TIMEOUT_MS.to_string()),
            // To compile a statement takes longer than to run it.
            ("jit", "off".to_owned()),
        ])
        .disable_statement_logging();
    let connections = Connections::new(options.clone(), CONNECTIONS);
    // The first connection shows whether there is a server.
    connections.check().await.with_context(|| format!("cannot connect to PostgreSQL at {place}"))?;
    let listener = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(BUSY_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options);
    Ok(Store::Postgres(Postgres { connections, listener }))
}

/// All connections to the server.
#[derive(Clone)]
pub struct Postgres {
    pub connections: Connections,
    /// The connection that listens for other servers' commits.
    pub listener: PgPool,
}

/// Reads on one connection.
pub async fn read(
    connection: &mut PgConnection,
    sql: impl SqlSafeStr,
    values: &[Value],
) -> Result<Vec<PgRow>, sqlx::Error> {
    bind(sql, values).fetch_all(connection).await
}

pub async fn fetch(
    connection: &mut PgConnection,
    sql: impl SqlSafeStr,
    values: &[Value],
) -> Result<Vec<Row>, Error> {
    decode_all(&read(connection, sql, values).await?)
}

pub fn decode_all(rows: &[PgRow]) -> Result<Vec<Row>, Error> {
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let names: Arc<[String]> = first.columns().iter().map(|column| column.name().to_owned()).collect();
    let kinds = kinds(first)?;
    let decoded = |row| Ok(Row { columns: Arc::clone(&names), values: decode(row, &kinds)? });
    rows.iter().map(decoded).collect()
}

pub async fn execute(
    connection: &mut PgConnection,
    sql: impl SqlSafeStr,
    values: &[Value],
) -> Result<u64, Error> {
    Ok(bind(sql, values).execute(connection).await?.rows_affected())
}

pub fn bind<'q>(sql: impl SqlSafeStr, values: &[Value]) -> Query<'q, sqlx::Postgres, PgArguments> {
    values.iter().fold(sqlx::query::<sqlx::Postgres>(sql), |query, value| match value {
        Value::Null => query.bind(Untyped),
        Value::Int(value) => query.bind(*value),
        Value::Real(value) => query.bind(*value),
        Value::Text(value) => query.bind(value.clone()),
        Value::Bytes(value) => query.bind(value.clone()),
        Value::Bool(value) => query.bind(*value),
        Value::Ids(ids) => query.bind(ids.clone()),
    })
}

/// The type that a value is bound as.
pub fn type_of(value: &Value) -> PgTypeInfo {
    match value {
        Value::Null => Untyped::type_info(),
        Value::Int(_) => <i64 as Type<sqlx::Postgres>>::type_info(),
        Value::Real(_) => <f64 as Type<sqlx::Postgres>>::type_info(),
        Value::Text(_) => <String as Type<sqlx::Postgres>>::type_info(),
        Value::Bytes(_) => <Vec<u8> as Type<sqlx::Postgres>>::type_info(),
        Value::Bool(_) => <bool as Type<sqlx::Postgres>>::type_info(),
        Value::Ids(_) => <Vec<i64> as Type<sqlx::Postgres>>::type_info(),
    }
}

/// A null whose type the server infers from its context: any fixed type would not fit the others.
struct Untyped;

impl Type<sqlx::Postgres> for Untyped {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(0))
    }
}

impl Encode<'_, sqlx::Postgres> for Untyped {
    fn encode_by_ref(&self, _: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        Ok(IsNull::Yes)
    }
}

/// The type of a column.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Int8,
    Int4,
    Float8,
    Text,
    Bytes,
    Bool,
}

/// The types of a row's columns.
pub fn kinds(row: &PgRow) -> Result<Vec<Kind>, Error> {
    row.columns().iter().map(|column| kind(column.name(), column.type_info().name())).collect()
}

/// The type of this name.
pub fn kind(column: &str, name: &str) -> Result<Kind, Error> {
    Ok(match name {
        "INT8" => Kind::Int8,
        "INT4" => Kind::Int4,
        "FLOAT8" => Kind::Float8,
        "TEXT" | "VARCHAR" | "NAME" => Kind::Text,
        "BYTEA" => Kind::Bytes,
        "BOOL" => Kind::Bool,
        other => {
            return Err(Error::internal(anyhow::anyhow!(
                "column `{column}` has the type {other}, which is not read"
            )));
        }
    })
}

/// The values of one row, in the order of its columns.
pub fn decode(row: &PgRow, kinds: &[Kind]) -> Result<Vec<Value>, Error> {
    kinds.iter().enumerate().map(|(index, kind)| decode_at(row, index, *kind)).collect()
}

/// One value of a row, in PostgreSQL's binary format, in which the results of prepared statements come.
pub fn decode_at(row: &PgRow, index: usize, kind: Kind) -> Result<Value, Error> {
    let raw = row.try_get_raw(index)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let bytes = raw.as_bytes().map_err(|error| Error::internal(anyhow::anyhow!(error)))?;
    Ok(match kind {
        Kind::Int8 => Value::Int(i64::from_be_bytes(bytes.try_into().map_err(Error::internal)?)),
        Kind::Int4 => Value::Int(i32::from_be_bytes(bytes.try_into().map_err(Error::internal)?).into()),
        Kind::Float8 => Value::Real(f64::from_be_bytes(bytes.try_into().map_err(Error::internal)?)),
        Kind::Text => Value::Text(std::str::from_utf8(bytes).map_err(Error::internal)?.to_owned()),
        Kind::Bytes => Value::Bytes(bytes.to_vec()),
        Kind::Bool => Value::Bool(bytes != [0]),
    })
}
