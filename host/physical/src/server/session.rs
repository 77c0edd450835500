//! A session on a server. A running statement is cancelled in the server itself: at its deadline, when its
//! flag is set, or when its future is dropped.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lakeport_bindings::host::data::RowSet;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::{ReadStatement, Transport};
use tokio::sync::{Mutex, OwnedSemaphorePermit};
use tokio::time::{interval, sleep, timeout};

use super::worker_connection::{WorkerConnection, breaks};
use super::{Link, Purpose, ServerDatabase};
use crate::script::{Bounds, Ran, Shown};

/// The interval of checking the flag.
const LOOK: Duration = Duration::from_millis(20);
/// How long a cancelled statement may take to stop before its connection is closed.
const STOP_PATIENCE: Duration = Duration::from_secs(5);
/// Shows that a connection is idle: run twice, because a late cancellation may hit the first.
const AT_REST: &str = "SELECT 1";

pub(crate) struct ServerSession {
    database: ServerDatabase,
    purpose: Purpose,
    address: SocketAddr,
    /// The server's id of the session.
    id: Option<u64>,
    /// `None`: the connection broke.
    link: Mutex<Option<Link>>,
    cancelled: parking_lot::Mutex<Option<Arc<AtomicBool>>>,
    /// A transaction is open, which only [`ServerSession::end`] may end.
    is_in_transaction: AtomicBool,
    /// Whether the session returns to the pool afterwards.
    rests: AtomicBool,
    _turn: OwnedSemaphorePermit,
}

/// A link in use. Dropping it cancels the statement that runs on it.
struct Working<'s> {
    session: &'s ServerSession,
    link: Option<Link>,
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        if let Some(link) = self.link.take() {
            self.session.stop_elsewhere(link.address, link.id);
        }
    }
}

/// Returns the session to the pool if it has no unfinished work. Otherwise the connection is closed, and the
/// server rolls back.
impl Drop for ServerSession {
    fn drop(&mut self) {
        if self.may_rest()
            && let Some(link) = self.link.get_mut().take()
        {
            self.database.rest(link, self.purpose);
        }
    }
}

impl ServerSession {
    pub fn new(
        database: ServerDatabase,
        purpose: Purpose,
        link: Link,
        turn: OwnedSemaphorePermit,
    ) -> ServerSession {
        ServerSession {
            database,
            purpose,
            address: link.address,
            id: link.id,
            link: Mutex::new(Some(link)),
            cancelled: parking_lot::Mutex::new(None),
            is_in_transaction: AtomicBool::new(false),
            rests: AtomicBool::new(true),
            _turn: turn,
        }
    }

    pub fn transport(&self) -> Transport {
        self.database.transport()
    }

    /// Whether the connection was lost. A link in use is not lost.
    pub fn is_broken(&self) -> bool {
        self.link.try_lock().is_ok_and(|link| link.is_none())
    }

    /// Cancels running statements once the flag is set.
    pub fn cancelled_by(&self, flag: Arc<AtomicBool>) {
        *self.cancelled.lock() = Some(flag);
    }

    /// After the connection broke: whether its unfinished statement has stopped. False: it may still run.
    pub async fn has_stopped(&self) -> bool {
        match self.id.filter(|_| self.database.is_cancellable()) {
            Some(id) => self.database.has_stopped(self.address, id).await,
            None => true,
        }
    }

    /// Keeps the session out of the pool: leftovers of a user's statements end with it.
    pub fn keep_from_others(&self) {
        self.rests.store(false, Ordering::Relaxed);
    }

    pub async fn read(&self, statement: &ReadStatement, bounds: Bounds) -> Result<RowSet, Error> {
        let read = async |connection: &mut WorkerConnection| connection.read(statement, bounds).await;
        let answer = self.within(bounds.timeout, read).await?;
        if answer.has_more {
            self.let_go_of_the_rest().await;
        }
        Ok(answer.rows)
    }

    /// Runs a judged statement, or the host's own; returns the number of changed rows.
    pub async fn execute(&self, sql: &str, timeout: Duration) -> Result<u64, Error> {
        let execute = async |connection: &mut WorkerConnection| connection.execute(sql, timeout).await;
        self.within(timeout, execute).await
    }

    pub async fn script(
        &self,
        sql: &str,
        changes_rows: bool,
        shown: Shown,
        timeout: Duration,
    ) -> Result<Ran, Error> {
        let script = async |connection: &mut WorkerConnection| {
            connection.script(sql, changes_rows, shown, timeout).await
        };
        self.within(timeout, script).await
    }

