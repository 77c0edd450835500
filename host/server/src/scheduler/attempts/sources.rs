//! The data sources of tasks, in memory until they change.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt;
use lakeport_base::Error;
use lakeport_store::{Event, Subscription};
use parking_lot::Mutex;

use crate::datasources::{self, Datasource};
use crate::scheduler::Scheduler;

/// The most that are kept.
const KEPT_MAX: usize = 200;

pub struct Sources(Mutex<Kept>);

struct Kept {
    known: HashMap<i64, Arc<Datasource>>,
    changed: Subscription,
    /// The number of changes that were noted.
    changes: u64,
}

impl Sources {
    pub fn new(state: &Scheduler) -> Sources {
        let changed = state.changes.subscribe(datasources::TOPIC);
        Sources(Mutex::new(Kept { known: HashMap::new(), changed, changes: 0 }))
    }

    /// `None`: it is not there.
    pub async fn find(&self, state: &Scheduler, id: i64) -> Result<Option<Arc<Datasource>>, Error> {
        let before = {
            let mut kept = self.0.lock();
            kept.note();
            if let Some(known) = kept.known.get(&id) {
                return Ok(Some(Arc::clone(known)));
            }
            kept.changes
        };
        let Some(found) = datasources::find(&state.db, id).await?.map(Arc::new) else { return Ok(None) };
        let mut kept = self.0.lock();
        kept.note();
        // A change that was noted meanwhile may be one that the answer does not have.
        if kept.changes == before {
            if kept.known.len() >= KEPT_MAX {
                kept.known.clear();
            }
            kept.known.insert(id, Arc::clone(&found));
        }
        Ok(Some(found))
    }
}

impl Kept {
    fn note(&mut self) {
        while let Some(Some(event)) = self.changed.next().now_or_never() {
            self.changes += 1;
            match event {
                Event::Changed(key) => {
                    if let Ok(id) = key.parse() {
                        self.known.remove::<i64>(&id);
                    }
                }
                Event::Everything => self.known.clear(),
            }
        }
    }
}
