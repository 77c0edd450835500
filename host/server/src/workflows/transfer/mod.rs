//! Workflows between servers, repositories and engines: export as a document, import of documents and of an engine's
//! own definitions.

mod api;
pub mod document;
mod engine;
pub mod export;
mod import;
mod read;
mod resolve;

use ::http::Method;
use lakeport_http::Role::{Anyone, Editor, Viewer};
use lakeport_http::Route;

use super::Workflows;
use crate::plugins::ENGINE_CALL_CODES;

pub fn routes() -> Vec<Route<Workflows>> {
    vec![
        Route::new(
            Method::GET,
            document::SCHEMA_PATH,
            Anyone,
            "getWorkflowSchema",
            "Get the JSON Schema of exported workflows",
            api::schema,
        )
        .versioned(),
        Route::new(
            Method::GET,
            "/api/v1/workflows/{id}/export-json",
            Viewer,
            "exportWorkflow",
            "Export the current version as JSON",
            export::export,
        )
        .refuses(&["datasource_not_allowed"]),
        Route::new(
            Method::GET,
            "/api/v1/workflows/import/scheduler",
            Viewer,
            "listImportableWorkflows",
            "List the workflows of an engine that can be imported",
            api::importable,
        )
        .refuses(ENGINE_CALL_CODES),
        Route::new(
            Method::POST,
            "/api/v1/workflows/import/preview",
            Viewer,
            "previewWorkflowImport",
            "Preview an import and its conflicts",
            import::preview,
        )
        .reading()
        .refuses(IMPORT_CODES),
        Route::new(
            Method::POST,
            "/api/v1/workflows/import/commit",
            Editor,
            "commitWorkflowImport",
            "Import the previewed workflow",
            import::commit,
        )
        .refuses(IMPORT_CODES),
    ]
}

static IMPORT_CODES: &[&str] = &[
    "datasource_not_allowed",
    "engine_conflict",
    "engine_denied",
    "engine_failed",
    "engine_timeout",
    "engine_unavailable",
    "engine_unreachable",
    "name_taken",
    "not_changeable",
    "not_found",
    "plugin_not_active",
    "preview_stale",
    "too_many_tables",
    "too_many_tasks",
    "unsupported_by_engine",
    "workflow_too_large",
];
