//! Lineage: which table is made from which. The graph follows from what tasks are bound to and from OpenLineage
//! events; it is answered from memory.

pub mod forms;

use ::http::Method;

use crate::app::Route;
use crate::auth::token;
use crate::http::Role::{Editor, Viewer};
use crate::http::{Json, Nothing};
use forms::{ColumnsQuery, GraphQuery, ImpactQuery, OpenLineageEvents};

/// The routes of this room.
pub fn routes() -> Vec<Route> {
    vec![
        Route::not_yet::<Nothing, GraphQuery, Nothing>(
            Method::GET,
            "/api/v1/lineage",
            Viewer,
            "getLineage",
            "Tables and the edges between them, around one table or all",
        ),
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
