//! Places for work that takes long: a caller has half of them, so that others need not wait for all of theirs.

use std::collections::BTreeMap;
use std::sync::Arc;

use lakeport_base::Error;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

pub struct Places {
    all: Semaphore,
    of_one: usize,
    /// Of each caller who has one or waits for one.
    callers: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

/// A place, until it is dropped.
pub struct Place {
    _of_all: SemaphorePermit<'static>,
    _of_caller: OwnedSemaphorePermit,
}

impl Places {
    pub const fn new(count: usize) -> Places {
        Places {
            all: Semaphore::const_new(count),
            of_one: count.div_ceil(2),
            callers: Mutex::new(BTreeMap::new()),
        }
    }

    /// Waits for a place of the caller's, then for one of all.
    pub async fn take(&'static self, caller: &str) -> Result<Place, Error> {
        let own = {
            let mut callers = self.callers.lock();
            callers.retain(|_, own| Arc::strong_count(own) > 1);
            let own = callers.entry(caller.to_owned());
            Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(self.of_one))))
        };
        let of_caller = own.acquire_owned().await.map_err(Error::internal)?;
        let of_all = self.all.acquire().await.map_err(Error::internal)?;
        Ok(Place { _of_all: of_all, _of_caller: of_caller })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::poll_immediate;

    use super::*;

    #[tokio::test]
    async fn a_caller_leaves_half_of_the_places_to_others() {
        static PLACES: Places = Places::new(4);
        let _taken = (PLACES.take("ann").await.unwrap(), PLACES.take("ann").await.unwrap());
        assert!(poll_immediate(Box::pin(PLACES.take("ann"))).await.is_none());
        let of_bob = PLACES.take("bob").await.unwrap();
        drop(of_bob);
        assert_eq!(PLACES.callers.lock().len(), 2);
        drop(_taken);
        let _again = PLACES.take("ann").await.unwrap();
        assert_eq!(PLACES.callers.lock().len(), 1);
    }
}
