//! The worker's part: one database at a time, one request after the other.

use std::os::fd::AsFd as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use lakeport_base::process_limits;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::ReadStatement;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::message::{self, Reply, Request, Target, bounded, named, receive, send};
use crate::errors::PROTOCOL_ERROR;
use crate::server::Connection;
use crate::session::SqliteFile;

/// How long a file stays open after its session.
const FILE_RESTS: Duration = Duration::from_secs(1);

/// The open database.
enum Open {
    Sqlite(SqliteFile),
    Server(Connection),
}

/// The whole life of a worker process: serves the server at the other end of standard input until it closes.
/// Returns the exit code.
pub fn run_worker(memory_mib: u64) -> u8 {
    let serving = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let socket = std::os::unix::net::UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
        socket.set_nonblocking(true)?;
        process_limits::enter(memory_mib)?;
        runtime.block_on(async {
            serve(UnixStream::from_std(socket)?, process_limits::allow_cpu).await;
            Ok::<(), std::io::Error>(())
        })?;
        // A statement may still run on a thread of its own; it ends with the process.
        runtime.shutdown_background();
        Ok::<(), std::io::Error>(())
    };
    match serving() {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("the worker process cannot work: {error}");
            1
        }
    }
}

/// Serves one server until it closes the stream. `begins` is called with the time of each statement.
pub(super) async fn serve(stream: UnixStream, begins: fn(Duration)) {
    let (mut reading, mut writing) = stream.into_split();
    let cancelled = Arc::new(AtomicBool::new(false));
    let (forward, mut requests) = mpsc::channel(1);
    let listening = async {
        while let Ok(request) = receive::<Request>(&mut reading).await {
            let cancels = matches!(request, Request::Cancel);
            cancelled.store(cancels, Ordering::Relaxed);
            if !cancels && forward.send(request).await.is_err() {
                return;
            }
        }
    };
    let working = async {
        let mut open = None;
        while let Some(request) = next(&mut requests, &mut open).await {
            begins(request.timeout());
            let answering = AssertUnwindSafe(answer(&mut open, request, &cancelled)).catch_unwind();
            let reply = answering.await.unwrap_or_else(|panicked| {
                open = None;
                Err(misread(&*panicked))
            });
            let reply = reply.unwrap_or_else(|failed| Reply::Failed(bounded(failed)));
            let sent = match send(&mut writing, &reply).await {
                Err(cause) if cause.code == "limit_exceeded" => {
                    send(&mut writing, &Reply::Failed(cause)).await
                }
                sent => sent,
            };
            if sent.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = listening => {}
        () = working => {}
    }
}

/// The next request. A file that rests is closed if there is none for a while.
async fn next(requests: &mut mpsc::Receiver<Request>, open: &mut Option<Open>) -> Option<Request> {
    if matches!(open, Some(Open::Sqlite(file)) if file.rests()) {
        match timeout(FILE_RESTS, requests.recv()).await {
            Ok(request) => return request,
            Err(_) => close(open).await,
        }
    }
    requests.recv().await
}

async fn close(open: &mut Option<Open>) {
    match open.take() {
        Some(Open::Sqlite(file)) => file.close().await,
        Some(Open::Server(connection)) => connection.close().await,
        None => {}
    }
}

impl Request {
    /// The time that its statement may take.
    fn timeout(&self) -> Duration {
        match self {
            Request::Restrict { timeout, .. }
            | Request::Execute { timeout, .. }
            | Request::Script { timeout, .. } => *timeout,
            Request::Read { bounds, .. } => bounds.timeout,
            Request::Open(_)
            | Request::Close
            | Request::Rest
            | Request::SetUp { .. }
            | Request::Check
            | Request::Cancel => super::OWN_TIMEOUT,
        }
    }
}

async fn answer(
    open: &mut Option<Open>,
    request: Request,
    cancelled: &Arc<AtomicBool>,
) -> Result<Reply, Error> {
    match (request, &mut *open) {
        (Request::Open(Target::Sqlite { path, access }), Some(Open::Sqlite(file)))
            if file.wakes(&path, access) => {}
        (Request::Open(Target::Sqlite { path, access }), _) => {
            let file = SqliteFile::open(&path, access).await?;
            file.cancelled_by(Arc::clone(cancelled));
            *open = Some(Open::Sqlite(file));
        }
        (Request::Open(Target::Server { login, address, driver }), _) => {
            *open = Some(Open::Server(Connection::open(&login, address, driver).await?));
        }
        (Request::Rest, Some(Open::Sqlite(file))) if file.rest().await => {}
        (Request::Close | Request::Rest, _) => close(open).await,
        (Request::Restrict { views, timeout }, Some(Open::Sqlite(file))) => {
            file.restrict(&views, timeout).await?;
        }
        (Request::SetUp { reads_only }, Some(Open::Server(connection))) => {
            connection.check_set_up(reads_only).await?;
        }
        (Request::Check, Some(Open::Server(connection))) => connection.check().await?,
        (Request::Execute { sql, timeout }, Some(Open::Sqlite(file))) => file.execute(sql, timeout).await?,
        (Request::Execute { sql, .. }, Some(Open::Server(connection))) => {
            return connection.execute(&sql).await.map(Reply::Changed);
        }
        (Request::Read { sql, binds, bounds }, Some(Open::Sqlite(file))) => {
            let rows = file.read(&ReadStatement { sql, binds }, bounds).await?;
            return Ok(Reply::Rows { rows: named(rows)?, has_more: false });
        }
        (Request::Read { sql, binds, bounds }, Some(Open::Server(connection))) => {
            let statement = ReadStatement { sql, binds };
            let answer = connection.read(&statement, bounds.max_rows, bounds.max_bytes).await?;
            return Ok(Reply::Rows { rows: named(answer.rows)?, has_more: answer.has_more });
        }
        (Request::Script { sql, changes_rows, shown, timeout }, Some(Open::Sqlite(file))) => {
            return file.script(sql, changes_rows, shown, timeout).await.map(message::shown).map(Reply::Ran);
        }
        (Request::Script { sql, changes_rows, shown, .. }, Some(Open::Server(connection))) => {
            return connection.script(&sql, changes_rows, shown).await.map(message::shown).map(Reply::Ran);
        }
        (_, None) => return Err(error("unreachable", "the database session is broken")),
        (_, Some(_)) => {
            return Err(error("internal", "a worker process was asked for another database's work"));
        }
    }
    Ok(Reply::Done)
}

/// A driver that panics has read what its protocol does not allow.
fn misread(panicked: &(dyn std::any::Any + Send)) -> Error {
    let why = panicked.downcast_ref::<String>().map(String::as_str);
    let why = why.or_else(|| panicked.downcast_ref::<&str>().copied()).unwrap_or("without a message");
    let message = format!("the database's answer breaks its protocol; the driver stopped: {why}");
    Error { may_have_applied: true, ..error(PROTOCOL_ERROR, message) }
}
