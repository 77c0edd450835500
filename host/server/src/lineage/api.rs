//! Handlers of the lineage, and their views of the graph.

use std::collections::HashMap;

use lakeport_base::Error;
use lakeport_base::text::shortened;
use lakeport_catalog::{Entry, Index};
use lakeport_graph::{Among, Edge, Graph, Reached};
use lakeport_http::{Caller, Data, Nothing};
use schemars::JsonSchema;
use serde::Serialize;

use super::forms::{Direction, GraphQuery};
use crate::datasources;
use crate::lineage::{Call, Lineage};

/// The most edges of an answer.
const EDGES_MAX: usize = 100_000;
/// The most tasks of an edge.
const EDGE_TASKS_MAX: usize = 100;
/// Longer comments are cut, in characters: thousands of nodes have one each.
const COMMENT_MAX_CHARS: usize = 500;

/// Tables and the edges between them.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LineageGraph")]
pub struct GraphView {
    /// Nearest first.
    nodes: Vec<NodeView>,
    /// Between returned tables.
    edges: Vec<EdgeView>,
    /// There are more than `maxNodes`.
    truncated: bool,
    /// The nodes that are not returned: beyond the limit, and in data sources that the caller may not read.
    omitted: Omitted,
}

/// A table.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LineageNode")]
pub struct NodeView {
    id: String,
    table_name: Box<str>,
    layer: Option<Box<str>>,
    db_name: Box<str>,
    cluster_id: Option<i64>,
    /// Its first 500 characters; `…` marks a cut.
    table_comment: Option<Box<str>>,
    business_domain: Option<Box<str>>,
    data_domain: Option<Box<str>>,
    /// Steps from the requested table, upstream negative; null without one.
    distance: Option<i64>,
}

/// From a table to one that is made from it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LineageEdge")]
pub struct EdgeView {
    source: String,
    target: String,
    /// The first 100.
    task_ids: Vec<i64>,
    /// The number of all tasks.
    task_count: usize,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LineageOmitted")]
pub struct Omitted {
    nodes: usize,
    edges: usize,
}

impl NodeView {
    fn new(entry: &Entry, distance: Option<i64>) -> NodeView {
        NodeView {
            id: entry.id.to_string(),
            table_name: entry.table_name.clone(),
            layer: entry.layer.clone(),
            db_name: entry.db_name.clone(),
            cluster_id: entry.cluster_id,
            table_comment: entry
                .table_comment
                .as_deref()
                .map(|comment| shortened(comment, COMMENT_MAX_CHARS).into()),
            business_domain: entry.business_domain.clone(),
            data_domain: entry.data_domain.clone(),
            distance,
        }
    }
}

impl EdgeView {
    fn new(edge: Edge<'_>) -> EdgeView {
        EdgeView {
            source: edge.source.to_string(),
            target: edge.target.to_string(),
            task_ids: edge.tasks.iter().take(EDGE_TASKS_MAX).copied().collect(),
            task_count: edge.tasks.len(),
        }
    }
}

/// `GET /api/v1/lineage`
pub async fn graph(call: Call<Nothing, GraphQuery>) -> Result<Data<GraphView>, Error> {
    let (state, query) = (&call.state, &call.query);
    let sources = Sources::of(state, &call.caller).await?;
    state.catalog.caught_up().await?;
    state.graph.caught_up().await?;
    let (index, graph) = (state.catalog.read(), state.graph.read());
    let parts = parts(&index, &graph, &sources, query)?;
    Ok(Data::new(&shown(&graph, parts, query.max_nodes.0 as usize)))
}

/// The data sources whose tables the caller may see.
struct Sources {
    names: HashMap<i64, String>,
    caller: Caller,
}

/// The visibility of a table.
#[derive(PartialEq, Eq)]
enum Sight {
    Seen,
    /// Only counted.
    Counted,
    /// Not part of the graph: a table of the server itself.
    None,
}

impl Sources {
    async fn of(state: &Lineage, caller: &Caller) -> Result<Sources, Error> {
        Ok(Sources { names: datasources::names_by_id(&state.db).await?, caller: caller.clone() })
    }

    /// 403 about the table's data source.
    fn refusal(&self, entry: &Entry) -> Error {
        let name = entry.cluster_id.and_then(|id| self.names.get(&id));
        let refused = self.caller.check_datasource(name.map_or("", String::as_str));
        refused.err().unwrap_or_else(|| Error::not_found("table", entry.id))
    }

