//! Maps the errors of drivers to those of the contract.

use lakeport_bindings::host::error;
use lakeport_bindings::host::types::{Error, Upstream};

/// A statement that its worker process could not carry: memory, a value that is too long, or it could not be
/// stopped.
pub const STATEMENT_TOO_HEAVY: &str = "statement_too_heavy";
/// A database whose answers break its own protocol.
pub const PROTOCOL_ERROR: &str = "protocol_error";

const SYSTEM: &str = "SQLite";
const POSTGRES: &str = "PostgreSQL";
const MYSQL: &str = "MySQL";
/// SQLite's primary result codes that are mapped one by one.
const SQLITE_ERROR: u32 = 1;
const SQLITE_BUSY: u32 = 5;
const SQLITE_LOCKED: u32 = 6;
const SQLITE_NOMEM: u32 = 7;
const SQLITE_READONLY: u32 = 8;
const SQLITE_INTERRUPT: u32 = 9;
const SQLITE_CANTOPEN: u32 = 14;
const SQLITE_TOOBIG: u32 = 18;
const SQLITE_MISMATCH: u32 = 20;
const SQLITE_RANGE: u32 = 25;
const SQLITE_NOTADB: u32 = 26;
/// Extended result codes for a file that must be written before it can be read: a program died within a
/// transaction.
const SQLITE_READONLY_RECOVERY: u32 = 264;
const SQLITE_READONLY_ROLLBACK: u32 = 776;
const SQLITE_READONLY_CANTINIT: u32 = 1_288;
const UNFINISHED: [u32; 3] = [SQLITE_READONLY_RECOVERY, SQLITE_READONLY_ROLLBACK, SQLITE_READONLY_CANTINIT];
/// The part of an extended result code that is the primary code.
const PRIMARY: u32 = 0xff;

const LOCKED: &str = "a task, or another program, holds the database locked";

/// Codes for a lock that was not granted: PostgreSQL's, then MySQL's for a lock, a table lock and a deadlock.
const POSTGRES_LOCKED: [&str; 2] = ["55P03", "40P01"];
const MYSQL_LOCKED: [&str; 3] = ["1205", "1213", "3572"];
/// The statement was cancelled.
const POSTGRES_CANCELLED: &str = "57014";
const MYSQL_CANCELLED: [&str; 3] = ["1317", "1969", "3024"];
/// Codes for an unknown database: PostgreSQL's and MySQL's.
const NO_DATABASE: [&str; 2] = ["3D000", "1049"];
/// The user is unknown or may not connect.
const MYSQL_DENIED: [&str; 4] = ["1044", "1045", "1698", "1130"];
/// The server has no free connection.
const MYSQL_FULL: [&str; 2] = ["1040", "1203"];
/// The session ended: the server stops, or an administrator killed it.
const MYSQL_ENDED: [&str; 4] = ["1053", "1077", "1927", "4031"];

/// Classes of PostgreSQL's codes about the statement: what is not supported, a subquery with several rows, values that
/// do not fit, syntax and names.
const POSTGRES_STATEMENT: [&str; 4] = ["0A", "21", "22", "42"];
/// The data source's user may not read the table, which no other text changes.
const POSTGRES_NO_PRIVILEGE: &str = "42501";
/// MySQL's codes about the statement. Names: ambiguous, unknown (field, table, table of a field, function), not unique,
/// missing.
const MYSQL_NAMES: [&str; 10] =
    ["1052", "1054", "1066", "1109", "1146", "1247", "1248", "1305", "1584", "4078"];
/// Syntax and grouping: a field that is not grouped, aggregates in a wrong place or without GROUP BY, no text, numbers of
/// columns or rows, wrong use, wrong arguments, an ORDER BY without the field.
const MYSQL_SYNTAX: [&str; 15] = [
    "1055", "1056", "1064", "1065", "1111", "1140", "1149", "1210", "1221", "1222", "1235", "1241", "1242",
    "1582", "3065",
];
/// Values: of the wrong form, for the wrong type, out of range, a division by zero.
const MYSQL_VALUES: [&str; 6] = ["1292", "1365", "1366", "1411", "1525", "1690"];

