//! PostgreSQL.
//!
//! A statement is prepared first, because prepare accepts exactly one, and then sent as text if it has no
//! values to bind: so every type of every extension comes in the server's own notation. With values, only the
//! types of the dialects' own queries are supported.

use std::net::SocketAddr;

use lakeport_bindings::host::data::{Cell, Column};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::ReadStatement;
use sqlx::postgres::{
    PgArguments, PgConnectOptions, PgConnection, PgRow, PgSslMode, PgTypeInfo, PgValueFormat, PgValueRef,
    Postgres,
};
use sqlx::{
    Arguments, AssertSqlSafe, Column as _, ConnectOptions, Executor, Row, SqlSafeStr, Statement as _, Type,
    TypeInfo, ValueRef, raw_sql,
};

use super::driver::{Collector, Driver};
use super::login::{Login, Tls};
use crate::errors::of_postgres;

/// PostgreSQL 14 and newer look every 2 s whether the client is still there: otherwise a statement outlives a server
/// that was killed.
macro_rules! check_of_client {
    () => {
        "SELECT set_config(name, '2000', false) FROM pg_catalog.pg_settings \
         WHERE name = 'client_connection_check_interval'"
    };
}

/// The host's own settings: read-only, a time limit, and no search path: the
/// guard permits names of PostgreSQL's own functions, which must not mean those of another schema.
const READ_ONLY: &str = concat!(
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY; SET statement_timeout TO 120000; SET search_path TO ''; ",
    check_of_client!()
);
const CHANGES: &str = concat!(
    "SET statement_timeout TO 900000; SET idle_in_transaction_session_timeout TO 900000; ",
    check_of_client!()
);
/// Reading texts relies on it.
const MUST_BE: &str = "SELECT current_setting('standard_conforming_strings')";

pub(super) async fn connect(login: &Login, address: SocketAddr) -> Result<PgConnection, Error> {
    // A certificate is for the name; only then is the name resolved once more.
    let host = if login.tls == Tls::VerifyFull { login.host.clone() } else { address.ip().to_string() };
    let mut options = PgConnectOptions::new_without_pgpass()
        .host(&host)
        .port(address.port())
        .username(&login.username)
        // Without one the driver would take the password from the server's environment.
        .password(login.password.as_deref().unwrap_or_default())
        .database(login.database.as_deref().unwrap_or("postgres"))
        .application_name("lakeport")
        .ssl_mode(match login.tls {
            Tls::Disable => PgSslMode::Disable,
            Tls::Prefer => PgSslMode::Prefer,
            Tls::Require => PgSslMode::Require,
            Tls::VerifyCa => PgSslMode::VerifyCa,
            Tls::VerifyFull => PgSslMode::VerifyFull,
        });
    if let Some(file) = &login.ca_file {
        options = options.ssl_root_cert(file);
    }
    options.disable_statement_logging().connect().await.map_err(|cause| of_postgres(&cause))
}

pub(super) async fn check_set_up(connection: &mut PgConnection, reads_only: bool) -> Result<(), Error> {
    let settings = if reads_only { READ_ONLY } else { CHANGES };
    connection.execute(raw_sql(settings)).await.map_err(|cause| of_postgres(&cause))?;
    let is: String =
        sqlx::query_scalar(MUST_BE).fetch_one(connection).await.map_err(|cause| of_postgres(&cause))?;
    if is == "on" {
        return Ok(());
    }
    Err(error("unsupported", "the server reads texts with backslashes (standard_conforming_strings is off)"))
}

pub(super) async fn read(
    connection: &mut PgConnection,
    statement: &ReadStatement,
    collector: &mut Collector,
) -> Result<(), Error> {
    let sql = AssertSqlSafe(statement.sql.clone()).into_sql_str();
    // Otherwise the server could expect a number of another width than the one sent.
    let types: Vec<PgTypeInfo> = statement.binds.iter().map(type_of).collect();
    let prepared = connection.prepare_with(sql.clone(), &types).await.map_err(|cause| of_postgres(&cause))?;
    let described = prepared.columns().iter().map(|column| Column {
        name: column.name().to_owned(),
        type_text: column.type_info().name().to_owned(),
    });
    collector.rows.columns = described.collect();
    if statement.binds.is_empty() {
        return collector.take_all::<Postgres>(connection.fetch(raw_sql(sql)), true).await;
    }
    let bound = prepared.query_with(arguments(&statement.binds)?);
    collector.take_all::<Postgres>(bound.fetch(connection), false).await
}

impl Driver for Postgres {
    fn columns(row: &PgRow) -> Vec<Column> {
        let columns = row.columns().iter().map(|column| Column {
            name: column.name().to_owned(),
            type_text: column.type_info().name().to_owned(),
        });
        columns.collect()
    }

