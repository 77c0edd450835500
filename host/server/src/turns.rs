//! Turns: requests of this server that change the same resource go one after the other, in the order of their
//! arrival. A change that looks things up before its transaction would otherwise find, again and again, that
//! another one came in between.
//!
//! Turns save work; they protect nothing: other servers do not know them. A change locks its rows and compares them
//! as ever, and starts over if they were changed.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Mutex as Queue, OwnedMutexGuard};

/// How often a change is prepared again because another writer interfered. Each time, that other one has made
/// progress; with turns, only other servers and rare kinds of changes interfere.
pub const TRIES: usize = 100;

/// A resource: its kind and its id.
type Key = (&'static str, i64);

/// The queues of a server; one for each resource that is being changed.
#[derive(Clone, Default)]
pub struct Turns(Arc<Mutex<HashMap<Key, Arc<Queue<()>>>>>);

/// The turn of one request; dropping it lets the next one go on.
pub struct Turn {
    turns: Turns,
    key: Key,
    /// `None`: it was dropped.
    queue: Option<Arc<Queue<()>>>,
    /// `None`: it still waits.
    held: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    /// Waits until all earlier requests for this resource are done. The request's deadline ends the wait.
    pub async fn take(&self, kind: &'static str, id: i64) -> Turn {
        let key = (kind, id);
        let queue = Arc::clone(self.0.lock().entry(key).or_default());
        // Made before the wait, so that a request that gives up leaves no queue behind.
        let mut turn = Turn { turns: self.clone(), key, queue: Some(Arc::clone(&queue)), held: None };
        turn.held = Some(queue.lock_owned().await);
        turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.held = None;
        let mut queues = self.turns.0.lock();
        // References come and go only under the map's lock.
        self.queue = None;
        if queues.get(&self.key).is_some_and(|queue| Arc::strong_count(queue) == 1) {
            queues.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::poll_immediate;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn requests_go_in_order_of_arrival() {
        let turns = Turns::default();
        let first = turns.take("task", 1).await;
        let (mut second, mut third) = (Box::pin(turns.take("task", 1)), Box::pin(turns.take("task", 1)));
        assert!(poll_immediate(second.as_mut()).await.is_none());
        assert!(poll_immediate(third.as_mut()).await.is_none());
        drop(first);
        assert!(poll_immediate(third.as_mut()).await.is_none());
        let second = poll_immediate(second.as_mut()).await.expect("it is its turn");
        drop(second);
        assert!(poll_immediate(third.as_mut()).await.is_some());
    }

    #[tokio::test]
    async fn other_resources_do_not_wait() {
        let turns = Turns::default();
        let _first = turns.take("task", 1).await;
        assert!(poll_immediate(Box::pin(turns.take("task", 2))).await.is_some());
        assert!(poll_immediate(Box::pin(turns.take("table", 1))).await.is_some());
    }

    #[tokio::test]
    async fn no_queue_is_left_behind() {
        let turns = Turns::default();
        let first = turns.take("task", 1).await;
        assert!(timeout(Duration::from_millis(1), turns.take("task", 1)).await.is_err());
        assert_eq!(turns.0.lock().len(), 1);
        drop(first);
        assert!(turns.0.lock().is_empty());
    }
}
