//! The graph around a table, as far as a topic may see it.

use std::collections::{BTreeSet, HashMap};

use lakeport_bindings::host::types::Error as PluginError;
use lakeport_bindings::tool::lineage::{Edge, Graph, GraphRequest, Node};
use lakeport_graph::{Direction, Reached};

use super::{TopicAccess, error, of_store, own};
use crate::workflows::tasks;

/// Tables of one answer, by the contract.
const NODES_MAX: u32 = 2_000;
/// Edges of one answer.
const EDGES_MAX: usize = 20_000;
/// Tasks of one edge, by the contract.
const EDGE_TASKS_MAX: usize = 10;

/// From one table to another, and the tasks that carry it.
struct Link {
    source: i64,
    target: i64,
    tasks: Vec<i64>,
}

impl TopicAccess {
    pub(super) async fn graph(&self, request: &GraphRequest) -> Result<Graph, PluginError> {
        let direction = match request.direction.as_str() {
            "upstream" => Direction::Upstream,
            "downstream" => Direction::Downstream,
            "both" => Direction::Both,
            other => {
                let message = format!("the direction is upstream, downstream or both, not `{other}`");
                return Err(error("invalid_input", message));
            }
        };
        let sources = self.sources().await?;
        if let Some(table) = own::find(request.table).filter(|_| sources.own().is_some()) {
            let node = Node { table: table.head(), distance: 0 };
            return Ok(Graph { nodes: vec![node], edges: Vec::new(), omitted_nodes: 0 });
        }
        self.state.catalog.caught_up().await.map_err(of_store)?;
        self.state.graph.caught_up().await.map_err(of_store)?;
        let (nodes, links, omitted_nodes) = self.part(request, direction).await?;
        let ids: BTreeSet<i64> = links.iter().flat_map(|link| link.tasks.iter().copied()).collect();
        let ids: Vec<i64> = ids.into_iter().collect();
        let names = tasks::names(&self.state.db, &ids).await.map_err(of_store)?;
        let edges = links.into_iter().map(|link| edge(link, &names)).collect();
        Ok(Graph { nodes, edges, omitted_nodes })
    }

    async fn part(
        &self,
        request: &GraphRequest,
        direction: Direction,
    ) -> Result<(Vec<Node>, Vec<Link>, u32), PluginError> {
        let sources = self.sources().await?;
        let (index, graph) = (self.state.catalog.read(), self.state.graph.read());
        let entry = |id: i64| index.get(id).filter(|entry| sources.sees(entry));
        let first = i64::try_from(request.table).ok().filter(|id| entry(*id).is_some());
        let first =
            first.ok_or_else(|| error("not_found", format!("there is no table {} here", request.table)))?;
        let seen: Vec<Node> = graph
            .walk(first, direction, request.depth)
            .into_iter()
            .filter_map(|Reached { id, distance }| {
                let distance = i32::try_from(distance).ok()?;
                entry(id).map(|entry| Node { table: sources.head(entry), distance })
            })
            .collect();
        let most = if request.max_nodes == 0 { NODES_MAX } else { request.max_nodes.min(NODES_MAX) } as usize;
        let omitted = u32::try_from(seen.len().saturating_sub(most)).unwrap_or(u32::MAX);
        let nodes: Vec<Node> = seen.into_iter().take(most).collect();
        let ids = nodes.iter().filter_map(|node| i64::try_from(node.table.id).ok());
        let link = |edge: lakeport_graph::Edge<'_>| Link {
            source: edge.source,
            target: edge.target,
            tasks: edge.tasks.iter().take(EDGE_TASKS_MAX).copied().collect(),
        };
        let links = graph.among(ids).edges().take(EDGES_MAX).map(link).collect();
        Ok((nodes, links, omitted))
    }
}

fn edge(link: Link, names: &HashMap<i64, String>) -> Edge {
    Edge {
        source: link.source.unsigned_abs(),
        target: link.target.unsigned_abs(),
        tasks: link.tasks.iter().filter_map(|id| names.get(id).cloned()).collect(),
    }
}
