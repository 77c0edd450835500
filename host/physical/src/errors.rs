//! What a driver says, in the words of the contract.

use lakeport_bindings::host::types::{Error, Upstream};

/// SQLite's primary result codes that mean something of their own here.
const SQLITE_BUSY: u32 = 5;
const SQLITE_LOCKED: u32 = 6;
const SQLITE_READONLY: u32 = 8;
const SQLITE_INTERRUPT: u32 = 9;
const SQLITE_CANTOPEN: u32 = 14;
const SQLITE_NOTADB: u32 = 26;

/// An error without anything special.
pub(crate) fn error(code: &str, message: impl Into<String>) -> Error {
    Error {
        code: code.to_owned(),
        message: message.into(),
        retryable: false,
        retry_after_ms: None,
        may_have_applied: false,
        upstream: None,
        context: Vec::new(),
    }
}

/// What SQLite, or its driver, said about a statement.
pub(crate) fn of_sqlite(cause: &sqlx::Error) -> Error {
    let sqlx::Error::Database(said) = cause else {
        return error("upstream_failed", format!("the database did not answer: {cause}"));
    };
    let code = said.code().map(|code| code.into_owned());
    // The primary code is the low byte of the extended one.
    let primary = code.as_ref().and_then(|code| code.parse::<u32>().ok()).map_or(0, |code| code & 0xff);
    let (word, message) = match primary {
        SQLITE_BUSY | SQLITE_LOCKED => ("timeout", "another program holds the database locked".to_owned()),
        SQLITE_INTERRUPT => ("cancelled", "the statement was stopped".to_owned()),
        SQLITE_CANTOPEN => ("unreachable", "the database file cannot be opened".to_owned()),
        SQLITE_NOTADB => ("upstream_failed", "the file is not a SQLite database".to_owned()),
        SQLITE_READONLY => ("forbidden", "the session only reads".to_owned()),
        _ => ("upstream_failed", format!("the database refused the statement: {}", said.message())),
    };
    Error {
        retryable: primary == SQLITE_BUSY || primary == SQLITE_LOCKED,
        upstream: Some(Upstream {
            system: "SQLite".to_owned(),
            status: None,
            code,
            message: said.message().to_owned(),
        }),
        ..error(word, message)
    }
}