/// Whether the database does not accept the statement as it is written: its syntax, a name, a value.
pub fn is_of_statement(cause: &Error) -> bool {
    let Some(said) = &cause.upstream else { return false };
    let code = said.code.as_deref().unwrap_or_default();
    match said.system.as_str() {
        POSTGRES => {
            POSTGRES_STATEMENT.iter().any(|class| code.starts_with(class)) && code != POSTGRES_NO_PRIVILEGE
        }
        MYSQL => [&MYSQL_NAMES[..], &MYSQL_SYNTAX, &MYSQL_VALUES].iter().any(|codes| codes.contains(&code)),
        _ => self::code(cause)
            .is_some_and(|code| matches!(code & PRIMARY, SQLITE_ERROR | SQLITE_MISMATCH | SQLITE_RANGE)),
    }
}

/// Whether another program held a lock on the database, or the table, longer than the wait.
pub fn is_locked(cause: &Error) -> bool {
    let Some(said) = &cause.upstream else { return false };
    let code = said.code.as_deref().unwrap_or_default();
    match said.system.as_str() {
        POSTGRES => POSTGRES_LOCKED.contains(&code),
        MYSQL => MYSQL_LOCKED.contains(&code),
        _ => self::code(cause).is_some_and(|code| is_lock(code & PRIMARY)),
    }
}

/// Whether the session is broken, so that the outcome of the running statement is unknown.
pub(crate) fn is_lost(cause: &Error) -> bool {
    let code = cause.upstream.as_ref().and_then(|said| said.code.as_deref());
    cause.code == "unreachable" && !code.is_some_and(|code| NO_DATABASE.contains(&code))
}

/// Whether a statement may still run in the database, or may have finished there.
pub(crate) fn is_unknown(cause: &Error) -> bool {
    cause.may_have_applied || is_lost(cause)
}

/// Whether nothing was started because others hold locks.
pub(crate) fn is_busy(cause: &Error) -> bool {
    is_locked(cause) || cause.code == "unavailable"
}

/// Whether an abandoned transaction must be rolled back before the file can be read.
pub(crate) fn is_unfinished(cause: &Error) -> bool {
    code(cause).is_some_and(|code| UNFINISHED.contains(&code))
}

fn code(cause: &Error) -> Option<u32> {
    let said = cause.upstream.as_ref().filter(|said| said.system == SYSTEM)?;
    said.code.as_deref()?.parse().ok()
}

fn is_lock(primary: u32) -> bool {
    matches!(primary, SQLITE_BUSY | SQLITE_LOCKED)
}

/// Maps an error of SQLite or its driver about a statement.
pub(crate) fn of_sqlite(cause: &sqlx::Error) -> Error {
    let sqlx::Error::Database(said) = cause else {
        return error("upstream_failed", format!("the database did not answer: {cause}"));
    };
    let code = said.code().map(|code| code.into_owned());
    let extended = code.as_ref().and_then(|code| code.parse::<u32>().ok()).unwrap_or(0);
    let primary = extended & PRIMARY;
    let (word, message) = match primary {
        SQLITE_BUSY | SQLITE_LOCKED => ("timeout", LOCKED.to_owned()),
        SQLITE_INTERRUPT => ("cancelled", "the statement was stopped".to_owned()),
        SQLITE_CANTOPEN => ("unreachable", "the database file cannot be opened".to_owned()),
        SQLITE_NOTADB => ("upstream_failed", "the file is not a SQLite database".to_owned()),
        SQLITE_READONLY if UNFINISHED.contains(&extended) => (
            "unavailable",
            "another program ended in the middle of a change; the file is recovered when it is opened again: try again"
                .to_owned(),
        ),
        SQLITE_READONLY => ("forbidden", "the session is read-only".to_owned()),
        SQLITE_NOMEM | SQLITE_TOOBIG => (
            STATEMENT_TOO_HEAVY,
            format!("a value or the statement needs more memory than it may use ({})", said.message()),
        ),
        _ => ("upstream_failed", format!("the database refused the statement: {}", said.message())),
    };
    Error {
        retryable: is_lock(primary),
        upstream: Some(Upstream {
            system: SYSTEM.to_owned(),
            status: None,
            code,
            message: said.message().to_owned(),
        }),
        ..error(word, message)
    }
}

/// Maps an error of PostgreSQL or its driver about a statement.
pub(crate) fn of_postgres(cause: &sqlx::Error) -> Error {
    let Some(said) = database_error(cause) else { return of_driver(cause) };
    let code = said.code().map(|code| code.into_owned()).unwrap_or_default();
    let word = match code.as_str() {
        code if POSTGRES_LOCKED.contains(&code) => "timeout",
        POSTGRES_CANCELLED => "cancelled",
        // The server shuts down, or its administrator ended the session.
        "57P01" | "57P02" | "57P03" | "57P05" => "unreachable",
        "25P03" => "unreachable",
        "53300" => "unavailable",
        code if code.starts_with("08") => "unreachable",
        code if code.starts_with("28") => "unauthorized",
        code if NO_DATABASE.contains(&code) => "unreachable",
        _ => "upstream_failed",
    };
    of_server(POSTGRES, word, code, said.message())
}