    fn cell(row: &PgRow, index: usize, _: bool) -> Result<Cell, Error> {
        let value = row.try_get_raw(index).map_err(|cause| of_postgres(&cause))?;
        if value.is_null() {
            return Ok(Cell::Null);
        }
        let kind = value.type_info().name().to_owned();
        let cell = match value.format() {
            PgValueFormat::Text => value.as_str().ok().map(|text| of_text(&kind, text)),
            PgValueFormat::Binary => of_bytes(&kind, &value),
        };
        cell.ok_or_else(|| {
            error("upstream_failed", format!("a value of the type {kind} cannot be read here"))
        })
    }

    fn said(cause: &sqlx::Error) -> Error {
        of_postgres(cause)
    }
}

/// A value in the server's notation.
fn of_text(kind: &str, text: &str) -> Cell {
    let or_text = |cell: Option<Cell>| cell.unwrap_or_else(|| Cell::Text(text.to_owned()));
    match kind {
        "BOOL" => Cell::Boolean(text == "t"),
        "INT2" | "INT4" | "INT8" | "OID" => or_text(text.parse().ok().map(Cell::Integer)),
        "FLOAT4" | "FLOAT8" => or_text(text.parse().ok().map(Cell::Float)),
        "BYTEA" => or_text(text.strip_prefix("\\x").and_then(of_hex).map(Cell::Bytes)),
        _ => Cell::Text(text.to_owned()),
    }
}

fn of_hex(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    let nibble = |digit: u8| char::from(digit).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(nibble(*high)? * 16 + nibble(*low)?).ok(),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

/// A value of a prepared statement; `None` for types that no dialect queries.
fn of_bytes(kind: &str, value: &PgValueRef<'_>) -> Option<Cell> {
    let bytes = value.as_bytes().ok()?;
    Some(match kind {
        "BOOL" => Cell::Boolean(bytes != [0]),
        "INT2" => Cell::Integer(i16::from_be_bytes(bytes.try_into().ok()?).into()),
        "INT4" => Cell::Integer(i32::from_be_bytes(bytes.try_into().ok()?).into()),
        "INT8" => Cell::Integer(i64::from_be_bytes(bytes.try_into().ok()?)),
        "OID" => Cell::Integer(u32::from_be_bytes(bytes.try_into().ok()?).into()),
        "FLOAT4" => Cell::Float(f32::from_be_bytes(bytes.try_into().ok()?).into()),
        "FLOAT8" => Cell::Float(f64::from_be_bytes(bytes.try_into().ok()?)),
        "BYTEA" => Cell::Bytes(bytes.to_vec()),
        "TEXT" | "VARCHAR" | "CHAR" | "\"CHAR\"" | "NAME" | "JSON" | "XML" | "UNKNOWN" => {
            Cell::Text(std::str::from_utf8(bytes).ok()?.to_owned())
        }
        _ => return None,
    })
}

fn type_of(bind: &Cell) -> PgTypeInfo {
    match bind {
        Cell::Boolean(_) => <bool as Type<Postgres>>::type_info(),
        Cell::Integer(_) => <i64 as Type<Postgres>>::type_info(),
        Cell::Float(_) => <f64 as Type<Postgres>>::type_info(),
        Cell::Null | Cell::Text(_) => <String as Type<Postgres>>::type_info(),
        Cell::Bytes(_) => <Vec<u8> as Type<Postgres>>::type_info(),
    }
}

fn arguments(binds: &[Cell]) -> Result<PgArguments, Error> {
    let mut arguments = PgArguments::default();
    for bind in binds {
        let added = match bind {
            Cell::Null => arguments.add(None::<String>),
            Cell::Boolean(value) => arguments.add(*value),
            Cell::Integer(value) => arguments.add(*value),
            Cell::Float(value) => arguments.add(*value),
            Cell::Text(value) => arguments.add(value.clone()),
            Cell::Bytes(value) => arguments.add(value.clone()),
        };
        added.map_err(|cause| error("invalid_input", format!("a value cannot be bound: {cause}")))?;
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_as_the_server_writes_them() {
        assert_eq!(of_text("INT8", "-9223372036854775808"), Cell::Integer(i64::MIN));
        assert_eq!(of_text("BOOL", "f"), Cell::Boolean(false));
        assert_eq!(of_text("FLOAT8", "-Infinity"), Cell::Float(f64::NEG_INFINITY));
        assert_eq!(of_text("BYTEA", "\\x00ff"), Cell::Bytes(vec![0, 255]));
        assert_eq!(of_text("NUMERIC", "12.500"), Cell::Text("12.500".to_owned()));
        assert_eq!(of_text("_TEXT", "{a,b}"), Cell::Text("{a,b}".to_owned()));
    }
}
