//! The catalogue in memory: one index of the tables' names, comments and filter columns, and of what a search finds.
//!
//! The list's keyword search, the lineage and the agent read it instead of the store. It is fed by the change log
//! alone, so that every server on one store has it; a reader that must see its own writes waits for them with
//! [`Catalog::caught_up`]. What a table is made of in detail stands in the store.

mod facts;
mod index;
mod names;
mod orders;
mod page;
mod said;
mod search;

use std::collections::HashSet;

use parking_lot::{RwLock, RwLockReadGuard};

use crate::db::{Applied, Changes, Db, Event, Follows, Subscription};
use crate::error::Error;
use crate::tables;
pub use index::{Entry, Index};
pub use orders::{Order, SortBy};
pub use page::Filter;
pub use said::{FIELD_SAID_MAX_CHARS, FIELDS_MAX, SAID_MAX_CHARS, Texts, plain};
pub use search::{Hit, split};

/// Tables that are read from the store in one go.
const PAGE: i64 = 500;

/// The index, and how far it follows the store.
pub struct Catalog {
    db: Db,
    index: RwLock<Index>,
    applied: Applied,
}

impl Catalog {
    /// Reads all tables; what is changed from here on waits in the subscription.
    pub async fn open(db: &Db, changes: &Changes) -> Result<(Catalog, Subscription), Error> {
        let subscription = changes.subscribe(tables::TOPIC);
        let applied = Applied::up_to(changes.seen());
        let catalog = Catalog { db: db.clone(), index: RwLock::default(), applied };
        catalog.reload().await?;
        Ok((catalog, subscription))
    }

    /// The index as it stands. The guard must not be held over an await.
    pub fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read()
    }

    /// Waits until it includes what this server has committed so far.
    pub async fn caught_up(&self, changes: &Changes) -> Result<(), Error> {
        self.applied.caught_up(changes).await
    }

    /// Follows the store until the server stops.
    pub async fn follow(&self, changes: &Changes, subscription: Subscription) {
        self.applied.follow(changes, subscription, self).await;
    }

    /// Builds it anew beside the one that answers, and puts it in its place.
    async fn reload(&self) -> Result<(), Error> {
        let mut index = Index::default();
        let mut after = 0;
        loop {
            let entries = tables::entries_after(&self.db, after, PAGE).await?;
            let Some((last, _)) = entries.last() else { break };
            after = last.id;
            for (entry, texts) in entries {
                index.put(entry, &texts);
            }
        }
        *self.index.write() = index;
        Ok(())
    }
}

impl Follows for Catalog {
    async fn apply(&self, events: &[Event]) -> Result<(), Error> {
        let mut ids = Vec::with_capacity(events.len());
        for event in events {
            match event {
                Event::Changed(key) => ids.extend(key.parse::<i64>().ok()),
                Event::Everything => return self.reload().await,
            }
        }
        let entries = tables::entries_of(&self.db, &ids).await?;
        let found: HashSet<i64> = entries.iter().map(|(entry, _)| entry.id).collect();
        let mut index = self.index.write();
        for gone in ids.iter().filter(|id| !found.contains(id)) {
            index.remove(*gone);
        }
        for (entry, texts) in entries {
            index.put(entry, &texts);
        }
        Ok(())
    }
}
