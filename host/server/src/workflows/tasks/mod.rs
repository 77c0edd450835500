//! Tasks: the nodes of workflows, with the tables that they read and write. Edges are not stored: they follow
//! from the tables.

mod api;
pub mod definition;
pub mod dependencies;
mod feed;
pub mod forms;
mod lookup;
mod parse;
pub mod part;
pub mod replace;
pub mod saving;
mod store;
mod unbind;
mod view;

use ::http::Method;
use lakeport_base::Error;
use lakeport_http::Role::{Editor, Viewer};
use lakeport_http::Route;
use lakeport_store::Tx;

use crate::core::Core;
use crate::workflows::Workflows;
use definition::{Content, Given};
pub use feed::LineageGraph;
pub use lookup::kinds_of;
pub use store::{
    bind, bound_to, count_of_datasource, names, of_workflow, on_datasource, readers_of, tables_of_workflow,
};
pub use unbind::unbind_table;
pub use view::TaskView;

/// The change log's topic of tasks and their tables; the key is the task's id.
pub const TOPIC: &str = "tasks";

/// A stored task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub id: i64,
    /// `None`: its workflow was deleted.
    pub workflow_id: Option<i64>,
    pub content: Content,
    pub given: Given,
    /// Of the content.
    pub digest: String,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

/// The task of this id, or 404.
pub async fn get(core: &Core, id: i64) -> Result<Task, Error> {
    store::find(&core.db, id).await?.ok_or_else(|| api::unknown(id))
}

/// The tables of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub task_id: i64,
    pub workflow_id: Option<i64>,
    pub inputs: Vec<i64>,
    pub outputs: Vec<i64>,
}

/// Deletes the tasks of a workflow, or leaves them without one.
pub async fn leave(tx: &mut Tx, workflow_id: i64, are_deleted: bool, now_ms: i64) -> Result<(), Error> {
    let ids = if are_deleted {
        store::delete_of(tx, workflow_id).await?
    } else {
        store::unbind_of(tx, workflow_id, now_ms).await?
    };
    for id in ids {
        tx.changed(TOPIC, id.to_string());
    }
    Ok(())
}

static SAVE_CODES: &[&str] = &[
    "datasource_not_allowed",
    "dependency_cycle",
    "engine_failed",
    "name_taken",
    "plugin_not_active",
    "too_many_tables",
    "too_many_tasks",
    "workflow_too_large",
];

pub fn routes() -> Vec<Route<Workflows>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/tasks",
            Viewer,
            "listTasks",
            "List tasks that match every filter",
            api::list,
        ),
        Route::new(
            Method::POST,
            "/api/v1/tasks",
            Editor,
            "createTask",
            "Add a task to a workflow and bind its tables",
            api::create,
        )
        .versioned()
        .refuses(SAVE_CODES),
        Route::new(Method::GET, "/api/v1/tasks/{id}", Viewer, "getTask", "Get a task", api::get).versioned(),
        Route::new(
            Method::PUT,
            "/api/v1/tasks/{id}",
            Editor,
            "updateTask",
            "Update the given members of a task; creates a workflow version",
            api::update,
        )
        .versioned()
        .refuses(SAVE_CODES),
        Route::new(
            Method::DELETE,
            "/api/v1/tasks/{id}",
            Editor,
            "deleteTask",
            "Delete a task; creates a workflow version",
            api::delete,
        )
        .versioned()
        .refuses(&["datasource_not_allowed"]),
        Route::new(
            Method::GET,
            "/api/v1/tasks/{id}/execution-status",
            Viewer,
            "getTaskExecutionStatus",
            "Get a task's latest execution",
            api::execution_status,
        ),
        Route::new(
            Method::GET,
            "/api/v1/tasks/{id}/lineage",
            Viewer,
            "getTaskLineage",
            "List the tables that a task reads and writes",
            api::lineage,
        ),
        Route::new(
            Method::POST,
            "/api/v1/tasks/parse",
            Viewer,
            "parseTaskSql",
            "Parse SQL and list the tables that it reads and writes",
            parse::parse,
        )
        .reading()
        .refuses(&["stale_replica", "datasource_not_allowed"]),
    ]
}
