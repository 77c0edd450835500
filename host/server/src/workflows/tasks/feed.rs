//! Feeds tasks into the lineage graph in memory: a task makes its outputs from its inputs.

use lakeport_base::Error;
use lakeport_graph::Graph;
use lakeport_store::{Db, Feed, Followed};

use super::{Binding, TOPIC, store};

/// Tasks that are read from the store at once.
const PAGE: i64 = 2_000;

/// The lineage graph in memory, which follows the store.
pub type LineageGraph = Followed<BindingFeed>;

pub struct BindingFeed;

impl Feed for BindingFeed {
    type Value = Graph;
    type Row = Binding;
    const TOPIC: &'static str = TOPIC;

    async fn rows_after(db: &Db, after: i64) -> Result<Vec<Binding>, Error> {
        store::bindings_after(db, after, PAGE).await
    }

    async fn rows_of(db: &Db, ids: &[i64]) -> Result<Vec<Binding>, Error> {
        store::bindings_of(db, ids).await
    }

    fn id_of(binding: &Binding) -> i64 {
        binding.task_id
    }

    fn put(graph: &mut Graph, binding: Binding) {
        if binding.inputs.is_empty() && binding.outputs.is_empty() {
            graph.remove_task(binding.task_id);
        } else {
            graph.set_task(binding.task_id, &binding.inputs, &binding.outputs);
        }
    }

    fn remove(graph: &mut Graph, task_id: i64) {
        graph.remove_task(task_id);
    }
}
