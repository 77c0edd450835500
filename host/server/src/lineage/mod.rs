//! Table lineage: the tables from which a table is made. The graph is derived from the tables of tasks and
//! from OpenLineage events; requests are answered from memory.

mod api;
pub mod forms;

use std::sync::Arc;

use ::http::Method;
use lakeport_http::Role::{Editor, Viewer};
use lakeport_http::{Json, Nothing, Route};

use crate::auth::token;
use crate::core::{Core, stands_on_core};
use crate::part::{Part, Start, Worker};
use crate::tables::Catalog;
use crate::workflows::tasks::LineageGraph;
use forms::{ColumnsQuery, ImpactQuery, OpenLineageEvents};

/// The graph of tables, and their names.
pub struct Lineage {
    core: Arc<Core>,
    catalog: Arc<Catalog>,
    graph: Arc<LineageGraph>,
}

stands_on_core!(Lineage);

impl Lineage {
    pub fn new(core: &Arc<Core>, catalog: &Arc<Catalog>, graph: &Arc<LineageGraph>) -> Lineage {
        Lineage { core: Arc::clone(core), catalog: Arc::clone(catalog), graph: Arc::clone(graph) }
    }
}

pub fn part() -> Part<Lineage> {
    Part {
        tags: &[("lineage", "Dependencies between tables")],
        routes: routes(),
        workers: vec![Worker::new(Start::AtOnce, |lineage: Arc<Lineage>| async move {
            lineage.graph.follow().await;
        })],
        ..Part::default()
    }
}

/// A request to this module.
pub type Call<P = Nothing, Q = Nothing, B = Nothing> = lakeport_http::Call<Lineage, P, Q, B>;

fn routes() -> Vec<Route<Lineage>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/lineage",
            Viewer,
            "getLineage",
            "Get tables and their edges, around one table or all",
            api::graph,
        )
        .refuses(&["datasource_not_allowed", "stale_replica"]),
        Route::not_yet::<Nothing, ImpactQuery, Nothing>(
            Method::GET,
            "/api/v1/lineage/impact",
            Viewer,
            "getLineageImpact",
            "List everything downstream that a table change affects; `Accept: text/csv` for CSV",
        ),
        Route::not_yet::<Nothing, ColumnsQuery, Nothing>(
            Method::GET,
            "/api/v1/lineage/columns",
            Viewer,
            "getColumnLineage",
            "Get column lineage upstream and downstream of a field",
        ),
        Route::not_yet::<Nothing, Nothing, Json<OpenLineageEvents>>(
            Method::POST,
            "/api/v1/lineage/openlineage",
            Editor,
            "sendOpenLineageEvents",
            "Receive OpenLineage events",
        )
        .scope(token::LINEAGE_WRITE),
    ]
}
