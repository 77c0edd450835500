//! A database server: its sessions, a pool of idle ones, and the cancellation of running statements.
//!
//! Each session is opened in the same way: connected to a judged address, set up by the dialect's statements,
//! and made read-only where it only reads. A session that broke, or has an unfinished statement, is never
//! reused.

mod connection;
mod driver;
mod login;
mod mysql;
mod postgres;
#[cfg(test)]
mod protocol_fuzz;
mod session;
mod worker_connection;

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use lakeport_bindings::host::data::Cell;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::{ReadStatement, Transport};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

pub(crate) use self::connection::Connection;
pub(crate) use self::login::{DriverSettings, Purpose};
pub use self::login::{Login, Recipes, Resolve, Tls};
pub(crate) use self::session::ServerSession;
use self::worker_connection::WorkerConnection;
use crate::errors::is_lost;
use crate::script::Bounds;
use crate::worker::{Place, WorkerProcesses};

/// How long opening a session may take, from resolving the host to the last setting.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);
/// How long connecting to one address may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(8);
/// Time limit of one setup statement.
const SETUP_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit of checking an idle session.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit of sending a cancellation.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a cancelled statement may take to stop, and the polling interval.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
const STOP_INTERVAL: Duration = Duration::from_millis(100);
/// Concurrent sessions on one database, for all purposes.
const SESSIONS_MAX: usize = 16;
/// How long to wait for a free session.
const TURN_TIMEOUT: Duration = Duration::from_secs(20);
/// Idle sessions per purpose, and how long they are kept.
const RESTING_MAX: usize = 4;
const RESTING: Duration = Duration::from_secs(30);

/// A database server; clones share its sessions.
#[derive(Clone)]
pub struct ServerDatabase(Arc<Inner>);

struct Inner {
    login: Login,
    recipes: Recipes,
    resolve: Resolve,
    processes: WorkerProcesses,
    turns: Arc<Semaphore>,
    resting: Mutex<Resting>,
}

#[derive(Default)]
struct Resting {
    sessions: Vec<Rested>,
    /// Whether the task that closes idle sessions runs.
    is_watched: bool,
}

struct Rested {
    link: Link,
    purpose: Purpose,
    since: Instant,
}

/// A connection with its settings applied.
pub(crate) struct Link {
    connection: WorkerConnection,
    address: SocketAddr,
    /// The server's id of the session; `None` if the recipes do not query it.
    id: Option<u64>,
}

impl fmt::Debug for ServerDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.login.fmt(f)
    }
}

impl ServerDatabase {
    /// Does not connect yet. Connections are held by worker processes.
    pub fn new(
        login: Login,
        recipes: Recipes,
        resolve: Resolve,
        processes: WorkerProcesses,
    ) -> ServerDatabase {
        let (turns, resting) = (Arc::new(Semaphore::new(SESSIONS_MAX)), Mutex::default());
        ServerDatabase(Arc::new(Inner { login, recipes, resolve, processes, turns, resting }))
    }

    /// A connection to one address, without session settings.
    async fn connection(&self, place: Place, address: SocketAddr) -> Result<WorkerConnection, Error> {
        let Inner { login, recipes, processes, .. } = &*self.0;
        WorkerConnection::open(processes, place, login, address, recipes.driver).await
    }

    pub(crate) fn transport(&self) -> Transport {
        self.0.login.transport
    }

    /// An idle session, or a new one.
    pub(crate) async fn open(&self, purpose: Purpose) -> Result<ServerSession, Error> {
        let turn = self.turn().await?;
        // A session that ended while idle shows it only when it is checked.
        while let Some(mut link) = self.rested(purpose) {
            link.connection.wake().await?;
            if matches!(timeout(CHECK_TIMEOUT, link.connection.check()).await, Ok(Ok(()))) {
                return Ok(ServerSession::new(self.clone(), purpose, link, turn));
            }
        }
        let link = self.link(purpose).await?;
        Ok(ServerSession::new(self.clone(), purpose, link, turn))
    }

    /// A new session.
    pub(crate) async fn open_new(&self, purpose: Purpose) -> Result<ServerSession, Error> {
        let turn = self.turn().await?;
        let link = self.link(purpose).await?;
        Ok(ServerSession::new(self.clone(), purpose, link, turn))
    }

    async fn turn(&self) -> Result<OwnedSemaphorePermit, Error> {
        let turn = timeout(TURN_TIMEOUT, Arc::clone(&self.0.turns).acquire_owned()).await;
        turn.ok().and_then(Result::ok).ok_or_else(|| Error {
            retryable: true,
            ..error("unavailable", format!("all {SESSIONS_MAX} sessions on this database are in use"))
        })
    }

    fn rested(&self, purpose: Purpose) -> Option<Link> {
        let mut resting = self.0.resting.lock();
        resting.sessions.retain(|one| one.since.elapsed() < RESTING);
        let at = resting.sessions.iter().rposition(|one| one.purpose == purpose)?;
        Some(resting.sessions.swap_remove(at).link)
    }

    /// Returns an idle link to the pool.
    fn rest(&self, mut link: Link, purpose: Purpose) {
        // Without a runtime no task could close it when it has been idle too long.
        let Ok(runtime) = Handle::try_current() else { return };
        let mut resting = self.0.resting.lock();
        if resting.sessions.iter().filter(|one| one.purpose == purpose).count() >= RESTING_MAX
            || !link.connection.rest()
        {
            return;
        }
        resting.sessions.push(Rested { link, purpose, since: Instant::now() });
        if !std::mem::replace(&mut resting.is_watched, true) {
            runtime.spawn(watch(Arc::downgrade(&self.0)));
        }
    }

