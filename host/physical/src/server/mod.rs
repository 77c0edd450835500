//! A database that is a server: sessions on it, those at rest kept for the next who asks, and how a statement
//! under way is stopped there.
//!
//! Every session is made in the same way: connected to an address that was judged, set up by the dialect's own
//! statements, made to read only where it does. One that broke, or in which a statement was left behind, is never
//! used again.

mod connection;
mod driver;
mod login;
mod mysql;
mod postgres;
mod session;

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
pub(crate) use self::login::Purpose;
pub use self::login::{Login, Recipes, Resolve, Tls};
pub(crate) use self::session::ServerSession;
use crate::errors::is_lost;

/// How long a session may take to begin, from the look-up of the host to its last setting.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);
/// How long connecting to one of the host's addresses may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(8);
/// One statement of a session's setting up.
const SETUP_TIMEOUT: Duration = Duration::from_secs(5);
/// Asking one that rested whether it is still there.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Telling the server to stop a statement.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a statement that was left behind may take to stop, and the time between two looks.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
const STOP_INTERVAL: Duration = Duration::from_millis(100);
/// Sessions on one database at the same time, for whatever purpose.
const SESSIONS_MAX: usize = 16;
/// How long one is waited for.
const TURN_TIMEOUT: Duration = Duration::from_secs(20);
/// Sessions at rest for each purpose, and for how long they rest.
const RESTING_MAX: usize = 4;
const RESTING: Duration = Duration::from_secs(30);

/// A database server; clones share its sessions.
#[derive(Clone)]
pub struct ServerDatabase(Arc<Inner>);

struct Inner {
    login: Login,
    recipes: Recipes,
    resolve: Resolve,
    turns: Arc<Semaphore>,
    resting: Mutex<Resting>,
}

#[derive(Default)]
struct Resting {
    sessions: Vec<Rested>,
    /// Somebody sees to it that none rests too long.
    is_watched: bool,
}

struct Rested {
    link: Link,
    purpose: Purpose,
    since: Instant,
}

/// A connection that was set up.
pub(crate) struct Link {
    connection: Connection,
    address: SocketAddr,
    /// By which the server knows it; none where the recipes ask for none.
    id: Option<u64>,
}

impl fmt::Debug for ServerDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.login.fmt(f)
    }
}

impl ServerDatabase {
    /// Connects to nothing yet.
    pub fn new(login: Login, recipes: Recipes, resolve: Resolve) -> ServerDatabase {
        let turns = Arc::new(Semaphore::new(SESSIONS_MAX));
        ServerDatabase(Arc::new(Inner { login, recipes, resolve, turns, resting: Mutex::default() }))
    }

    pub(crate) fn transport(&self) -> Transport {
        self.0.login.transport
    }

    /// A session that rested, or a new one.
    pub(crate) async fn open(&self, purpose: Purpose) -> Result<ServerSession, Error> {
        let turn = self.turn().await?;
        // What ended while it rested shows only when it is asked.
        while let Some(mut link) = self.rested(purpose) {
            if matches!(timeout(CHECK_TIMEOUT, link.connection.check()).await, Ok(Ok(()))) {
                return Ok(ServerSession::new(self.clone(), purpose, link, turn));
            }
        }
        let link = self.link(purpose).await?;
        Ok(ServerSession::new(self.clone(), purpose, link, turn))
    }

    /// A session that nobody had before.
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

    /// Takes back a link in which nothing is under way.
    fn rest(&self, link: Link, purpose: Purpose) {
        // Without a runtime nobody could see to it that it does not rest too long.
        let Ok(runtime) = Handle::try_current() else { return };
        let mut resting = self.0.resting.lock();
        if resting.sessions.iter().filter(|one| one.purpose == purpose).count() >= RESTING_MAX {
            return;
        }
        resting.sessions.push(Rested { link, purpose, since: Instant::now() });
        if !std::mem::replace(&mut resting.is_watched, true) {
            runtime.spawn(watch(Arc::downgrade(&self.0)));
        }
    }

