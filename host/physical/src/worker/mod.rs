//! Worker processes: every statement on a database runs in one, so that it can be ended whatever it does.
//!
//! SQLite cannot be interrupted within one operation, and a driver reads a value whole before its size is
//! known. A worker is a process of the same binary with limits on memory, processor time and files. It has
//! one database open at a time. The server talks to it over a socket; killing it costs its own
//! statement an error and others nothing. If the server ends, the socket closes and the worker ends.

mod child;
mod message;
mod process;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Weak};
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
/// Workers with a session in use, for all servers, and as many for all SQLite files.
const WORKERS_MAX: usize = 64;
/// How long to wait for one of them.
const PLACE_TIMEOUT: Duration = Duration::from_secs(20);
/// Sessions on one SQLite file; the tasks that run at once take a part of them.
const OF_FILE_MAX: usize = 32;
/// Workers that cancel statements of others.
const EXTRA_MAX: usize = 16;
/// Workers with an open session that is not in use, for all databases.
const RESTING_MAX: usize = 32;
/// Idle workers without a database, and how long they are kept.
const IDLE_MAX: usize = 24;
const IDLE: Duration = Duration::from_secs(30);

/// Where SQLite puts the temporary files of a statement.
const FOLDER_VARIABLES: [&str; 2] = ["SQLITE_TMPDIR", "TMPDIR"];

#[expect(clippy::disallowed_methods, reason = "SQLite's own variables, passed on as they are")]
fn folders() -> impl Iterator<Item = (&'static str, std::ffi::OsString)> {
    FOLDER_VARIABLES.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)))
}

/// The right to one of a bounded number of workers; clones are the same one.
#[derive(Clone)]
pub(crate) struct Place(#[expect(dead_code, reason = "it counts until it is dropped")] Arc<Permits>);

/// Of all workers, and of a file's.
type Permits = (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>);

fn all_in_use(message: &str) -> Error {
    Error { retryable: true, ..error("unavailable", format!("{message}; try again")) }
}

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
    /// For sessions on servers, and on files: slow ones of one kind do not keep out the others.
    places: Arc<Semaphore>,
    file_places: Arc<Semaphore>,
    resting: Arc<Semaphore>,
    /// For workers that cancel statements of others.
    extra: Arc<Semaphore>,
    /// The places of each SQLite file in use.
    files: Mutex<HashMap<PathBuf, Weak<Semaphore>>>,
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
        let [places, file_places, resting, extra] =
            [WORKERS_MAX, WORKERS_MAX, RESTING_MAX, EXTRA_MAX].map(|count| Arc::new(Semaphore::new(count)));
        let (files, idle) = (Mutex::default(), Mutex::default());
        WorkerProcesses(Arc::new(Inner { start, places, file_places, resting, extra, files, idle }))
    }

    /// The memory of one worker; 0: not limited.
    pub(crate) fn memory_mib(&self) -> u64 {
        match &self.0.start {
            Start::Inside => 0,
            Start::Process { memory_mib, .. } => *memory_mib,
        }
    }

    /// A place for a session; waits for one if too many are at work.
    pub(crate) async fn place(&self) -> Result<Place, Error> {
        self.placed(&self.0.places, None).await
    }

    /// The same for one on a SQLite file, which has a share of the places.
    pub(crate) async fn place_for_file(&self, path: &Path) -> Result<Place, Error> {
        let of_file = {
            let mut files = self.0.files.lock();
            files.retain(|_, places| places.strong_count() > 0);
            let known = files.get(path).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let places = Arc::new(Semaphore::new(OF_FILE_MAX));
                files.insert(path.to_owned(), Arc::downgrade(&places));
                places
            })
        };
        let waiting = timeout(PLACE_TIMEOUT, of_file.acquire_owned()).await;
        let of_file = waiting
            .ok()
            .and_then(Result::ok)
            .ok_or_else(|| all_in_use(&format!("all {OF_FILE_MAX} sessions on this file are in use")))?;
        self.placed(&self.0.file_places, Some(of_file)).await
    }

    /// A place besides the others, for cancelling the statement of one of them: it must not wait for it.
    pub(crate) async fn extra_place(&self) -> Result<Place, Error> {
        self.placed(&self.0.extra, None).await
    }

    async fn placed(
        &self,
        places: &Arc<Semaphore>,
        of_file: Option<OwnedSemaphorePermit>,
    ) -> Result<Place, Error> {
        let place = timeout(PLACE_TIMEOUT, Arc::clone(places).acquire_owned()).await;
        let place = place
            .ok()
            .and_then(Result::ok)
            .ok_or_else(|| all_in_use(&format!("all {WORKERS_MAX} worker processes are in use")))?;
        Ok(Place(Arc::new((place, of_file))))
    }

    /// A place for an open session that is not in use, if there is one.
    fn resting_place(&self) -> Option<Place> {
        let place = Arc::clone(&self.0.resting).try_acquire_owned().ok()?;
        Some(Place(Arc::new((place, None))))
    }

    /// A worker for a session.
    pub(crate) fn take(&self, key: Key, place: Place) -> Result<Worker, Error> {
        while let Some(mut worker) = self.idle(&key) {
            if worker.is_ready() {
                worker.occupy(place);
                return Ok(worker);
            }
        }
        self.started(key, place)
    }

    fn started(&self, key: Key, place: Place) -> Result<Worker, Error> {
        let failed = |cause: std::io::Error| {
            let message = format!("the worker process of the statement did not start, try again: {cause}");
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
                    .envs(folders())
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
        Some(idle.workers.remove(at).0)
    }

    /// Keeps a worker without a database for a while.
    pub(crate) fn keep(self, mut worker: Worker) {
        worker.vacate();
        // Without a runtime no task could end it.
        let Ok(runtime) = Handle::try_current() else { return };
        let mut idle = self.0.idle.lock();
        if idle.workers.len() >= IDLE_MAX {
            // The one that waits longest ends.
            idle.workers.remove(0);
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
