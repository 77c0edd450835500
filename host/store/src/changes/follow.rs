//! The task that follows the log, and the signals that wake it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;

use lakeport_base::Error;
use parking_lot::Mutex;
use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::{Notify, watch};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::number_of;
use super::subscription::{Queue, Subscription};
use crate::{Db, Store};

/// Changes that are read at once; the statement has the same number.
const BATCH: usize = 1_000;
/// The newest entries of the log that are kept in memory.
const RECENT_MAX: usize = 4_096;
/// PostgreSQL's channel for notifications.
const CHANNEL: &str = "lakeport_changes";
/// The pause after the notification connection was lost.
const RECONNECT: Duration = Duration::from_secs(1);

/// The intervals of a follower.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// For changes without a notification.
    pub poll: Duration,
    /// Between two notifications: many commits share one.
    pub hint: Duration,
    /// Between two reads of the log: many commits share one. A reader that waits does not wait for this.
    pub read: Duration,
}

const PACE: Pace = Pace {
    poll: Duration::from_millis(500),
    hint: Duration::from_millis(20),
    read: Duration::from_millis(5),
};

/// A server's position in the log. Clones share it; dropping the last one ends its tasks.
#[derive(Clone)]
pub struct Changes {
    shared: Arc<Shared>,
    /// The number of this process's newest commit.
    own: watch::Receiver<i64>,
    tasks: TaskTracker,
    stop: CancellationToken,
    _stop_with_the_last: Arc<DropGuard>,
}

/// An entry of the log.
#[derive(Debug, Clone)]
pub struct Change {
    pub number: i64,
    pub topic: Arc<str>,
    pub key: Arc<str>,
}

