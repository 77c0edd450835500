//! Executions: what ran, when, and how it ended, with its log. What an engine's own timer started is recorded
//! too; no request waits for that.

pub mod forms;

use ::http::Method;

use crate::app::Route;
use crate::http::Nothing;
use crate::http::Role::{Editor, Viewer};
use forms::{DetailQuery, ExecutionPath, FailedQuery, HistoryQuery, StatisticsQuery};

/// The routes of this room.
pub fn routes() -> Vec<Route> {
    let mut routes = lists();
    routes.extend(single());
    routes
}

fn lists() -> Vec<Route> {
    vec![
        Route::not_yet::<Nothing, HistoryQuery, Nothing>(
            Method::GET,
            "/api/v1/executions/history",
            Viewer,
            "listExecutions",
            "A page of executions, the newest first",
        ),
        Route::not_yet::<Nothing, StatisticsQuery, Nothing>(
            Method::GET,
            "/api/v1/executions/statistics",
            Viewer,
            "getExecutionStatistics",
            "How many executions ended how, and how long they took",
        ),
        Route::not_yet::<Nothing, Nothing, Nothing>(
            Method::GET,
            "/api/v1/executions/running",
            Viewer,
            "listRunningExecutions",
            "What runs now, the newest first",
        ),
        Route::not_yet::<Nothing, FailedQuery, Nothing>(
            Method::GET,
            "/api/v1/executions/failed",
            Viewer,
            "listFailedExecutions",
            "What failed, the newest first",
        ),
    ]
}

fn single() -> Vec<Route> {
    vec![
        Route::not_yet::<ExecutionPath, DetailQuery, Nothing>(
            Method::GET,
            "/api/v1/executions/{id}",
            Viewer,
            "getExecution",
            "One execution with a part of its log",
        ),
        Route::not_yet::<ExecutionPath, Nothing, Nothing>(
            Method::POST,
            "/api/v1/executions/{id}/sync",
            Editor,
            "syncExecution",
            "Asks the engine how far it is, and keeps the answer",
        ),
        Route::not_yet::<ExecutionPath, Nothing, Nothing>(
            Method::POST,
            "/api/v1/executions/{id}/cancel",
            Editor,
            "cancelExecution",
            "Ends an execution that runs",
        ),
        Route::not_yet::<ExecutionPath, Nothing, Nothing>(
            Method::POST,
            "/api/v1/executions/{id}/retry",
            Editor,
            "retryExecution",
            "Runs a failed execution again; answers the new one",
        ),
    ]
}
