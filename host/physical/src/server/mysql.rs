//! Servers of the MySQL protocol: MySQL, MariaDB, Apache Doris, StarRocks.
//!
//! A statement is prepared first if the server can do so, because prepare accepts exactly one statement.
//! Without values it is then sent as text, so that all types come in the server's own notation.

use std::net::SocketAddr;

use lakeport_bindings::host::data::{Cell, Column};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::ReadStatement;
use sqlx::error::BoxDynError;
use sqlx::mysql::{
    MySql, MySqlArguments, MySqlConnectOptions, MySqlConnection, MySqlRow, MySqlSslMode, MySqlTypeInfo,
};
use sqlx::types::chrono::{NaiveDate, NaiveDateTime};
use sqlx::{
    Arguments, AssertSqlSafe, Column as _, ConnectOptions, Decode, Executor, Row, SqlSafeStr, Statement as _,
    Type, TypeInfo, ValueRef, raw_sql,
};

use super::driver::{Collector, Driver};
use super::login::{DriverSettings, Login, Tls};
use crate::errors::of_mysql;

/// Reading texts relies on it: a mode with this word would change how texts are read.
const MODE: &str = "SELECT @@sql_mode";
const OTHERWISE: [&str; 2] = ["NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"];
/// The type name of texts.
const TEXT: &str = "TEXT";
const VARCHAR: &str = "VARCHAR";
/// The code for statements that cannot be prepared.
const CANNOT_PREPARE: &str = "1295";

pub(super) async fn connect(
    login: &Login,
    address: SocketAddr,
    driver: DriverSettings,
) -> Result<MySqlConnection, Error> {
    // A certificate is for the name; only then is the name resolved once more.
    let host = if login.tls == Tls::VerifyFull { login.host.clone() } else { address.ip().to_string() };
    let mut options = MySqlConnectOptions::new()
        .host(&host)
        .port(address.port())
        .username(&login.username)
        .pipes_as_concat(driver.set_sql_mode)
        .no_engine_substitution(driver.set_sql_mode)
        .timezone(driver.set_time_zone.then(|| "+00:00".to_owned()))
        .set_names(driver.set_names)
        .ssl_mode(match login.tls {
            Tls::Disable => MySqlSslMode::Disabled,
            Tls::Prefer => MySqlSslMode::Preferred,
            Tls::Require => MySqlSslMode::Required,
            Tls::VerifyCa => MySqlSslMode::VerifyCa,
            Tls::VerifyFull => MySqlSslMode::VerifyIdentity,
        });
    if let Some(password) = &login.password {
        options = options.password(password);
    }
    if let Some(database) = &login.database {
        options = options.database(database);
    }
    if let Some(file) = &login.ca_file {
        options = options.ssl_ca(file);
    }
    options.disable_statement_logging().connect().await.map_err(|cause| of_mysql(&cause))
}

pub(super) async fn check_set_up(connection: &mut MySqlConnection) -> Result<(), Error> {
    let row = connection.fetch_one(raw_sql(MODE)).await.map_err(|cause| of_mysql(&cause))?;
    let mode = match MySql::cell(&row, 0, true)? {
        Cell::Text(mode) => mode,
        Cell::Bytes(mode) => String::from_utf8_lossy(&mode).into_owned(),
        _ => String::new(),
    };
    let otherwise =
        mode.split(',').find(|word| OTHERWISE.iter().any(|other| word.eq_ignore_ascii_case(other)));
    match otherwise {
        None => Ok(()),
        Some(word) => {
            Err(error("unsupported", format!("the server reads texts differently ({word} in sql_mode)")))
        }
    }
}

pub(super) async fn read(
    connection: &mut MySqlConnection,
    is_text_only: bool,
    statement: &ReadStatement,
    collector: &mut Collector,
) -> Result<(), Error> {
    let sql = AssertSqlSafe(statement.sql.clone()).into_sql_str();
    if !statement.binds.is_empty() {
        // Keeps it prepared: closing it is a message without an answer, and the next statement would wait for
        // it.
        let bound = sqlx::query_with(sql, arguments(&statement.binds)?);
        return collector.take_all::<MySql>(bound.fetch(connection), false).await;
    }
    if !is_text_only {
        match connection.prepare(sql.clone()).await {
            Ok(prepared) => collector.rows.columns = columns(prepared.columns()),
            Err(cause) => {
                let said = of_mysql(&cause);
                let code = said.upstream.as_ref().and_then(|said| said.code.as_deref());
                if code != Some(CANNOT_PREPARE) {
                    return Err(said);
                }
            }
        }
    }
    collector.take_all::<MySql>(connection.fetch(raw_sql(sql)), true).await
}

fn columns(columns: &[sqlx::mysql::MySqlColumn]) -> Vec<Column> {
    let type_text = |kind: &MySqlTypeInfo| match kind.name() {
        // MySQL calls a text with a binary collation binary, too.
        "BINARY" | "VARBINARY" if <str as Type<MySql>>::compatible(kind) => VARCHAR.to_owned(),
        name if name.ends_with("BLOB") && <str as Type<MySql>>::compatible(kind) => TEXT.to_owned(),
        name => name.to_owned(),
    };
    let columns = columns
        .iter()
        .map(|column| Column { name: column.name().to_owned(), type_text: type_text(column.type_info()) });
    columns.collect()
}

