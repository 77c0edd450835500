//! Lineage: which table is made from which. The graph follows from what tasks are bound to and from OpenLineage
//! events; it is answered from memory.

mod api;
mod bindings;
mod follow;
pub mod forms;

use ::http::Method;

use crate::app::Route;
use crate::auth::token;
use crate::http::Role::{Editor, Viewer};
use crate::http::{Json, Nothing};
pub use bindings::{ParseError, ParsedName, ParsedSql, bindings_in};
pub use follow::Lineage;
use forms::{ColumnsQuery, ImpactQuery, OpenLineageEvents};

/// The routes of this room.
pub fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/lineage",
            Viewer,
            "getLineage",
            "Tables and the edges between them, around one table or all",
            api::graph,
        )
        .refuses(&["behind"]),
        Route::not_yet::<Nothing, ImpactQuery, Nothing>(
            Method::GET,
            "/api/v1/lineage/impact",
            Viewer,
            "getLineageImpact",
            "What a change of a table reaches; `Accept: text/csv` for CSV",
        ),
        Route::not_yet::<Nothing, ColumnsQuery, Nothing>(
            Method::GET,
            "/api/v1/lineage/columns",
            Viewer,
            "getColumnLineage",
            "Which fields a field is made from, and what is made from it",
        ),
        Route::not_yet::<Nothing, Nothing, Json<OpenLineageEvents>>(
            Method::POST,
            "/api/v1/lineage/openlineage",
            Editor,
            "sendOpenLineageEvents",
            "Takes OpenLineage events",
        )
        .scope(token::LINEAGE_WRITE),
    ]
}
