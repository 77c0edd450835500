//! A value in memory that follows a topic of the change log, on every server of a store.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use lakeport_base::Error;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use super::{Applied, Changes, Event, Follows, Subscription};
use crate::Db;

/// Feeds a value in memory from a module's rows. The keys of its topic are ids.
pub trait Feed: Send + Sync + 'static {
    /// The value.
    type Value: Default + Send + Sync;
    /// One row of the store, in the value's form.
    type Row: Send;
    /// The followed topic.
    const TOPIC: &'static str;

    /// One page of rows with ids beyond `after`, ordered by id.
    fn rows_after(db: &Db, after: i64) -> impl Future<Output = Result<Vec<Self::Row>, Error>> + Send;
    /// The rows with these ids, as far as they exist.
    fn rows_of(db: &Db, ids: &[i64]) -> impl Future<Output = Result<Vec<Self::Row>, Error>> + Send;
    fn id_of(row: &Self::Row) -> i64;
    fn put(value: &mut Self::Value, row: Self::Row);
    fn remove(value: &mut Self::Value, id: i64);
}

/// A value in memory, and its position in the change log.
///
/// Only the change log feeds it; a reader that must see its own writes waits with [`Followed::caught_up`].
pub struct Followed<F: Feed> {
    db: Db,
    changes: Changes,
    value: RwLock<F::Value>,
    /// See [`Followed::version`].
    version: AtomicU64,
    applied: Applied,
    /// Taken by [`Followed::follow`].
    subscription: Mutex<Option<Subscription>>,
}

impl<F: Feed> Followed<F> {
    /// Reads all rows; later changes wait until [`Followed::follow`] is called.
    pub async fn open(db: &Db, changes: &Changes) -> Result<Followed<F>, Error> {
        let subscription = changes.subscribe(F::TOPIC);
        let followed = Followed {
            db: db.clone(),
            changes: changes.clone(),
            value: RwLock::default(),
            version: AtomicU64::new(0),
            applied: Applied::up_to(changes.seen()),
            subscription: Mutex::new(Some(subscription)),
        };
        followed.reload().await?;
        Ok(followed)
    }

    /// The current value. Do not hold the guard over an await.
    pub fn read(&self) -> RwLockReadGuard<'_, F::Value> {
        self.value.read()
    }

    /// The number of changes that the value has taken in. What is derived from the value is current while it stays the same,
    /// if it was read before the value.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Waits until this server's commits so far are applied.
    pub async fn caught_up(&self) -> Result<(), Error> {
        self.applied.caught_up(&self.changes).await
    }

    /// Follows the store until the server stops; call it in one worker.
    pub async fn follow(&self) {
        let subscription = self.subscription.lock().take();
        if let Some(subscription) = subscription {
            self.applied.follow(&self.changes, subscription, self).await;
        }
    }

    /// Builds a second value and replaces the current one with it.
    async fn reload(&self) -> Result<(), Error> {
        let mut value = F::Value::default();
        let mut after = i64::MIN;
        loop {
            let rows = F::rows_after(&self.db, after).await?;
            let Some(last) = rows.last() else { break };
            after = F::id_of(last);
            rows.into_iter().for_each(|row| F::put(&mut value, row));
        }
        *self.value.write() = value;
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
    }
}

impl<F: Feed> Follows for Followed<F> {
    async fn apply(&self, events: &[Event]) -> Result<(), Error> {
        let mut ids = Vec::with_capacity(events.len());
        for event in events {
            match event {
                Event::Changed(key) => ids.extend(key.parse::<i64>().ok()),
                Event::Everything => return self.reload().await,
            }
        }
        let rows = F::rows_of(&self.db, &ids).await?;
        let mut gone: HashSet<i64> = ids.into_iter().collect();
        let mut value = self.value.write();
        for row in rows {
            gone.remove(&F::id_of(&row));
            F::put(&mut value, row);
        }
        gone.into_iter().for_each(|id| F::remove(&mut value, id));
        drop(value);
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
    }
}
