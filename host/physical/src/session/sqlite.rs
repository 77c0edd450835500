//! A session on a SQLite file, which a worker process has open.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lakeport_bindings::host::data::RowSet;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::ReadStatement;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::{interval, sleep, timeout};

use super::{FileAccess, Views};
use crate::errors::STATEMENT_TOO_HEAVY;
use crate::script::{Bounds, Ran, Shown};
use crate::worker::{Key, Reply, Request, Target, Worker, WorkerProcesses};

/// The worker ends a statement at its deadline; one that cannot be interrupted has this long until the worker
/// is killed.
const KILL_AFTER: Duration = Duration::from_secs(2);
/// How long to wait until a file is open: longer than SQLite waits for a lock.
const OPEN_TIMEOUT: Duration = Duration::from_secs(12);
/// How long the worker may go on with it: a program died within a great transaction.
const RECOVERY_MAX: Duration = Duration::from_secs(600);
/// The interval of checking the flag.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) struct SqliteSession {
    /// `None`: it was given back.
    worker: Mutex<Option<Worker>>,
    cancelled: parking_lot::Mutex<Option<Arc<AtomicBool>>>,
}

impl SqliteSession {
    /// Opens an existing file.
    pub async fn open(
        processes: &WorkerProcesses,
        path: &Path,
        access: FileAccess,
    ) -> Result<SqliteSession, Error> {
        let place = processes.place_for_file(path).await?;
        let mut worker = processes.take(Key::File(path.to_owned()), place)?;
        let target = Target::Sqlite { path: path.to_owned(), access };
        // A file may have to be recovered first: who does not wait for that must not break it off.
        let opening = tokio::spawn(async move {
            let opened = timeout(RECOVERY_MAX, worker.ask(&Request::Open(target))).await;
            opened.unwrap_or_else(|_| Err(slow_to_open())).map(|_| worker)
        });
        let opened = timeout(OPEN_TIMEOUT, opening).await.map_err(|_| slow_to_open())?;
        let worker = opened.map_err(|cause| error("internal", format!("opening the file: {cause}")))??;
        Ok(SqliteSession { worker: Mutex::new(Some(worker)), cancelled: parking_lot::Mutex::new(None) })
    }

    /// Whether the worker is gone. A worker at work is not.
    pub fn is_broken(&self) -> bool {
        self.worker.try_lock().is_ok_and(|worker| worker.as_ref().is_none_or(Worker::is_lost))
    }

    /// Interrupts running statements once the flag is set.
    pub fn cancelled_by(&self, flag: Arc<AtomicBool>) {
        *self.cancelled.lock() = Some(flag);
    }

    /// Creates the views, in this session's own memory: that is its only write. Then SQLite's authorizer allows nothing
    /// else.
    pub async fn restrict(&self, views: &Views, timeout: Duration) -> Result<(), Error> {
        self.ask(Request::Restrict { views: views.clone(), timeout }, timeout).await.map(drop)
    }

    /// Runs a reading statement that passed the guard.
    pub async fn read(&self, statement: &ReadStatement, bounds: Bounds) -> Result<RowSet, Error> {
        let ReadStatement { sql, binds } = statement.clone();
        match self.ask(Request::Read { sql, binds, bounds }, bounds.timeout).await? {
            Reply::Rows { rows, .. } => Ok(rows),
            _ => Err(Worker::astray()),
        }
    }

    /// Runs a judged statement of a task, to its last row.
    pub async fn script(
        &self,
        sql: &str,
        changes_rows: bool,
        shown: Shown,
        timeout: Duration,
    ) -> Result<Ran, Error> {
        let request = Request::Script { sql: sql.to_owned(), changes_rows, shown, timeout };
        match self.ask(request, timeout).await? {
            Reply::Ran(ran) => Ok(ran),
            _ => Err(Worker::astray()),
        }
    }

    /// Runs a statement of a checked plan, or one of the host's own.
    pub async fn execute(&self, sql: &str, timeout: Duration) -> Result<(), Error> {
        self.ask(Request::Execute { sql: sql.to_owned(), timeout }, timeout).await.map(drop)
    }

    /// Closes the session cleanly.
    pub async fn close(mut self) {
        if let Some(worker) = self.worker.get_mut().take() {
            worker.close().await;
        }
    }

    /// Ends the session; the next one on the file may come soon.
    pub async fn rest(mut self) {
        if let Some(worker) = self.worker.get_mut().take() {
            worker.rest_open().await;
        }
    }

    async fn ask(&self, request: Request, timeout: Duration) -> Result<Reply, Error> {
        let mut worker = self.worker.lock().await;
        let worker = worker.as_mut().ok_or_else(|| error("unreachable", "the database session is closed"))?;
        let flag = self.cancelled.lock().clone();
        let stop = async {
            tokio::select! {
                () = is_set(flag) => error("cancelled", "the statement was stopped"),
                late = too_long(timeout.saturating_add(KILL_AFTER)) => late,
            }
        };
        worker.ask_until(&request, stop).await
    }
}

impl Drop for SqliteSession {
    /// Most sessions are dropped: their workers are for the next ones. One at work is lost, and ends.
    fn drop(&mut self) {
        if let Some(worker) = self.worker.get_mut().take()
            && !worker.is_lost()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(worker.close());
        }
    }
}

fn slow_to_open() -> Error {
    let message =
        "the database could not be opened in time; it may be recovering from a program that died: try again";
    Error { retryable: true, ..error("timeout", message) }
}

async fn is_set(flag: Option<Arc<AtomicBool>>) {
    let Some(flag) = flag else { return std::future::pending().await };
    let mut looks = interval(LOOK);
    while !flag.load(Ordering::Relaxed) {
        looks.tick().await;
    }
}

async fn too_long(limit: Duration) -> Error {
    sleep(limit).await;
    let message = format!(
        "the statement ran longer than {} s and could not be interrupted, so its worker process was ended: search \
         smaller texts",
        limit.as_secs()
    );
    error(STATEMENT_TOO_HEAVY, message)
}