    /// Begins a transaction that only [`ServerSession::end`] ends.
    pub async fn begin(&self, sql: &str, timeout: Duration) -> Result<(), Error> {
        self.is_in_transaction.store(true, Ordering::Relaxed);
        self.execute(sql, timeout).await.map(drop)
    }

    /// Commits or rolls back.
    pub async fn end(&self, sql: &str, timeout: Duration) -> Result<(), Error> {
        self.execute(sql, timeout).await?;
        self.is_in_transaction.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Closes the session cleanly, or returns it to the pool.
    pub async fn close(mut self) {
        if !self.may_rest()
            && let Some(link) = self.link.get_mut().take()
        {
            // Do not wait for a server that no longer answers.
            let _ = timeout(STOP_PATIENCE, link.connection.close()).await;
        }
    }

    fn may_rest(&mut self) -> bool {
        *self.rests.get_mut() && !*self.is_in_transaction.get_mut()
    }

    async fn within<T>(
        &self,
        limit: Duration,
        work: impl AsyncFnOnce(&mut WorkerConnection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut place = self.link.lock().await;
        let Some(link) = place.take() else {
            return Err(Error { retryable: true, ..error("unreachable", "the database session is broken") });
        };
        let (address, id) = (link.address, link.id);
        let mut working = Working { session: self, link: Some(link) };
        let connection = &mut working.link.as_mut().expect("it was just put there").connection;
        let (mut is_broken, mut was_stopped) = (false, false);
        let result = {
            let mut work = std::pin::pin!(work(connection));
            tokio::select! {
                biased;
                done = &mut work => done,
                why = self.told_to_stop(limit) => {
                    was_stopped = true;
                    let stopping = async {
                        match id.filter(|_| self.database.is_cancellable()) {
                            Some(id) => {
                                self.database.cancel(address, id).await;
                                work.await.map_err(|_| why.clone())
                            }
                            None => std::future::pending().await,
                        }
                    };
                    let patience = if id.is_some() { STOP_PATIENCE } else { Duration::ZERO };
                    timeout(patience, stopping).await.unwrap_or_else(|_| {
                        is_broken = true;
                        // It was not seen to stop.
                        Err(Error { may_have_applied: true, ..why.clone() })
                    })
                }
            }
        };
        if was_stopped && !is_broken {
            // The cancellation may arrive after this statement has ended; it must not hit the next one.
            let resting = async {
                let _ = connection.execute(AT_REST, STOP_PATIENCE).await;
                let _ = connection.execute(AT_REST, STOP_PATIENCE).await;
            };
            is_broken = timeout(STOP_PATIENCE, resting).await.is_err();
        }
        let link = working.link.take();
        let is_lost = link.as_ref().is_none_or(|link| link.connection.is_lost());
        if is_lost && !was_stopped {
            // Its worker died; the server may not have noticed.
            self.stop_elsewhere(address, id);
        }
        if !is_broken && !is_lost && !result.as_ref().is_err_and(breaks) {
            *place = link;
        }
        result
    }

    /// Waits until the flag is set or the time is over.
    async fn told_to_stop(&self, limit: Duration) -> Error {
        let flag = self.cancelled.lock().clone();
        let cancelled = async {
            let Some(flag) = flag else { return std::future::pending().await };
            let mut looks = interval(LOOK);
            while !flag.load(Ordering::Relaxed) {
                looks.tick().await;
            }
        };
        tokio::select! {
            () = cancelled => error("cancelled", "the statement was stopped"),
            () = sleep(limit) => {
                let message = format!("the statement was stopped after {} ms", limit.as_millis());
                Error { retryable: true, ..error("timeout", message) }
            }
        }
    }

    /// Unread rows are on their way: cancels the statement so that the server sends no more.
    async fn let_go_of_the_rest(&self) {
        let mut place = self.link.lock().await;
        let Some(mut link) = place.take() else { return };
        let Some(id) = link.id.filter(|_| self.database.is_cancellable()) else { return };
        let resting = async {
            self.database.cancel(link.address, id).await;
            let _ = link.connection.execute(AT_REST, STOP_PATIENCE).await;
            link.connection.execute(AT_REST, STOP_PATIENCE).await
        };
        if matches!(timeout(STOP_PATIENCE, resting).await, Ok(Ok(_))) {
            *place = Some(link);
        }
    }

    /// Cancels a statement whose connection was dropped.
    fn stop_elsewhere(&self, address: SocketAddr, id: Option<u64>) {
        let (Some(id), Ok(runtime)) = (id, tokio::runtime::Handle::try_current()) else { return };
        let database = self.database.clone();
        runtime.spawn(async move { database.cancel(address, id).await });
    }
}