/// Topics, and the queues of their subscribers.
type Subscribers = Vec<(&'static str, Weak<Queue>)>;

struct Shared {
    /// `None`: the follower has ended.
    subscribers: Mutex<Option<Subscribers>>,
    /// The number up to which all subscribers were notified.
    seen: watch::Sender<i64>,
    /// The newest entries, without gaps.
    recent: Mutex<VecDeque<Change>>,
    /// A reader waits for newer changes.
    ask: Notify,
}

impl Changes {
    /// Follows the log from now on. Data loaded after this misses no change if it was subscribed to before.
    pub async fn follow(db: &Db) -> Result<Changes, Error> {
        Changes::follow_at(db, PACE).await
    }

    pub(super) async fn follow_at(db: &Db, pace: Pace) -> Result<Changes, Error> {
        let position = number_of(&db.read("SELECT number FROM change_counter WHERE id = 1", &[]).await?)?;
        let shared = Arc::new(Shared {
            subscribers: Mutex::new(Some(Vec::new())),
            seen: watch::Sender::new(position),
            recent: Mutex::default(),
            ask: Notify::new(),
        });
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let follower = Follower { db: db.clone(), shared: Arc::clone(&shared), position };
        tasks.spawn(stop.clone().run_until_cancelled_owned(follower.run(pace, db.signal.newest.subscribe())));
        if let Store::Postgres(postgres) = &db.store {
            let hints = send_hints(db.clone(), db.signal.newest.subscribe(), pace.hint);
            tasks.spawn(stop.clone().run_until_cancelled_owned(hints));
            let heard = hear_hints(postgres.listener.clone(), Arc::clone(&shared));
            tasks.spawn(stop.clone().run_until_cancelled_owned(heard));
        }
        tasks.close();
        let own = db.signal.newest.subscribe();
        Ok(Changes { shared, own, tasks, _stop_with_the_last: Arc::new(stop.clone().drop_guard()), stop })
    }

    /// Changes of a topic that are committed from now on.
    pub fn subscribe(&self, topic: &'static str) -> Subscription {
        self.subscribe_all(&[topic])
    }

    /// Changes of these topics: an event does not say of which.
    pub fn subscribe_all(&self, topics: &[&'static str]) -> Subscription {
        let queue = Arc::new(Queue::default());
        match &mut *self.shared.subscribers.lock() {
            Some(subscribers) => {
                subscribers.extend(topics.iter().map(|topic| (*topic, Arc::downgrade(&queue))));
            }
            None => queue.end(),
        }
        Subscription { queue }
    }

    /// The number up to which all subscribers were notified.
    pub fn seen(&self) -> i64 {
        *self.shared.seen.borrow()
    }

    /// The first entries after this number, at most as many, up to `newest`. `None`: they are not all in memory, only in the
    /// log.
    pub fn recent(&self, after: i64, newest: i64, at_most: usize) -> Option<Vec<Change>> {
        let recent = self.shared.recent.lock();
        let oldest = recent.front()?.number;
        let from = usize::try_from(after + 1 - oldest).ok()?;
        let until = usize::try_from(newest + 1 - oldest).ok()?.min(recent.len()).min(from + at_most);
        (from < until).then(|| recent.range(from..until).cloned().collect())
    }

    /// The number of this server's newest change; 0: none.
    pub(super) fn own_newest(&self) -> i64 {
        *self.own.borrow()
    }

    /// Follows the number up to which subscribers were notified.
    pub fn follow_seen(&self) -> watch::Receiver<i64> {
        self.shared.seen.subscribe()
    }

    /// Has the log read without a pause.
    pub(super) fn ask(&self) {
        self.shared.ask.notify_one();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Waits until the subscribers were notified of this change; 503 `stale_replica` if that takes too long.
    pub async fn wait_for(&self, number: i64, timeout: Duration) -> Result<(), Error> {
        let mut seen = self.shared.seen.subscribe();
        self.ask();
        match tokio::time::timeout(timeout, seen.wait_for(|seen| *seen >= number)).await {
            Ok(_) => Ok(()),
            Err(_) => {
                let message = format!("this server has not seen change {number} yet; try again");
                Err(Error::unavailable("stale_replica", message).retry_after(1))
            }
        }
    }

    /// Ends the tasks and waits for them: subscriptions end, and all connections are returned.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}

impl Shared {
    /// Calls `tell` with each living subscriber's topic and queue.
    fn each(&self, mut tell: impl FnMut(&'static str, &Queue)) {
        if let Some(subscribers) = &mut *self.subscribers.lock() {
            subscribers.retain(|(topic, queue)| {
                let Some(queue) = queue.upgrade() else { return false };
                tell(topic, &queue);
                true
            });
        }
    }
}

/// The task that reads the log. It ends with the last [`Changes`], and all subscriptions end with it.
struct Follower {
    db: Db,
    shared: Arc<Shared>,
    position: i64,
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.shared.each(|_, queue| queue.end());
        *self.shared.subscribers.lock() = None;
    }
}

struct Batch {
    /// The counter's value at the time of this read.
    newest: i64,
    /// Number, topic, key.
    changes: Vec<(i64, String, String)>,
}

impl Follower {
    async fn run(mut self, pace: Pace, mut newest: watch::Receiver<i64>) {
        let mut poll = interval(pace.poll);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_read = true;
        let mut is_asked = false;
        loop {
            if !is_asked {
                tokio::select! {
                    _ = poll.tick() => {}
                    Ok(()) = newest.changed() => {}
                    () = self.shared.ask.notified() => {}
                }
            }
            let outcome = self.catch_up().await;
            match &outcome {
                Err(error) if is_read => tracing::warn!("the change log cannot be read: {error}"),
                Ok(()) if !is_read => tracing::info!("the change log is read again"),
                _ => {}
            }
            is_read = outcome.is_ok();
            is_asked = tokio::time::timeout(pace.read, self.shared.ask.notified()).await.is_ok();
        }
    }

    async fn catch_up(&mut self) -> Result<(), Error> {
        loop {
            let batch = self.read().await?;
            let is_full = batch.changes.len() == BATCH;
            self.tell(batch);
            if !is_full {
                return Ok(());
            }
        }
    }

    /// Counter and changes by one statement, so that they are consistent.
    async fn read(&self) -> Result<Batch, Error> {
        const READ: &str = "SELECT c.number, l.number, l.topic, l.key FROM change_counter c LEFT JOIN \
            (SELECT number, topic, key FROM changes WHERE number > $1 ORDER BY number LIMIT 1000) l ON true \
            ORDER BY l.number";
        let rows = self.db.read(READ, &[self.position.into()]).await?;
        let newest = number_of(&rows)?;
        let mut changes = Vec::with_capacity(rows.len());
        for row in &rows {
            if let Some(number) = row.get::<Option<i64>>(1)? {
                changes.push((number, row.get(2)?, row.get(3)?));
            }
        }
        Ok(Batch { newest, changes })
    }

    fn tell(&mut self, batch: Batch) {
        match batch.changes.first() {
            None if batch.newest == self.position => return,
            Some((number, ..)) if *number == self.position + 1 => {}
            // The next changes were purged before they were read, or the store was replaced by another one.
            _ => {
                self.shared.recent.lock().clear();
                self.shared.each(|_, queue| queue.push_everything());
                return self.has_told(batch.newest);
            }
        }
        let mut told = self.position;
        for (number, topic, key) in batch.changes {
            let key: Arc<str> = Arc::from(key);
            self.shared.each(|of, queue| {
                if of == topic {
                    queue.push(&key);
                }
            });
            let mut recent = self.shared.recent.lock();
            if recent.len() == RECENT_MAX {
                recent.pop_front();
            }
            recent.push_back(Change { number, topic: Arc::from(topic), key });
            told = number;
        }
        self.has_told(told);
    }

    fn has_told(&mut self, number: i64) {
        self.position = number;
        self.shared.seen.send_replace(number);
    }
}

/// Notifies other servers of this one's commits.
async fn send_hints(db: Db, mut newest: watch::Receiver<i64>, pause: Duration) {
    while newest.changed().await.is_ok() {
        const HINT: &str = "SELECT pg_notify($1, '') IS NULL";
        if let Err(error) = db.read(HINT, &[CHANNEL.into()]).await {
            tracing::debug!("no hint of a change is sent, others find it by themselves: {error}");
        }
        tokio::time::sleep(pause).await;
    }
}

/// Listens for other servers' notifications.
async fn hear_hints(pool: PgPool, shared: Arc<Shared>) {
    while !pool.is_closed() {
        let Err(error) = hear(&pool, &shared).await;
        tracing::debug!("no hints of changes are heard for now: {error}");
        tokio::time::sleep(RECONNECT).await;
    }
}

async fn hear(pool: &PgPool, shared: &Shared) -> Result<Infallible, sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    loop {
        shared.ask.notify_one();
        listener.recv().await?;
    }
}
