//! A pool that lends connections one at a time. Nothing is sent when one is taken or returned: sqlx's own
//! pool asks the server both times whether the connection is alive, which costs more than most statements.
//! The caller that runs a statement replaces a connection that turns out to be dead.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::BUSY_TIMEOUT;

/// Unused connections are closed after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// Older connections are closed: a server's connection only grows.
const MAX_AGE: Duration = Duration::from_secs(1_800);

/// A bounded number of connections, most recently used on top.
pub(super) struct Pool<C> {
    shared: Arc<Shared<C>>,
}

struct Shared<C> {
    idle: Mutex<Vec<Idle<C>>>,
    permits: Arc<Semaphore>,
    size: u32,
}

struct Idle<C> {
    connection: C,
    opened: Instant,
    since: Instant,
}

/// A borrowed connection, or the right to open one. Dropped without [`Lent::give_back`], the connection is
/// closed: it may be in the middle of a statement.
pub(super) struct Lent<C> {
    connection: Option<C>,
    opened: Instant,
    shared: Arc<Shared<C>>,
    _permit: OwnedSemaphorePermit,
}

impl<C> Clone for Pool<C> {
    fn clone(&self) -> Pool<C> {
        Pool { shared: Arc::clone(&self.shared) }
    }
}

impl<C> Pool<C> {
    pub fn new(size: u32) -> Pool<C> {
        let permits = Arc::new(Semaphore::new(size as usize));
        Pool { shared: Arc::new(Shared { idle: Mutex::default(), permits, size }) }
    }

    /// A connection, or the right to open one. Waits [`BUSY_TIMEOUT`] at most.
    pub async fn take(&self) -> Result<Lent<C>, sqlx::Error> {
        let permits = Arc::clone(&self.shared.permits);
        let permit = match Arc::clone(&permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => tokio::time::timeout(BUSY_TIMEOUT, permits.acquire_owned())
                .await
                .map_err(|_| sqlx::Error::PoolTimedOut)?
                .map_err(|_| sqlx::Error::PoolClosed)?,
        };
        let (connection, opened) = match self.shared.idle.lock().pop() {
            Some(idle) => (Some(idle.connection), idle.opened),
            None => (None, Instant::now()),
        };
        Ok(Lent { connection, opened, shared: Arc::clone(&self.shared), _permit: permit })
    }

    /// Drops all idle connections: they are probably as dead as the one that just failed.
    pub fn forget_idle(&self) {
        let dead = std::mem::take(&mut *self.shared.idle.lock());
        drop(dead);
    }

    /// Lends no more, and waits until all are returned; returns the open ones.
    pub async fn close(&self) -> Vec<C> {
        let all = self.shared.permits.acquire_many(self.shared.size);
        // Fails if it was closed before, or if a loan lasts too long.
        let waited = tokio::time::timeout(BUSY_TIMEOUT, all).await;
        self.shared.permits.close();
        drop(waited);
        std::mem::take(&mut *self.shared.idle.lock()).into_iter().map(|idle| idle.connection).collect()
    }
}

impl<C> Lent<C> {
    /// `None`: the caller must open one and [`Lent::fill`] it in.
    pub fn connection(&mut self) -> Option<&mut C> {
        self.connection.as_mut()
    }

    pub fn fill(&mut self, connection: C) -> &mut C {
        self.opened = Instant::now();
        self.connection.insert(connection)
    }

    /// Closes the connection; the right to open one stays.
    pub fn empty(&mut self) {
        self.connection = None;
    }

    /// Returns it for the next borrower. The caller guarantees that it has no unfinished statement or
    /// transaction.
    pub fn give_back(mut self) {
        let Some(connection) = self.connection.take() else { return };
        let now = Instant::now();
        if self.shared.permits.is_closed() || now.duration_since(self.opened) > MAX_AGE {
            return;
        }
        let mut idle = self.shared.idle.lock();
        // The first one is the least recently used.
        let is_old = idle.first().is_some_and(|oldest| now.duration_since(oldest.since) > IDLE_TIMEOUT);
        let old = is_old.then(|| idle.remove(0));
        idle.push(Idle { connection, opened: self.opened, since: now });
        drop(idle);
        drop(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_one_given_back_is_lent_first() {
        let pool = Pool::new(2);
        let (mut first, mut second) = (pool.take().await.unwrap(), pool.take().await.unwrap());
        assert!(first.connection().is_none());
        first.fill(1);
        second.fill(2);
        first.give_back();
        second.give_back();
        assert_eq!(pool.take().await.unwrap().connection(), Some(&mut 2));
    }

    #[tokio::test]
    async fn one_that_is_dropped_is_not_lent_again() {
        let pool = Pool::new(1);
        let mut lent = pool.take().await.unwrap();
        lent.fill(1);
        drop(lent);
        assert!(pool.take().await.unwrap().connection().is_none());
    }

    #[tokio::test]
    async fn a_closed_pool_waits_for_loans_and_lends_no_more() {
        let pool = Pool::new(1);
        let mut lent = pool.take().await.unwrap();
        lent.fill(7);
        let closing = tokio::spawn({
            let pool = pool.clone();
            async move { pool.close().await }
        });
        tokio::task::yield_now().await;
        lent.give_back();
        assert_eq!(closing.await.unwrap(), [7]);
        assert!(matches!(pool.take().await, Err(sqlx::Error::PoolClosed)));
    }
}
