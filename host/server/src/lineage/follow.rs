//! The graph in memory, fed by what tasks are bound to.

use std::collections::HashSet;

use lakeport_graph::Graph;
use parking_lot::{RwLock, RwLockReadGuard};

use crate::db::{Applied, Changes, Db, Event, Follows, Subscription};
use crate::error::Error;
use crate::tasks::{self, Binding};

/// Tasks that are read from the store in one go.
const PAGE: i64 = 2_000;

/// The graph, and how far it follows the store.
pub struct Lineage {
    db: Db,
    graph: RwLock<Graph>,
    applied: Applied,
}

impl Lineage {
    /// Reads what all tasks are bound to; what is changed from here on waits in the subscription.
    pub async fn open(db: &Db, changes: &Changes) -> Result<(Lineage, Subscription), Error> {
        let subscription = changes.subscribe(tasks::TOPIC);
        let applied = Applied::up_to(changes.seen());
        let lineage = Lineage { db: db.clone(), graph: RwLock::default(), applied };
        lineage.reload().await?;
        Ok((lineage, subscription))
    }

    /// The graph as it stands. The guard must not be held over an await.
    pub fn read(&self) -> RwLockReadGuard<'_, Graph> {
        self.graph.read()
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
        let mut graph = Graph::default();
        let mut after = 0;
        loop {
            let bindings = tasks::bindings_after(&self.db, after, PAGE).await?;
            let Some(last) = bindings.last() else { break };
            after = last.task_id;
            bindings.iter().for_each(|binding| put(&mut graph, binding));
        }
        *self.graph.write() = graph;
        Ok(())
    }
}

fn put(graph: &mut Graph, binding: &Binding) {
    if binding.inputs.is_empty() && binding.outputs.is_empty() {
        graph.remove_task(binding.task_id);
    } else {
        graph.set_task(binding.task_id, &binding.inputs, &binding.outputs);
    }
}

impl Follows for Lineage {
    async fn apply(&self, events: &[Event]) -> Result<(), Error> {
        let mut ids = Vec::with_capacity(events.len());
        for event in events {
            match event {
                Event::Changed(key) => ids.extend(key.parse::<i64>().ok()),
                Event::Everything => return self.reload().await,
            }
        }
        let bindings = tasks::bindings_of(&self.db, &ids).await?;
        let mut gone: HashSet<i64> = ids.into_iter().collect();
        let mut graph = self.graph.write();
        for binding in &bindings {
            gone.remove(&binding.task_id);
            put(&mut graph, binding);
        }
        gone.into_iter().for_each(|id| graph.remove_task(id));
        Ok(())
    }
}