/// Maps an error of a MySQL server or its driver about a statement.
pub(crate) fn of_mysql(cause: &sqlx::Error) -> Error {
    let Some(said) = database_error(cause) else { return of_driver(cause) };
    let number =
        said.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>().map(|said| said.number().to_string());
    let code = number.unwrap_or_default();
    let is = |codes: &[&str]| codes.contains(&code.as_str());
    let word = match () {
        () if is(&MYSQL_LOCKED) => "timeout",
        () if is(&MYSQL_CANCELLED) => "cancelled",
        () if is(&MYSQL_DENIED) => "unauthorized",
        () if is(&MYSQL_FULL) => "unavailable",
        () if is(&MYSQL_ENDED) || is(&NO_DATABASE) => "unreachable",
        () => "upstream_failed",
    };
    of_server(MYSQL, word, code, said.message())
}

fn database_error(cause: &sqlx::Error) -> Option<&dyn sqlx::error::DatabaseError> {
    cause.as_database_error()
}

fn of_server(system: &str, word: &str, code: String, message: &str) -> Error {
    let text = match word {
        "timeout" => format!("the lock of the table was not granted in time: {message}"),
        "cancelled" => "the statement was stopped".to_owned(),
        "unreachable" if NO_DATABASE.contains(&code.as_str()) => {
            format!("unknown database: {message}")
        }
        "unreachable" => format!("the database ended the session: {message}"),
        "unauthorized" => format!("the database denied access: {message}"),
        "unavailable" => format!("the database accepts no more sessions: {message}"),
        _ => format!("the database refused the statement: {message}"),
    };
    Error {
        retryable: matches!(word, "timeout" | "unavailable"),
        upstream: Some(Upstream {
            system: system.to_owned(),
            status: None,
            code: Some(code).filter(|code| !code.is_empty()),
            message: message.to_owned(),
        }),
        ..error(word, text)
    }
}

/// Maps errors that do not come from the server: no connection, no encryption, an unreadable answer.
fn of_driver(cause: &sqlx::Error) -> Error {
    match cause {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::WorkerCrashed => {
            Error { retryable: true, ..error("unreachable", format!("cannot reach the database: {cause}")) }
        }
        sqlx::Error::Protocol(why) => {
            let why = without_places(why);
            error(PROTOCOL_ERROR, format!("the database's answer breaks its protocol: {why}"))
        }
        _ => error("upstream_failed", format!("cannot read the database's answer: {cause}")),
    }
}

/// A message of the driver without the places in its source, which it appends in parentheses.
fn without_places(mut message: &str) -> &str {
    while let Some((before, place)) = message.rsplit_once(" (sqlx_")
        && place.ends_with(')')
        && !place.contains(' ')
    {
        message = before;
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_in_a_statement_is_told_from_what_fails_around_it() {
        let said = |system: &str, code: &str| Error {
            upstream: Some(Upstream {
                system: system.to_owned(),
                status: None,
                code: Some(code.to_owned()),
                message: "no".to_owned(),
            }),
            ..error("upstream_failed", "no")
        };
        for (system, code) in [
            (SYSTEM, "1"),
            (SYSTEM, "257"),
            (POSTGRES, "42703"),
            (POSTGRES, "22012"),
            (MYSQL, "1054"),
            (MYSQL, "1064"),
        ] {
            assert!(is_of_statement(&said(system, code)), "{system} {code}");
        }
        for (system, code) in [
            (SYSTEM, "10"),
            (SYSTEM, "5"),
            (POSTGRES, "42501"),
            (POSTGRES, "57014"),
            (MYSQL, "1142"),
            (MYSQL, "2013"),
        ] {
            assert!(!is_of_statement(&said(system, code)), "{system} {code}");
        }
        assert!(!is_of_statement(&error("timeout", "too late")));
    }

    #[test]
    fn a_drivers_message_does_not_name_its_source() {
        let message = "expected NUL (sqlx_core::io::buf:25) (sqlx_postgres::message:139)";
        assert_eq!(without_places(message), "expected NUL");
        assert_eq!(without_places("a (sqlx_x:1) b)"), "a (sqlx_x:1) b)");
    }
}
