//! Backfills: past periods of a schedule are run again, with the workflows that depend on them. Lakeport owns the dates,
//! their order and what a failure means; an engine only gets one run after the other. Where its configuration asks for
//! that, the engine makes a backfill of one workflow itself, see [`made`].

mod active;
mod api;
mod calls;
mod forms;
mod made;
mod plan;
mod progress;
mod request;
pub mod store;
mod view;
mod worker;

use std::sync::LazyLock;

use ::http::Method;
use lakeport_http::Role::{Editor, Viewer};
use lakeport_http::Route;
use lakeport_store::Tx;

use super::Executions;
use crate::execution_records::Run;
use crate::plugins::ENGINE_CALL_CODES;
pub use worker::run_worker;

/// The change log's topic of backfills, by id, and of their runs' ends, by key.
pub const TOPIC: &str = "backfills";
/// The cause of their runs.
pub const CAUSE: &str = "backfill";

/// Tells the readers of a backfill.
fn announce(tx: &mut Tx, id: i64) {
    tx.changed(TOPIC, id.to_string());
}

/// Tells the worker that a run of a backfill has ended.
pub fn announce_end(tx: &mut Tx, run: &Run) {
    if let Some(key) = run.key.as_ref().or(run.trigger.as_ref()).filter(|_| run.cause == CAUSE) {
        tx.changed(TOPIC, key.clone());
    }
}

const REFUSALS: &[&str] = &["datasource_not_allowed", "not_deployed", "not_online"];

pub fn routes() -> Vec<Route<Executions>> {
    static START_CODES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        [ENGINE_CALL_CODES, REFUSALS, &["not_running", "preview_stale", "rate_limited", "store_busy"]]
            .concat()
    });
    vec![
        Route::new(
            Method::POST,
            "/api/v1/workflows/{id}/backfill",
            Editor,
            "backfillWorkflow",
            "Run past periods of the schedule again; returns the code of the first run",
            api::start,
        )
        .refuses(&START_CODES),
        Route::new(
            Method::POST,
            "/api/v1/workflows/{id}/backfill/preview",
            Viewer,
            "previewBackfill",
            "Preview the dates of a backfill",
            api::preview,
        )
        .reading()
        .refuses(REFUSALS),
        Route::new(
            Method::GET,
            "/api/v1/workflows/{id}/backfills",
            Viewer,
            "listBackfills",
            "List the latest backfills of a workflow, newest first",
            api::list,
        ),
        Route::new(
            Method::GET,
            "/api/v1/backfills/{code}",
            Viewer,
            "getBackfill",
            "Get the progress of a backfill",
            api::get,
        ),
        Route::new(
            Method::POST,
            "/api/v1/backfills/{code}/cancel",
            Editor,
            "cancelBackfill",
            "Cancel a backfill",
            api::cancel,
        )
        .refuses(&["datasource_not_allowed", "not_running"]),
    ]
}