impl Driver for MySql {
    fn columns(row: &MySqlRow) -> Vec<Column> {
        columns(row.columns())
    }

    fn cell(row: &MySqlRow, index: usize, is_text: bool) -> Result<Cell, Error> {
        let value = row.try_get_raw(index).map_err(|cause| of_mysql(&cause))?;
        if value.is_null() {
            return Ok(Cell::Null);
        }
        // MySQL calls a text with a binary collation binary, too.
        let is_text_type = <str as Type<MySql>>::compatible(&value.type_info());
        let kind = if is_text_type { TEXT.to_owned() } else { value.type_info().name().to_owned() };
        let strange = |cause: BoxDynError| {
            error("upstream_failed", format!("a value of the type {kind} cannot be read: {cause}"))
        };
        if is_text {
            let bytes = <&[u8] as Decode<MySql>>::decode(value).map_err(strange)?;
            return Ok(of_text(&kind, bytes));
        }
        let cell = match kind.as_str() {
            "BOOLEAN" | "TINYINT" | "SMALLINT" | "INT" | "MEDIUMINT" | "BIGINT" => {
                <i64 as Decode<MySql>>::decode(value).map(Cell::Integer)
            }
            kind if kind.ends_with(" UNSIGNED") || kind == "YEAR" || kind == "BIT" => {
                <u64 as Decode<MySql>>::decode(value).map(of_unsigned)
            }
            "FLOAT" => <f32 as Decode<MySql>>::decode(value).map(|number| Cell::Float(number.into())),
            "DOUBLE" => <f64 as Decode<MySql>>::decode(value).map(Cell::Float),
            "DATE" => <NaiveDate as Decode<MySql>>::decode(value).map(|date| Cell::Text(date.to_string())),
            "DATETIME" | "TIMESTAMP" => {
                <NaiveDateTime as Decode<MySql>>::decode(value).map(|time| Cell::Text(time.to_string()))
            }
            "TIME" => <sqlx::mysql::types::MySqlTime as Decode<MySql>>::decode(value)
                .map(|time| Cell::Text(time.to_string())),
            kind => {
                let bytes = <&[u8] as Decode<MySql>>::decode(value);
                bytes.map(|bytes| text_or_bytes(kind, bytes))
            }
        };
        cell.map_err(strange)
    }

    fn said(cause: &sqlx::Error) -> Error {
        of_mysql(cause)
    }
}

/// A value in the server's notation.
fn of_text(kind: &str, bytes: &[u8]) -> Cell {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let or_text = |cell: Option<Cell>| cell.unwrap_or_else(|| Cell::Text(text.to_owned()));
    match kind {
        "BIT" if bytes.len() <= 8 => {
            of_unsigned(bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
        }
        "BOOLEAN" | "TINYINT" | "SMALLINT" | "INT" | "MEDIUMINT" | "BIGINT" | "YEAR" => {
            or_text(text.parse().ok().map(Cell::Integer))
        }
        kind if kind.ends_with(" UNSIGNED") => or_text(text.parse().ok().map(of_unsigned)),
        "FLOAT" | "DOUBLE" => or_text(text.parse().ok().map(Cell::Float)),
        kind => text_or_bytes(kind, bytes),
    }
}

fn of_unsigned(number: u64) -> Cell {
    i64::try_from(number).map_or_else(|_| Cell::Text(number.to_string()), Cell::Integer)
}

fn text_or_bytes(kind: &str, bytes: &[u8]) -> Cell {
    let is_binary = kind.contains("BINARY") || kind.contains("BLOB") || kind == "GEOMETRY" || kind == "BIT";
    match std::str::from_utf8(bytes) {
        Ok(text) if !is_binary => Cell::Text(text.to_owned()),
        _ => Cell::Bytes(bytes.to_vec()),
    }
}

fn arguments(binds: &[Cell]) -> Result<MySqlArguments, Error> {
    let mut arguments = MySqlArguments::default();
    for bind in binds {
        let added = match bind {
            Cell::Null => arguments.add(None::<i64>),
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
        assert_eq!(of_text("BIGINT", b"-5"), Cell::Integer(-5));
        assert_eq!(
            of_text("BIGINT UNSIGNED", b"18446744073709551615"),
            Cell::Text("18446744073709551615".into())
        );
        assert_eq!(of_text("BIT", &[1, 0]), Cell::Integer(256));
        assert_eq!(of_text("DECIMAL", b"12.50"), Cell::Text("12.50".to_owned()));
        assert_eq!(of_text("VARCHAR", "订单".as_bytes()), Cell::Text("订单".to_owned()));
        assert_eq!(of_text("BLOB", b"a"), Cell::Bytes(b"a".to_vec()));
        assert_eq!(of_text("VARCHAR", &[0xff]), Cell::Bytes(vec![0xff]));
    }
}
