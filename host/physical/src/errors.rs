//! What a driver says, in the words of the contract.

use lakeport_bindings::host::error;
use lakeport_bindings::host::types::{Error, Upstream};

const SYSTEM: &str = "SQLite";
const POSTGRES: &str = "PostgreSQL";
const MYSQL: &str = "MySQL";
/// SQLite's primary result codes that mean something of their own here.
const SQLITE_BUSY: u32 = 5;
const SQLITE_LOCKED: u32 = 6;
const SQLITE_READONLY: u32 = 8;
const SQLITE_INTERRUPT: u32 = 9;
const SQLITE_CANTOPEN: u32 = 14;
const SQLITE_NOTADB: u32 = 26;
/// Its extended ones for a file that must be written before it can be read: a program died within a transaction.
const SQLITE_READONLY_RECOVERY: u32 = 264;
const SQLITE_READONLY_ROLLBACK: u32 = 776;
const SQLITE_READONLY_CANTINIT: u32 = 1_288;
/// Of an extended result code, what is the primary one.
const PRIMARY: u32 = 0xff;

const LOCKED: &str = "a task, or another program, holds the database locked";

/// PostgreSQL's words for a lock that did not come, and MySQL's: a lock, one of a table, a deadlock.
const POSTGRES_LOCKED: [&str; 2] = ["55P03", "40P01"];
const MYSQL_LOCKED: [&str; 3] = ["1205", "1213", "3572"];
/// The statement was stopped.
const POSTGRES_CANCELLED: &str = "57014";
const MYSQL_CANCELLED: [&str; 3] = ["1317", "1969", "3024"];
/// There is no database of that name: PostgreSQL's word and MySQL's.
const NO_DATABASE: [&str; 2] = ["3D000", "1049"];
/// Who asks is not known, or may not come in.
const MYSQL_DENIED: [&str; 4] = ["1044", "1045", "1698", "1130"];
/// There is no place for one more session.
const MYSQL_FULL: [&str; 2] = ["1040", "1203"];
/// The session is over: the server stops, or somebody ended it.
const MYSQL_ENDED: [&str; 4] = ["1053", "1077", "1927", "4031"];

/// Whether somebody else had the database, or the table, to himself for longer than is waited.
pub fn is_locked(cause: &Error) -> bool {
    let Some(said) = &cause.upstream else { return false };
    let code = said.code.as_deref().unwrap_or_default();
    match said.system.as_str() {
        POSTGRES => POSTGRES_LOCKED.contains(&code),
        MYSQL => MYSQL_LOCKED.contains(&code),
        _ => self::code(cause).is_some_and(|code| is_lock(code & PRIMARY)),
    }
}

/// Whether the session is broken: nobody can say what became of the statement that was under way.
pub(crate) fn is_lost(cause: &Error) -> bool {
    let code = cause.upstream.as_ref().and_then(|said| said.code.as_deref());
    cause.code == "unreachable" && !code.is_some_and(|code| NO_DATABASE.contains(&code))
}

/// Whether a statement may still run in the database, or have done so to its end.
pub(crate) fn is_unknown(cause: &Error) -> bool {
    cause.may_have_applied || is_lost(cause)
}

/// Whether nothing was begun because others are at work there.
pub(crate) fn is_busy(cause: &Error) -> bool {
    is_locked(cause) || cause.code == "unavailable"
}

/// Whether a transaction that nobody will end must be rolled back before the file can be read.
pub(crate) fn is_unfinished(cause: &Error) -> bool {
    let unfinished = [SQLITE_READONLY_RECOVERY, SQLITE_READONLY_ROLLBACK, SQLITE_READONLY_CANTINIT];
    code(cause).is_some_and(|code| unfinished.contains(&code))
}

fn code(cause: &Error) -> Option<u32> {
    let said = cause.upstream.as_ref().filter(|said| said.system == SYSTEM)?;
    said.code.as_deref()?.parse().ok()
}

fn is_lock(primary: u32) -> bool {
    matches!(primary, SQLITE_BUSY | SQLITE_LOCKED)
}

/// What SQLite, or its driver, said about a statement.
pub(crate) fn of_sqlite(cause: &sqlx::Error) -> Error {
    let sqlx::Error::Database(said) = cause else {
        return error("upstream_failed", format!("the database did not answer: {cause}"));
    };
    let code = said.code().map(|code| code.into_owned());
    let primary = code.as_ref().and_then(|code| code.parse::<u32>().ok()).map_or(0, |code| code & PRIMARY);
    let (word, message) = match primary {
        SQLITE_BUSY | SQLITE_LOCKED => ("timeout", LOCKED.to_owned()),
        SQLITE_INTERRUPT => ("cancelled", "the statement was stopped".to_owned()),
        SQLITE_CANTOPEN => ("unreachable", "the database file cannot be opened".to_owned()),
        SQLITE_NOTADB => ("upstream_failed", "the file is not a SQLite database".to_owned()),
        SQLITE_READONLY => ("forbidden", "the session only reads".to_owned()),
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

/// What PostgreSQL, or its driver, said about a statement.
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

/// What a server of the MySQL protocol, or its driver, said about a statement.
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
        "timeout" => format!("a lock of the table did not come in time: {message}"),
        "cancelled" => "the statement was stopped".to_owned(),
        "unreachable" if NO_DATABASE.contains(&code.as_str()) => {
            format!("the server has no such database: {message}")
        }
        "unreachable" => format!("the database ended the session: {message}"),
        "unauthorized" => format!("the database does not let the user in: {message}"),
        "unavailable" => format!("the database has no place for one more session: {message}"),
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

/// What is wrong before the server says anything: no connection, no encryption, an answer that is none.
fn of_driver(cause: &sqlx::Error) -> Error {
    match cause {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
            Error {
                retryable: true,
                ..error("unreachable", format!("the database cannot be reached: {cause}"))
            }
        }
        _ => error("upstream_failed", format!("the database's answer cannot be read: {cause}")),
    }
}
