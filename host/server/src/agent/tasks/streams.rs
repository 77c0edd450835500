//! The readers of streams on this server: one task follows the change log for all of them and wakes the
//! readers of a task when it has a new step.

use std::collections::HashMap;
use std::sync::Arc;

use lakeport_store::Event;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::agent::Agent;
use crate::agent::{TOPIC, task_of_key};

/// The open streams of this server, by task id.
#[derive(Default)]
pub struct Streams {
    open: Mutex<HashMap<String, watch::Sender<()>>>,
}

/// One reader's end: it learns of a change and then reads the store.
pub struct Watch {
    streams: Arc<Streams>,
    task_id: String,
    /// `None`: being dropped.
    told: Option<watch::Receiver<()>>,
}

impl Streams {
    /// From now on no change of the task is missed.
    pub fn watch(self: &Arc<Streams>, task_id: &str) -> Watch {
        let mut open = self.open.lock();
        let told = open.entry(task_id.to_owned()).or_insert_with(|| watch::Sender::new(())).subscribe();
        Watch { streams: Arc::clone(self), task_id: task_id.to_owned(), told: Some(told) }
    }

    fn tell(&self, event: &Event) {
        let open = self.open.lock();
        match event {
            Event::Changed(key) => {
                if let Some(told) = open.get(task_of_key(key)) {
                    told.send_replace(());
                }
            }
            Event::Everything => open.values().for_each(|told| told.send_replace(())),
        }
    }
}

impl Watch {
    /// Resolves when something has happened since the last call.
    pub async fn changed(&mut self) {
        let Some(told) = &mut self.told else { return };
        if told.changed().await.is_err() {
            // The sender lives as long as this.
            std::future::pending().await
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock();
        // Under the lock: of two that end at once the second must see that the first is gone.
        self.told = None;
        if open.get(&self.task_id).is_some_and(|told| told.receiver_count() == 0) {
            open.remove(&self.task_id);
        }
    }
}

/// Wakes readers until the server stops following changes.
pub async fn follow(state: Arc<Agent>) {
    let mut changed = state.changes.subscribe(TOPIC);
    let streams = state.streams();
    while let Some(event) = changed.next().await {
        streams.tell(&event);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::agent::asked_key;

    #[tokio::test]
    async fn a_step_wakes_the_readers_of_its_task_alone() {
        let streams = Arc::new(Streams::default());
        let (mut one, mut same, mut other) = (streams.watch("a"), streams.watch("a"), streams.watch("b"));
        streams.tell(&Event::Changed("a".into()));
        assert!(one.changed().now_or_never().is_some() && same.changed().now_or_never().is_some());
        assert!(other.changed().now_or_never().is_none());
        streams.tell(&Event::Changed(asked_key("b").into()));
        assert!(other.changed().now_or_never().is_some());
        streams.tell(&Event::Everything);
        assert!(one.changed().now_or_never().is_some() && other.changed().now_or_never().is_some());
    }

    #[tokio::test]
    async fn unread_tasks_keep_no_channel() {
        let streams = Arc::new(Streams::default());
        let (one, same) = (streams.watch("a"), streams.watch("a"));
        drop(one);
        assert_eq!(streams.open.lock().len(), 1);
        drop(same);
        assert!(streams.open.lock().is_empty());
    }
}
