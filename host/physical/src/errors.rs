//! What a driver says, in the words of the contract.

use lakeport_bindings::host::error;
use lakeport_bindings::host::types::{Error, Upstream};

const SYSTEM: &str = "SQLite";
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

/// Whether somebody else had the database to himself for longer than is waited.
pub fn is_locked(cause: &Error) -> bool {
    code(cause).is_some_and(|code| is_lock(code & PRIMARY))
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
