//! A worker process as the server sees it.

use std::future::Future;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use nix::sys::signal::Signal;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::Child;
use tokio::time::timeout;

use super::message::{Reply, Request, receive, send};
use super::{Key, Place, WorkerProcesses};
use crate::errors::STATEMENT_TOO_HEAVY;

/// How long a worker may take to end a statement that was cancelled.
const CANCEL_PATIENCE: Duration = Duration::from_secs(2);
/// How long a database may take to close: SQLite may have a long write-ahead log to copy.
const CLOSE_PATIENCE: Duration = Duration::from_secs(10);
/// How long the exit status of a worker that closed its stream is waited for.
const EXIT_PATIENCE: Duration = Duration::from_secs(2);

/// The signals of a process that came to the end of its limits: memory or stack (SIGABRT, SIGSEGV), the machine's memory
/// (SIGKILL), processor time (SIGXCPU).
const BY_LIMITS: [i32; 4] =
    [Signal::SIGABRT as i32, Signal::SIGSEGV as i32, Signal::SIGKILL as i32, Signal::SIGXCPU as i32];

/// Kills a process whose answer is not waited for any longer. `None`: it has answered.
struct KilledIfAbandoned<'w>(Option<&'w mut Option<Child>>);

impl Drop for KilledIfAbandoned<'_> {
    fn drop(&mut self) {
        if let Some(Some(child)) = &mut self.0 {
            // It may have ended just now.
            let _ = child.start_kill();
        }
    }
}

/// A running worker. Dropping it kills the process, whatever it does.
pub(crate) struct Worker {
    processes: WorkerProcesses,
    key: Key,
    reading: OwnedReadHalf,
    writing: OwnedWriteHalf,
    /// `None`: the work is done in this process.
    child: Option<Child>,
    /// The worker ended, or its answer was not waited for.
    is_lost: bool,
    /// Counts while it is not dropped, as one in use or as a resting one. `None`: it is idle.
    place: Option<Place>,
}

impl Worker {
    pub(super) fn new(
        processes: WorkerProcesses,
        key: Key,
        (reading, writing): (OwnedReadHalf, OwnedWriteHalf),
        child: Option<Child>,
        place: Place,
    ) -> Worker {
        Worker { processes, key, reading, writing, child, is_lost: false, place: Some(place) }
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    /// Whether it can still be used.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Whether the process is there and no answer is outstanding.
    pub(super) fn is_ready(&mut self) -> bool {
        !self.is_lost && self.child.as_mut().is_none_or(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// One request and its answer. If the future is dropped meanwhile, the worker is lost.
    pub async fn ask(&mut self, request: &Request) -> Result<Reply, Error> {
        self.ask_until(request, std::future::pending()).await
    }

    /// The same, until `stop`: then the worker is asked to cancel, and is lost if it does not do so soon.
    pub async fn ask_until(
        &mut self,
        request: &Request,
        stop: impl Future<Output = Error>,
    ) -> Result<Reply, Error> {
        if std::mem::replace(&mut self.is_lost, true) {
            return Err(error("unreachable", "the database session is broken"));
        }
        match send(&mut self.writing, request).await {
            Err(cause) if cause.code == "limit_exceeded" => {
                self.is_lost = false;
                return Err(cause);
            }
            Err(_) => return Err(self.ended(request).await),
            Ok(()) => {}
        }
        let answer = {
            let mut abandoned = KilledIfAbandoned(Some(&mut self.child));
            let mut answering = std::pin::pin!(receive::<Reply>(&mut self.reading));
            let answer = tokio::select! {
                biased;
                answer = &mut answering => Ok(answer),
                why = stop => {
                    let cancelling = async {
                        send(&mut self.writing, &Request::Cancel).await?;
                        answering.await
                    };
                    timeout(CANCEL_PATIENCE, cancelling).await.map_err(|_| why)
                }
            };
            if answer.is_ok() {
                abandoned.0 = None;
            }
            answer
        };
        let answer = match answer {
            Ok(answer) => answer,
            // It was not seen to stop, so it was killed. What it did is final once it is gone.
            Err(why) => {
                self.exit_status().await;
                return Err(Error { may_have_applied: request.changes(), ..why });
            }
        };
        match answer {
            Ok(reply) => {
                self.is_lost = false;
                match reply {
                    Reply::Failed(failed) => Err(failed),
                    reply => Ok(reply),
                }
            }
            Err(_) => Err(self.ended(request).await),
        }
    }

    /// The answer was one to another request: a fault of the program.
    pub fn astray() -> Error {
        error("internal", "a worker process gave the answer to another request")
    }

    pub(super) fn occupy(&mut self, place: Place) {
        self.place = Some(place);
    }

    pub(super) fn vacate(&mut self) {
        self.place = None;
    }

    /// Leaves its place to others, with its database open. False: too many rest.
    pub fn rest(&mut self) -> bool {
        let place = self.processes.resting_place();
        let is_there = place.is_some();
        if is_there {
            self.place = place;
        }
        is_there
    }

    /// Takes a place again after [`Self::rest`].
    pub async fn wake(&mut self) -> Result<(), Error> {
        self.place = Some(self.processes.place().await?);
        Ok(())
    }

    /// Closes the database and keeps the process for the next one. A database may not let itself be closed: then the
    /// process ends.
    pub async fn close(mut self) {
        if self.is_ready() && matches!(timeout(CLOSE_PATIENCE, self.ask(&Request::Close)).await, Ok(Ok(_))) {
            self.processes.clone().keep(self);
        }
    }

    /// The same, but a SQLite file stays open for a moment.
    pub async fn rest_open(mut self) {
        if self.is_ready() && matches!(timeout(CLOSE_PATIENCE, self.ask(&Request::Rest)).await, Ok(Ok(_))) {
            self.processes.clone().keep(self);
        }
    }

    async fn exit_status(&mut self) -> Option<ExitStatus> {
        match &mut self.child {
            Some(child) => timeout(EXIT_PATIENCE, child.wait()).await.ok().and_then(Result::ok),
            None => None,
        }
    }

    /// Why it ended: most likely its memory was not enough.
    async fn ended(&mut self, request: &Request) -> Error {
        let status = self.exit_status().await;
        let is_by_limits =
            status.is_none_or(|status| status.signal().is_some_and(|s| BY_LIMITS.contains(&s)));
        let status = status.as_ref().map_or_else(|| "no status".to_owned(), ExitStatus::to_string);
        if !is_by_limits {
            let message = format!("the worker process of the statement ended ({status}); try again");
            let may_have_applied = request.changes();
            return Error { may_have_applied, retryable: true, ..error("unavailable", message) };
        }
        let limit = self.processes.memory_mib();
        let message = match request {
            Request::Open(_) => format!(
                "the first answer of the database needs more memory than a worker process may use, {limit} MiB \
                 ({status}): another kind of server is at this address"
            ),
            _ => format!(
                "the statement needs more memory than its worker process may use, {limit} MiB ({status}): read fewer \
                 rows at a time, or smaller values, or raise the setting worker_memory_mib"
            ),
        };
        let code = match request {
            Request::Open(_) => crate::errors::PROTOCOL_ERROR,
            _ => STATEMENT_TOO_HEAVY,
        };
        Error { may_have_applied: request.changes(), ..error(code, message) }
    }
}

impl Request {
    /// Whether a database may have changed although no answer came.
    fn changes(&self) -> bool {
        matches!(self, Request::Execute { .. } | Request::Script { .. })
    }
}