    async fn link(&self, purpose: Purpose) -> Result<Link, Error> {
        timeout(OPEN_TIMEOUT, self.connected(purpose)).await.unwrap_or_else(|_| {
            let message = format!("the database could not be opened within {} s", OPEN_TIMEOUT.as_secs());
            Err(Error { retryable: true, ..error("timeout", message) })
        })
    }

    async fn connected(&self, purpose: Purpose) -> Result<Link, Error> {
        let Inner { login, recipes, resolve, .. } = &*self.0;
        let mut failed = error("unreachable", format!("there is no address for the host {}", login.host));
        for address in resolve(login.host.clone(), login.port).await? {
            let connecting = timeout(CONNECT_TIMEOUT, Connection::open(login, address, recipes.driver));
            match connecting.await {
                Ok(Ok(connection)) => return self.set_up(connection, address, purpose).await,
                // Another address would hear the same.
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
        mut connection: Connection,
        address: SocketAddr,
        purpose: Purpose,
    ) -> Result<Link, Error> {
        let recipes = &self.0.recipes;
        let statements = if purpose == Purpose::Read { &recipes.reading } else { &recipes.changing };
        for statement in statements {
            let done = timeout(SETUP_TIMEOUT, connection.execute(statement.as_str())).await;
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

    /// Stops what runs in the session of this id. To the very address: another front end would not know it.
    pub(crate) async fn cancel(&self, address: SocketAddr, id: u64) {
        let Inner { login, recipes, .. } = &*self.0;
        let Some(statement) = recipes.cancelling(id) else { return };
        let cancelling = async {
            let mut connection = Connection::open(login, address, recipes.driver).await?;
            let done = connection.execute(statement.as_str()).await;
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

    /// Stops the statement that a session left behind, and waits until it has. False: it may still run.
    pub(crate) async fn has_stopped(&self, address: SocketAddr, id: u64) -> bool {
        self.cancel(address, id).await;
        let until = Instant::now() + STOP_TIMEOUT;
        loop {
            match self.is_at_work(address, id).await {
                Ok(false) => return true,
                // A server that does not tell runs statements of jobs, which are asked for themselves.
                Err(cause) if !is_lost(&cause) => return true,
                _ if Instant::now() > until => return false,
                _ => tokio::time::sleep(STOP_INTERVAL).await,
            }
        }
    }

    /// Whether the server runs a statement in the session of this id.
    async fn is_at_work(&self, address: SocketAddr, id: u64) -> Result<bool, Error> {
        let Inner { login, recipes, .. } = &*self.0;
        let sql = match login.transport {
            Transport::Postgres => {
                format!("SELECT pid FROM pg_catalog.pg_stat_activity WHERE pid = {id} AND state = 'active'")
            }
            _ => format!(
                "SELECT ID FROM information_schema.PROCESSLIST WHERE ID = {id} AND COMMAND <> 'Sleep'"
            ),
        };
        let question = ReadStatement { sql, binds: Vec::new() };
        let asking = async {
            let mut connection = Connection::open(login, address, recipes.driver).await?;
            let answer = connection.read(&question, 1, SESSION_ID_MAX_BYTES).await;
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

/// Closes sessions that rested long enough, until there are none.
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

async fn session_id(connection: &mut Connection, question: &ReadStatement) -> Result<u64, Error> {
    let answer = connection.read(question, 1, SESSION_ID_MAX_BYTES).await?.rows;
    let id = match answer.rows.first().and_then(|row| row.first()) {
        Some(Cell::Integer(id)) => u64::try_from(*id).ok(),
        Some(Cell::Text(id)) => id.parse().ok(),
        _ => None,
    };
    id.ok_or_else(|| error("invalid_response", "the server did not tell the session's id"))
}

/// The answer to the question for a session's id.
const SESSION_ID_MAX_BYTES: usize = 1_024;