    fn sight(&self, entry: &Entry) -> Sight {
        // A table without a data source is visible to all.
        let Some(id) = entry.cluster_id else { return Sight::Seen };
        match self.names.get(&id) {
            Some(name) if name == datasources::OWN_NAME => Sight::None,
            Some(name) if !self.caller.may_use(name) => Sight::Counted,
            // Its data source was just deleted: only callers without restriction see its tables.
            None if self.caller.is_bound() => Sight::Counted,
            _ => Sight::Seen,
        }
    }
}

/// The result of a request: tables to return, in order, and ids of tables that are only counted.
struct Parts<'i> {
    fitting: Vec<(&'i Entry, Option<i64>)>,
    counted: Vec<i64>,
}

fn parts<'i>(
    index: &'i Index,
    graph: &Graph,
    sources: &Sources,
    query: &GraphQuery,
) -> Result<Parts<'i>, Error> {
    let filter = Filter::of(query);
    let mut parts = Parts { fitting: Vec::new(), counted: Vec::new() };
    let mut take = |entry: &'i Entry, distance: Option<i64>| match sources.sight(entry) {
        // Ignores the filters, which would reveal properties of the table.
        Sight::Counted => parts.counted.push(entry.id),
        Sight::Seen if distance == Some(0) || filter.fits(entry) => parts.fitting.push((entry, distance)),
        Sight::Seen | Sight::None => {}
    };
    let Some(anchor) = query.table_id else {
        index.iter().for_each(|entry| take(entry, None));
        parts.fitting.sort_unstable_by_key(|(entry, _)| entry.id);
        return Ok(parts);
    };
    match index.get(anchor).map(|entry| (entry, sources.sight(entry))) {
        Some((_, Sight::Seen)) => {}
        Some((entry, Sight::Counted)) => return Err(sources.refusal(entry)),
        _ => return Err(Error::not_found("table", anchor)),
    }
    let direction = match query.direction {
        Direction::Both => lakeport_graph::Direction::Both,
        Direction::Upstream => lakeport_graph::Direction::Upstream,
        Direction::Downstream => lakeport_graph::Direction::Downstream,
    };
    for Reached { id, distance } in graph.walk(anchor, direction, query.depth) {
        // A task may still refer to a table that is no longer in the catalogue.
        if let Some(entry) = index.get(id) {
            take(entry, Some(distance));
        }
    }
    Ok(parts)
}

fn shown(graph: &Graph, parts: Parts<'_>, max_nodes: usize) -> GraphView {
    let ids = |tables: &[(&Entry, Option<i64>)]| tables.iter().map(|(entry, _)| entry.id).collect::<Vec<_>>();
    let sent = &parts.fitting[..parts.fitting.len().min(max_nodes)];
    let omitted_nodes = parts.fitting.len() - sent.len() + parts.counted.len();
    let among = graph.among(ids(sent));
    let edges: Vec<EdgeView> = among.edges().take(EDGES_MAX).map(EdgeView::new).collect();
    let all_edges = if omitted_nodes == 0 {
        among.count()
    } else {
        let all: Among<'_> = graph.among(ids(&parts.fitting).into_iter().chain(parts.counted));
        all.count()
    };
    GraphView {
        nodes: sent.iter().map(|(entry, distance)| NodeView::new(entry, *distance)).collect(),
        truncated: sent.len() < parts.fitting.len() || edges.len() < among.count(),
        omitted: Omitted { nodes: omitted_nodes, edges: all_edges - edges.len() },
        edges,
    }
}

/// The filter on the result of the walk. An empty text does not filter.
struct Filter<'q> {
    layer: Option<&'q str>,
    business_domain: Option<&'q str>,
    data_domain: Option<&'q str>,
    db_name: Option<&'q str>,
    cluster_id: Option<i64>,
    /// In lower case.
    keyword: String,
    include_deprecated: bool,
}

impl<'q> Filter<'q> {
    fn of(query: &'q GraphQuery) -> Filter<'q> {
        let given = |text: &'q Option<String>| text.as_deref().filter(|text| !text.is_empty());
        Filter {
            layer: given(&query.layer),
            business_domain: given(&query.business_domain),
            data_domain: given(&query.data_domain),
            db_name: given(&query.db_name),
            cluster_id: query.cluster_id,
            keyword: query.keyword.as_deref().unwrap_or_default().to_lowercase(),
            include_deprecated: query.include_deprecated,
        }
    }

    fn fits(&self, entry: &Entry) -> bool {
        let is = |wanted: Option<&str>, found: &Option<Box<str>>| {
            wanted.is_none_or(|wanted| found.as_deref() == Some(wanted))
        };
        (self.include_deprecated || !entry.is_deprecated)
            && is(self.layer, &entry.layer)
            && is(self.business_domain, &entry.business_domain)
            && is(self.data_domain, &entry.data_domain)
            && self.db_name.is_none_or(|wanted| *entry.db_name == *wanted)
            && self.cluster_id.is_none_or(|wanted| entry.cluster_id == Some(wanted))
            && (self.keyword.is_empty() || entry.table_name.to_lowercase().contains(&self.keyword))
    }
}
