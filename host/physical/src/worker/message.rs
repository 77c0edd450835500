//! The messages between the server and a worker process, and their frames: a length of four bytes, little
//! endian, then the message in postcard's encoding.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use lakeport_bindings::host::data::{Cell, RowSet};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::script::{Bounds, Ran, Shown};
use crate::server::{DriverSettings, Login};
use crate::session::{FileAccess, Views};

/// The largest message, bytes. An answer holds at most the bytes that its statement allows, 8 MiB, and a
/// little for each cell; a statement is smaller.
const FRAME_MAX_BYTES: usize = 32 * 1024 * 1024;
/// The longest text of an error that passes, bytes: databases quote values and statements in theirs.
const ERROR_MAX_BYTES: usize = 8 * 1024;

/// Bytes of a database's error code. A longer one is left out.
const CODE_MAX_BYTES: usize = 32;
/// The names and types of an answer's columns, bytes.
const COLUMNS_MAX_BYTES: usize = 1024 * 1024;
/// Columns of a task's statement that its log shows, and the characters of their names.
const SHOWN_COLUMNS_MAX: usize = 500;
const SHOWN_NAME_MAX_BYTES: usize = 200;

/// From the server to its worker. All but `Cancel` have one answer, in order.
#[derive(Serialize, Deserialize)]
pub(crate) enum Request {
    /// Opens a database; a worker has one at a time.
    Open(Target),
    /// Closes it; the worker can open another one.
    Close,
    /// The session ends. A SQLite file stays open for a moment: the next session on it may come soon.
    Rest,
    /// The statement that runs shall end.
    Cancel,
    /// Creates these views and installs SQLite's authorizer, which allows nothing else.
    Restrict { views: Views, timeout: Duration },
    /// Applies and checks the host's own settings of a server's session.
    SetUp { reads_only: bool },
    /// Checks that a server still answers.
    Check,
    /// Runs a statement; the answer is the number of changed rows.
    Execute { sql: String, timeout: Duration },
    /// Reads rows.
    Read { sql: String, binds: Vec<Cell>, bounds: Bounds },
    /// Runs a statement of a task to its last row.
    Script { sql: String, changes_rows: bool, shown: Shown, timeout: Duration },
}

/// A database to open.
#[derive(Serialize, Deserialize)]
pub(crate) enum Target {
    Sqlite { path: PathBuf, access: FileAccess },
    Server { login: Login, address: SocketAddr, driver: DriverSettings },
}

/// From a worker to its server.
#[derive(Serialize, Deserialize)]
pub(crate) enum Reply {
    Done,
    Changed(u64),
    Rows {
        rows: RowSet,
        /// More rows are on their way that were not read.
        has_more: bool,
    },
    Ran(Ran),
    Failed(Error),
}

/// Writes a message.
pub(super) async fn send<M: Serialize>(
    stream: &mut (impl AsyncWrite + Unpin),
    message: &M,
) -> Result<(), Error> {
    let mut frame = postcard::to_extend(message, vec![0; 4]).map_err(broken)?;
    let length = frame.len() - 4;
    if length > FRAME_MAX_BYTES {
        let message = format!("the statement or its answer exceeds {FRAME_MAX_BYTES} bytes");
        return Err(error("limit_exceeded", message));
    }
    let length = u32::try_from(length).expect("it is below the limit");
    frame[..4].copy_from_slice(&length.to_le_bytes());
    stream.write_all(&frame).await.map_err(broken)
}

/// Reads a message. Neither side trusts the other with a length.
pub(super) async fn receive<M: DeserializeOwned>(stream: &mut (impl AsyncRead + Unpin)) -> Result<M, Error> {
    let length = stream.read_u32_le().await.map_err(broken)? as usize;
    if length > FRAME_MAX_BYTES {
        return Err(broken(format!("a message of {length} bytes")));
    }
    let mut message = Vec::new();
    let read = stream.take(length as u64).read_to_end(&mut message).await.map_err(broken)?;
    if read < length {
        return Err(broken("the message ended early"));
    }
    postcard::from_bytes(&message).map_err(broken)
}

/// The other side is gone, or talks nonsense.
fn broken(cause: impl std::fmt::Display) -> Error {
    error("internal", format!("the connection to the worker process broke: {cause}"))
}

/// An error with texts of bounded length and without control characters.
pub(super) fn bounded(mut error: Error) -> Error {
    clean(&mut error.message);
    if let Some(said) = &mut error.upstream {
        clean(&mut said.message);
        if said.code.as_ref().is_some_and(|code| code.len() > CODE_MAX_BYTES) {
            said.code = None;
        }
    }
    error
}

/// Rows whose columns have names of bounded length: the bounds of a statement are for its values.
pub(super) fn named(rows: RowSet) -> Result<RowSet, Error> {
    let bytes: usize = rows.columns.iter().map(|column| column.name.len() + column.type_text.len()).sum();
    if bytes > COLUMNS_MAX_BYTES {
        let message = format!("the names of the columns exceed {COLUMNS_MAX_BYTES} bytes");
        return Err(error("limit_exceeded", message));
    }
    Ok(rows)
}

/// The same for what a log shows: long names are cut.
pub(super) fn shown(mut ran: Ran) -> Ran {
    ran.columns.truncate(SHOWN_COLUMNS_MAX);
    ran.columns.iter_mut().for_each(|name| shorten(name, SHOWN_NAME_MAX_BYTES));
    for row in &mut ran.first {
        row.truncate(SHOWN_COLUMNS_MAX);
    }
    ran
}

fn shorten(text: &mut String, max_bytes: usize) {
    if text.len() > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes));
        text.push('…');
    }
}

fn clean(text: &mut String) {
    shorten(text, ERROR_MAX_BYTES);
    if text.contains(|one: char| one.is_control() && one != '\n' && one != '\t') {
        let shown = |one: char| if one.is_control() && one != '\n' && one != '\t' { '\u{fffd}' } else { one };
        *text = text.chars().map(shown).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_message_arrives_as_sent() {
        let (mut one, mut other) = tokio::io::duplex(16);
        let binds =
            vec![Cell::Null, Cell::Float(f64::NAN), Cell::Bytes(vec![0, 255]), Cell::Text("ä".into())];
        let bounds = Bounds { max_rows: 1, max_bytes: 2, timeout: Duration::MAX };
        let request = Request::Read { sql: "SELECT 1".to_owned(), binds, bounds };
        let (sent, received) = tokio::join!(send(&mut one, &request), receive::<Request>(&mut other));
        sent.unwrap();
        let Request::Read { sql, binds, bounds } = received.unwrap() else { panic!("another request") };
        assert_eq!((sql.as_str(), binds.len(), bounds.timeout), ("SELECT 1", 4, Duration::MAX));
        assert!(matches!(binds[1], Cell::Float(number) if number.is_nan()));
    }

    #[tokio::test]
    async fn a_length_beyond_the_limit_is_not_believed() {
        let mut bytes: &[u8] = &[255, 255, 255, 255, 1, 2];
        assert!(receive::<Reply>(&mut bytes).await.is_err());
        let mut bytes: &[u8] = &[9, 0, 0, 0, 1, 2];
        assert!(receive::<Reply>(&mut bytes).await.is_err());
    }

    #[test]
    fn a_long_error_is_cut_and_cleaned() {
        let long = format!("{}\u{1b}[31m{}", "ä".repeat(10), "ö".repeat(ERROR_MAX_BYTES));
        let message = bounded(error("upstream_failed", long)).message;
        assert!(message.len() < ERROR_MAX_BYTES + 8 && message.contains('…') && !message.contains('\u{1b}'));
    }
}
