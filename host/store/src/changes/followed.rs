//! A value in memory that follows a topic of the change log, so that every server on one store has it.

use std::collections::HashSet;

use lakeport_base::Error;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use super::{Applied, Changes, Event, Follows, Subscription};
use crate::Db;

/// How a module feeds a value in memory from its own rows. The keys of its topic are ids.
pub trait Feed: Send + Sync + 'static {
    /// What stands in memory.
    type Value: Default + Send + Sync;
    /// One row of the store, as the value takes it in.
    type Row: Send;
    /// The topic whose changes are followed.
    const TOPIC: &'static str;

    /// At most one page of rows with ids beyond `after`, in the order of their ids.
    fn rows_after(db: &Db, after: i64) -> impl Future<Output = Result<Vec<Self::Row>, Error>> + Send;
    /// The rows of these ids; those that are gone are left out.
    fn rows_of(db: &Db, ids: &[i64]) -> impl Future<Output = Result<Vec<Self::Row>, Error>> + Send;
    fn id_of(row: &Self::Row) -> i64;
    fn put(value: &mut Self::Value, row: Self::Row);
    fn remove(value: &mut Self::Value, id: i64);
}

/// A value in memory, and how far it follows the store.
///
/// It is fed by the change log alone; a reader that must see its own writes waits for them with
/// [`Followed::caught_up`].
pub struct Followed<F: Feed> {
    db: Db,
    changes: Changes,
    value: RwLock<F::Value>,
    applied: Applied,
    /// Taken by [`Followed::follow`].
    subscription: Mutex<Option<Subscription>>,
}

impl<F: Feed> Followed<F> {
    /// Reads all rows; what is changed from here on waits until [`Followed::follow`] is called.
    pub async fn open(db: &Db, changes: &Changes) -> Result<Followed<F>, Error> {
        let subscription = changes.subscribe(F::TOPIC);
        let followed = Followed {
            db: db.clone(),
            changes: changes.clone(),
            value: RwLock::default(),
            applied: Applied::up_to(changes.seen()),
            subscription: Mutex::new(Some(subscription)),
        };
        followed.reload().await?;
        Ok(followed)
    }

    /// The value as it stands. The guard must not be held over an await.
    pub fn read(&self) -> RwLockReadGuard<'_, F::Value> {
        self.value.read()
    }

    /// Waits until it includes what this server has committed so far.
    pub async fn caught_up(&self) -> Result<(), Error> {
        self.applied.caught_up(&self.changes).await
    }

    /// Follows the store until the server stops; for one worker.
    pub async fn follow(&self) {
        let subscription = self.subscription.lock().take();
        if let Some(subscription) = subscription {
            self.applied.follow(&self.changes, subscription, self).await;
        }
    }

    /// Builds the value a second time beside the one that answers, and puts it in its place.
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
        Ok(())
    }
}