    async fn link(&self, purpose: Purpose) -> Result<Link, Error> {
        let place = self.0.processes.place().await?;
        timeout(OPEN_TIMEOUT, self.connected(purpose, &place)).await.unwrap_or_else(|_| {
            let message = format!("opening the database took longer than {} s", OPEN_TIMEOUT.as_secs());
            Err(Error { retryable: true, ..error("timeout", message) })
        })
    }

    async fn connected(&self, purpose: Purpose, place: &Place) -> Result<Link, Error> {
        let Inner { login, resolve, .. } = &*self.0;
        let mut failed = error("unreachable", format!("the host {} has no address", login.host));
        for address in resolve(login.host.clone(), login.port).await? {
            let connecting = timeout(CONNECT_TIMEOUT, self.connection(place.clone(), address));
            match connecting.await {
                Ok(Ok(connection)) => return self.set_up(connection, address, purpose).await,
                // Another address would give the same error.
                Ok(Err(error)) if error.code != "unreachable" => return Err(error),
                Ok(Err(error)) => failed = error,
                Err(_) => {
                    let message = format!("{} did not answer in time", login.host);
                    failed = Error { retryable: true, ..error("timeout", message) };
                }
            }
        }
        Err(failed)
    }

    async fn set_up(
        &self,
        mut connection: WorkerConnection,
        address: SocketAddr,
        purpose: Purpose,
    ) -> Result<Link, Error> {
        let recipes = &self.0.recipes;
        let statements = if purpose == Purpose::Read { &recipes.reading } else { &recipes.changing };
        for statement in statements {
            let done = connection.execute(statement.as_str(), SETUP_TIMEOUT);
            let done = timeout(SETUP_TIMEOUT, done).await;
            let done = done.unwrap_or_else(|_| Err(error("timeout", "it took too long")));
            done.map_err(|cause| Error {
                message: format!("the session could not be set up ({statement}): {}", cause.message),
                ..cause
            })?;
        }
        connection.check_set_up(purpose == Purpose::Read).await?;
        let id = match &recipes.session_id {
            Some(question) => Some(session_id(&mut connection, question).await?),
            None => None,
        };
        Ok(Link { connection, address, id })
    }

    /// Cancels the statement in the session with this id, at the same address: another front end would not
    /// know it.
    pub(crate) async fn cancel(&self, address: SocketAddr, id: u64) {
        let Some(statement) = self.0.recipes.cancelling(id) else { return };
        let cancelling = async {
            let mut connection = self.connection(self.0.processes.extra_place().await?, address).await?;
            let done = connection.execute(statement.as_str(), CANCEL_TIMEOUT).await;
            connection.close().await;
            done
        };
        match timeout(CANCEL_TIMEOUT, cancelling).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::warn!(database = ?self, "a statement was not stopped: {}", error.message)
            }
            Err(_) => tracing::warn!(database = ?self, "a statement was not stopped in time"),
        }
    }

    /// Cancels the statement that a session left running and waits until it has stopped. False: it may still
    /// run.
    pub(crate) async fn has_stopped(&self, address: SocketAddr, id: u64) -> bool {
        self.cancel(address, id).await;
        let until = Instant::now() + STOP_TIMEOUT;
        loop {
            match self.is_at_work(address, id).await {
                Ok(false) => return true,
                // A server that does not show statements runs them as jobs, which are polled on their own.
                Err(cause) if !is_lost(&cause) => return true,
                _ if Instant::now() > until => return false,
                _ => tokio::time::sleep(STOP_INTERVAL).await,
            }
        }
    }

    /// Whether the server runs a statement in the session with this id.
    async fn is_at_work(&self, address: SocketAddr, id: u64) -> Result<bool, Error> {
        let sql = match self.transport() {
            Transport::Postgres => {
                format!("SELECT pid FROM pg_catalog.pg_stat_activity WHERE pid = {id} AND state = 'active'")
            }
            _ => format!(
                "SELECT ID FROM information_schema.PROCESSLIST WHERE ID = {id} AND COMMAND <> 'Sleep'"
            ),
        };
        let question = ReadStatement { sql, binds: Vec::new() };
        let asking = async {
            let mut connection = self.connection(self.0.processes.extra_place().await?, address).await?;
            let answer = connection.read(&question, SESSION_ID).await;
            connection.close().await;
            answer.map(|answer| !answer.rows.rows.is_empty())
        };
        timeout(CANCEL_TIMEOUT, asking)
            .await
            .unwrap_or_else(|_| Err(error("unreachable", "no answer in time")))
    }

    pub(crate) fn is_cancellable(&self) -> bool {
        self.0.recipes.cancel.is_some()
    }
}

/// Closes sessions that were idle long enough, until none are left.
async fn watch(database: Weak<Inner>) {
    loop {
        tokio::time::sleep(RESTING / 2).await;
        let Some(inner) = database.upgrade() else { return };
        let mut resting = inner.resting.lock();
        resting.sessions.retain(|one| one.since.elapsed() < RESTING);
        if resting.sessions.is_empty() {
            resting.is_watched = false;
            return;
        }
    }
}

async fn session_id(connection: &mut WorkerConnection, question: &ReadStatement) -> Result<u64, Error> {
    let answer = connection.read(question, SESSION_ID).await?.rows;
    let id = match answer.rows.first().and_then(|row| row.first()) {
        Some(Cell::Integer(id)) => u64::try_from(*id).ok(),
        Some(Cell::Text(id)) => id.parse().ok(),
        _ => None,
    };
    id.ok_or_else(|| error("invalid_response", "the server did not report the session's id"))
}

/// The limits of the answer with a session's id.
const SESSION_ID: Bounds = Bounds { max_rows: 1, max_bytes: 1_024, timeout: SETUP_TIMEOUT };
