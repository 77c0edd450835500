//! Tasks: the nodes of workflows, bound to the tables that they read and write. Edges are not kept: they follow
//! from the bindings.

pub mod forms;

use ::http::Method;

use crate::app::Route;
use crate::http::Role::{Editor, Viewer};
use crate::http::{Json, Nothing};
use forms::{CreateTask, ListQuery, ParseSql, TaskPath, UpdateTask};

/// The routes of this room.
pub fn routes() -> Vec<Route> {
    vec![
        Route::not_yet::<Nothing, ListQuery, Nothing>(
            Method::GET,
            "/api/v1/tasks",
            Viewer,
            "listTasks",
            "A page of tasks that fit every filter",
        ),
        Route::not_yet::<Nothing, Nothing, Json<CreateTask>>(
            Method::POST,
            "/api/v1/tasks",
            Editor,
            "createTask",
            "Adds a task to a workflow and binds its tables",
        ),
        Route::not_yet::<TaskPath, Nothing, Json<UpdateTask>>(
            Method::PUT,
            "/api/v1/tasks/{id}",
            Editor,
            "updateTask",
            "Changes the members that are given; makes a version of the workflow",
        )
        .versioned(),
        Route::not_yet::<TaskPath, Nothing, Nothing>(
            Method::DELETE,
            "/api/v1/tasks/{id}",
            Editor,
            "deleteTask",
            "Deletes a task; makes a version of the workflow",
        )
        .versioned(),
        Route::not_yet::<TaskPath, Nothing, Nothing>(
            Method::GET,
            "/api/v1/tasks/{id}/execution-status",
            Viewer,
            "getTaskExecutionStatus",
            "A task's latest execution",
        ),
        Route::not_yet::<TaskPath, Nothing, Nothing>(
            Method::GET,
            "/api/v1/tasks/{id}/lineage",
            Viewer,
            "getTaskLineage",
            "The tables that a task reads and writes",
        ),
        Route::not_yet::<Nothing, Nothing, Json<ParseSql>>(
            Method::POST,
            "/api/v1/tasks/parse",
            Viewer,
            "parseTaskSql",
            "Which tables a task's SQL reads and writes",
        )
        .reading(),
    ]
}
