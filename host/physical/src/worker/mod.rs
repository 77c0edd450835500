//! Worker processes: every statement on a database runs in one, so that it can be ended whatever it does.
//!
//! SQLite cannot be interrupted within one operation, and a driver reads a value whole before its size is
//! known. A worker is a process of the same binary with limits on memory, processor time and files. It has
//! one database open at a time. The server talks to it over a socket; killing it costs its statement an error
//! and nobody else anything. If the server ends, the socket closes and the worker ends.

mod child;
mod message;
mod process;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use parking_lot::Mutex;
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

pub use self::child::run_worker;
pub(crate) use self::message::{Reply, Request, Target};
pub(crate) use self::process::Worker;

/// Time limit of opening, closing and checking in a worker.
const OWN_TIMEOUT: Duration = Duration::from_secs(60);
/// Workers with a session in use, for all databases.
const WORKERS_MAX: usize = 64;
/// How long to wait for one of them.
const PLACE_TIMEOUT: Duration = Duration::from_secs(20);
/// Workers with an open session that nobody uses, for all databases.
const RESTING_MAX: usize = 32;
/// Idle workers without a database, and how long they are kept.
const IDLE_MAX: usize = 8;
const IDLE: Duration = Duration::from_secs(30);

/// The database that a worker works for: it is never given to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    File(PathBuf),
    Server { address: SocketAddr, username: String },
}

/// How workers are started, and the idle ones; clones share them.
#[derive(Clone)]
pub struct WorkerProcesses(Arc<Inner>);

struct Inner {
    start: Start,
    places: Arc<Semaphore>,
    resting: Arc<Semaphore>,
    idle: Mutex<Idle>,
}

enum Start {
    /// In this process, without limits: for tests.
    Inside,
    Process {
        program: PathBuf,
        arguments: Vec<String>,
        memory_mib: u64,
    },
}

#[derive(Default)]
struct Idle {
    workers: Vec<(Worker, Instant)>,
    /// Whether the task that ends idle workers runs.
    is_watched: bool,
}

impl WorkerProcesses {
    /// Workers are this program with these arguments; it calls [`run_worker`] with the same `memory_mib`.
    pub fn new(program: PathBuf, arguments: Vec<String>, memory_mib: u64) -> WorkerProcesses {
        WorkerProcesses::starting(Start::Process { program, arguments, memory_mib })
    }

    /// Statements run in this process: nothing but their own timeouts ends them. For tests.
    pub fn inside() -> WorkerProcesses {
        WorkerProcesses::starting(Start::Inside)
    }

    fn starting(start: Start) -> WorkerProcesses {
        let (places, resting) = (Semaphore::new(WORKERS_MAX), Semaphore::new(RESTING_MAX));
        let (places, resting) = (Arc::new(places), Arc::new(resting));
        WorkerProcesses(Arc::new(Inner { start, places, resting, idle: Mutex::default() }))
    }

    /// The memory of one worker; 0: not limited.
    pub(crate) fn memory_mib(&self) -> u64 {
        match &self.0.start {
            Start::Inside => 0,
            Start::Process { memory_mib, .. } => *memory_mib,
        }
    }

    /// A worker for a session; waits for a place if too many are at work.
    pub(crate) async fn take(&self, key: Key) -> Result<Worker, Error> {
        let place = self.place().await?;
        while let Some(mut worker) = self.idle(&key) {
            if worker.is_ready() {
                worker.occupy(place);
                return Ok(worker);
            }
        }
        self.started(key, Some(place))
    }

    async fn place(&self) -> Result<OwnedSemaphorePermit, Error> {
        let place = timeout(PLACE_TIMEOUT, Arc::clone(&self.0.places).acquire_owned()).await;
        place.ok().and_then(Result::ok).ok_or_else(|| Error {
            retryable: true,
            ..error("unavailable", format!("all {WORKERS_MAX} worker processes are in use"))
        })
    }

    /// A worker besides the places, for cancelling the statement of another one: it must not wait for it.
    pub(crate) fn extra(&self, key: Key) -> Result<Worker, Error> {
        self.started(key, None)
    }

    fn started(&self, key: Key, place: Option<OwnedSemaphorePermit>) -> Result<Worker, Error> {
        let failed = |cause: std::io::Error| {
            let message = format!("the worker process of the statement did not start: {cause}");
            Error { retryable: true, ..error("unavailable", message) }
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let child = match &self.0.start {
            Start::Inside => {
                tokio::spawn(child::serve(theirs, |_| {}));
                None
            }
            Start::Process { program, arguments, .. } => {
                let theirs = theirs.into_std().map_err(failed)?;
                let mut command = Command::new(program);
                command
                    .args(arguments)
                    // It needs no settings and no secrets. Its allocator would reserve more than it may have.
                    .env_clear()
                    .env("MIMALLOC_ARENA_RESERVE", "16MiB")
                    .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    // Ctrl-C in a terminal stops the server, which ends its workers in order.
                    .process_group(0)
                    .kill_on_drop(true);
                Some(command.spawn().map_err(failed)?)
            }
        };
        Ok(Worker::new(self.clone(), key, ours.into_split(), child, place))
    }

    fn idle(&self, key: &Key) -> Option<Worker> {
        let mut idle = self.0.idle.lock();
        let at = idle.workers.iter().rposition(|(worker, _)| worker.key() == key)?;
        Some(idle.workers.swap_remove(at).0)
    }

    /// Keeps a worker without a database for a while.
    pub(crate) fn keep(self, mut worker: Worker) {
        worker.vacate();
        // Without a runtime no task could end it.
        let Ok(runtime) = Handle::try_current() else { return };
        let mut idle = self.0.idle.lock();
        if idle.workers.len() >= IDLE_MAX {
            return;
        }
        idle.workers.push((worker, Instant::now()));
        if !std::mem::replace(&mut idle.is_watched, true) {
            let workers = self.clone();
            drop(idle);
            runtime.spawn(watch(workers));
        }
    }
}

/// Ends workers that were idle long enough, until none are left.
async fn watch(workers: WorkerProcesses) {
    loop {
        tokio::time::sleep(IDLE / 2).await;
        let mut idle = workers.0.idle.lock();
        idle.workers.retain(|(_, since)| since.elapsed() < IDLE);
        if idle.workers.is_empty() {
            idle.is_watched = false;
            return;
        }
    }
}
