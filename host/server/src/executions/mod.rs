//! Executions: what ran, when, and how it ended, with its log. What an engine's own timer started is recorded
//! too; no request waits for that.
//!
//! A run of a workflow is asked for here or seen in its engine ([`runs`]); what becomes of its tasks is seen by
//! watching engines ([`watch`]) and by nothing else. An execution is one task of one run.

mod api;
mod control;
pub mod forms;
mod log;
pub mod past;
mod runs;
mod statistics;
mod store;
mod view;
mod watch;

use std::collections::HashMap;
use std::sync::LazyLock;

use ::http::Method;

use crate::app::{App, Route};
use crate::error::Error;
use crate::http::Role::{Editor, Viewer};
use crate::plugins::ENGINE_CALL_CODES;
use crate::tasks;
pub use runs::start_run;
pub use runs::store::{RETAINED, count_open};
use store::{Execution, Status};
pub use view::ExecutionView;
pub use watch::run_worker;

/// What the change log calls a change of an execution; the key is its id.
pub const TOPIC: &str = "executions";

/// What the start of a run can be answered with; for [`Route::refuses`].
pub static START_CODES: LazyLock<Vec<&str>> =
    LazyLock::new(|| [ENGINE_CALL_CODES, &["not_deployed"]].concat());

/// The routes of this room.
pub fn routes() -> Vec<Route> {
    let mut routes = lists();
    routes.extend(single());
    routes
}

fn lists() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/executions/history",
            Viewer,
            "listExecutions",
            "A page of executions, the newest first",
            api::history,
        ),
        Route::new(
            Method::GET,
            "/api/v1/executions/statistics",
            Viewer,
            "getExecutionStatistics",
            "How many executions ended how, and how long they took",
            api::statistics,
        ),
        Route::new(
            Method::GET,
            "/api/v1/executions/running",
            Viewer,
            "listRunningExecutions",
            "What runs now, the newest first",
            api::running,
        ),
        Route::new(
            Method::GET,
            "/api/v1/executions/failed",
            Viewer,
            "listFailedExecutions",
            "What failed, the newest first",
            api::failed,
        ),
    ]
}

fn single() -> Vec<Route> {
    static CANCEL_CODES: LazyLock<Vec<&str>> =
        LazyLock::new(|| [ENGINE_CALL_CODES, &["not_running"]].concat());
    static RETRY_CODES: LazyLock<Vec<&str>> =
        LazyLock::new(|| [ENGINE_CALL_CODES, &["not_deployed", "not_retryable"]].concat());
    vec![
        Route::new(
            Method::GET,
            "/api/v1/executions/{id}",
            Viewer,
            "getExecution",
            "One execution with a part of its log",
            api::get,
        ),
        Route::new(
            Method::POST,
            "/api/v1/executions/{id}/sync",
            Editor,
            "syncExecution",
            "Asks the engine how far it is, and keeps the answer",
            api::sync,
        )
        .refuses(ENGINE_CALL_CODES),
        Route::new(
            Method::POST,
            "/api/v1/executions/{id}/cancel",
            Editor,
            "cancelExecution",
            "Ends the run of an execution that runs",
            api::cancel,
        )
        .refuses(&CANCEL_CODES),
        Route::new(
            Method::POST,
            "/api/v1/executions/{id}/retry",
            Editor,
            "retryExecution",
            "Runs what failed again; answers the execution that is new",
            api::retry,
        )
        .refuses(&RETRY_CODES),
    ]
}

/// The newest execution of each of these workflows that has one.
pub async fn latest_of_workflows(app: &App, ids: &[i64]) -> Result<HashMap<i64, ExecutionView>, Error> {
    let latest = store::latest_of_workflows(&app.db, ids).await?;
    let zone = app.config.time_zone;
    Ok(latest.iter().map(|one| (one.workflow_id, ExecutionView::new(one, zone))).collect())
}

/// A workflow's newest executions.
pub async fn recent_of_workflow(app: &App, id: i64, limit: i64) -> Result<Vec<ExecutionView>, Error> {
    let recent = store::of_workflow(&app.db, id, limit).await?;
    Ok(recent.iter().map(|one| ExecutionView::new(one, app.config.time_zone)).collect())
}

/// A task's newest execution.
pub async fn latest_of_task(app: &App, id: i64) -> Result<Option<ExecutionView>, Error> {
    let latest = store::latest_of_task(&app.db, id).await?;
    Ok(latest.map(|one| ExecutionView::new(&one, app.config.time_zone)))
}

/// What runs now on a data source, the newest first, of the newest that run at all.
pub async fn running_on(app: &App, datasource_id: i64) -> Result<Vec<ExecutionView>, Error> {
    /// Executions that are looked at.
    const LOOKED_AT_MAX: i64 = 500;
    let running = store::with_status(&app.db, Status::Running, LOOKED_AT_MAX).await?;
    let task_ids: Vec<i64> = running.iter().filter_map(|execution| execution.record.task_id).collect();
    let there = tasks::on_datasource(&app.db, datasource_id, &task_ids).await?;
    let is_there = |execution: &&Execution| execution.record.task_id.is_some_and(|id| there.contains(&id));
    let zone = app.config.time_zone;
    Ok(running.iter().filter(is_there).map(|execution| ExecutionView::new(execution, zone)).collect())
}
