//! The events for a subscriber, and its bounded queue.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::EVERY_KEY;

/// The most changes that wait for one subscriber. A slower one must reload everything.
pub(super) const QUEUE: usize = 1_024;

/// An event for a subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Reload this key.
    Changed(Arc<str>),
    /// Reload the complete topic.
    Everything,
}

/// A subscriber's end. Dropping it ends the subscription.
pub struct Subscription {
    pub(super) queue: Arc<Queue>,
}

#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    filled: Notify,
}

#[derive(Default)]
struct Waiting {
    keys: VecDeque<Arc<str>>,
    everything: bool,
    ended: bool,
}

impl Subscription {
    /// The next change; `None` when the server stops following. A key that changed repeatedly before it was
    /// taken comes once.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            {
                let mut waiting = self.queue.waiting.lock();
                if std::mem::take(&mut waiting.everything) {
                    return Some(Event::Everything);
                }
                if let Some(key) = waiting.keys.pop_front() {
                    return Some(Event::Changed(key));
                }
                if waiting.ended {
                    return None;
                }
            }
            self.queue.filled.notified().await;
        }
    }

    /// All waiting events, possibly none; `None` once the server stops following.
    pub(super) fn take(&mut self) -> Option<Vec<Event>> {
        let mut waiting = self.queue.waiting.lock();
        if std::mem::take(&mut waiting.everything) {
            return Some(vec![Event::Everything]);
        }
        let events: Vec<Event> = waiting.keys.drain(..).map(Event::Changed).collect();
        (!waiting.ended || !events.is_empty()).then_some(events)
    }

    /// Resolves when an event arrives, and always after the end: one notice may be of both.
    pub(super) async fn filled(&self) {
        if !self.queue.waiting.lock().ended {
            self.queue.filled.notified().await;
        }
    }
}

impl Queue {
    pub(super) fn push(&self, key: &Arc<str>) {
        let mut waiting = self.waiting.lock();
        if waiting.everything || waiting.keys.contains(key) {
            return;
        }
        if &**key == EVERY_KEY || waiting.keys.len() == QUEUE {
            waiting.keys.clear();
            waiting.everything = true;
        } else {
            waiting.keys.push_back(Arc::clone(key));
        }
        self.filled.notify_one();
    }

    pub(super) fn push_everything(&self) {
        self.push(&Arc::from(EVERY_KEY));
    }

    pub(super) fn end(&self) {
        self.waiting.lock().ended = true;
        self.filled.notify_one();
    }
}
