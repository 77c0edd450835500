//! Workflows: what they are, their versions, how they come in and go out, how they are published, and when
//! they run. It knows no scheduler: that is an engine's.

pub mod forms;

use ::http::Method;

use crate::app::Route;
use crate::http::Role::{Approver, Editor, Viewer};
use crate::http::{Json, Nothing, OptionalJson};
use forms::{
    BackfillBody, BackfillPath, CompareVersions, CreateWorkflow, DecidePublication, DeleteQuery, ExportQuery,
    ImportWorkflow, ImportableQuery, ListQuery, PublicationPath, PublishWorkflow, SetSchedule,
    UpdateWorkflow, VersionPath, WorkflowPath,
};

/// The routes of this room.
pub fn routes() -> Vec<Route> {
    [definitions(), imports(), publications(), runs(), schedules()].into_iter().flatten().collect()
}

fn definitions() -> Vec<Route> {
    vec![
        Route::not_yet::<Nothing, ListQuery, Nothing>(
            Method::GET,
            "/api/v1/workflows",
            Viewer,
            "listWorkflows",
            "A page of workflows",
        ),
        Route::not_yet::<Nothing, Nothing, Json<CreateWorkflow>>(
            Method::POST,
            "/api/v1/workflows",
            Editor,
            "createWorkflow",
            "Defines a workflow; nothing is deployed",
        ),
        Route::not_yet::<WorkflowPath, Nothing, Nothing>(
            Method::GET,
            "/api/v1/workflows/{id}",
            Viewer,
            "getWorkflow",
            "One workflow with its tasks, edges, versions, publications and last executions",
        )
        .versioned(),
        Route::not_yet::<WorkflowPath, Nothing, Json<UpdateWorkflow>>(
            Method::PUT,
            "/api/v1/workflows/{id}",
            Editor,
            "updateWorkflow",
            "Changes the members that are given; makes a version",
        )
        .versioned(),
        Route::not_yet::<WorkflowPath, DeleteQuery, Nothing>(
            Method::DELETE,
            "/api/v1/workflows/{id}",
            Editor,
            "deleteWorkflow",
            "Deletes a workflow, in its engine too",
        )
        .versioned(),
        Route::not_yet::<WorkflowPath, Nothing, Json<CompareVersions>>(
            Method::POST,
            "/api/v1/workflows/{id}/versions/compare",
            Viewer,
            "compareWorkflowVersions",
            "How two versions differ, in topology and tasks",
        )
        .reading(),
        Route::not_yet::<VersionPath, Nothing, Nothing>(
            Method::POST,
            "/api/v1/workflows/{id}/versions/{versionId}/rollback",
            Editor,
            "rollbackWorkflow",
            "Makes a new version with the content of an old one",
        ),
    ]
}

fn imports() -> Vec<Route> {
    vec![
        Route::not_yet::<WorkflowPath, ExportQuery, Nothing>(
            Method::GET,
            "/api/v1/workflows/{id}/export-json",
            Viewer,
            "exportWorkflow",
            "The current version as JSON, for another environment",
        ),
        Route::not_yet::<Nothing, ImportableQuery, Nothing>(
            Method::GET,
            "/api/v1/workflows/import/scheduler",
            Viewer,
            "listImportableWorkflows",
            "A page of the workflows that an engine has",
        ),
        Route::not_yet::<Nothing, Nothing, Json<ImportWorkflow>>(
            Method::POST,
            "/api/v1/workflows/import/preview",
            Viewer,
            "previewWorkflowImport",
            "What an import would make, and what stands in its way",
        )
        .reading(),
        Route::not_yet::<Nothing, Nothing, Json<ImportWorkflow>>(
            Method::POST,
            "/api/v1/workflows/import/commit",
            Editor,
            "commitWorkflowImport",
            "Makes what was previewed",
        ),
    ]
}

fn publications() -> Vec<Route> {
    vec![
        Route::not_yet::<WorkflowPath, Nothing, OptionalJson<PublishWorkflow>>(
            Method::POST,
            "/api/v1/workflows/{id}/publish",
            Editor,
            "publishWorkflow",
            "Submits the current version for approval",
        ),
        Route::not_yet::<WorkflowPath, Nothing, Nothing>(
            Method::GET,
            "/api/v1/workflows/{id}/publish/preview",
            Viewer,
            "previewPublication",
            "How what runs in the engine differs from the current version",
        ),
        Route::not_yet::<PublicationPath, Nothing, Json<DecidePublication>>(
            Method::POST,
            "/api/v1/workflows/{id}/publish/{recordId}/approve",
            Approver,
            "decidePublication",
            "Approves or rejects a submitted version; what is approved is deployed at once",
        ),
    ]
}

fn runs() -> Vec<Route> {
    vec![
        Route::not_yet::<WorkflowPath, Nothing, Nothing>(
            Method::POST,
            "/api/v1/workflows/{id}/execute",
            Editor,
            "executeWorkflow",
            "Runs a deployed workflow now; answers the engine's id of the run",
        ),
        Route::not_yet::<WorkflowPath, Nothing, OptionalJson<BackfillBody>>(
            Method::POST,
            "/api/v1/workflows/{id}/backfill",
            Editor,
            "backfillWorkflow",
            "Runs past periods of the schedule again; answers the code of the first run",
        ),
        Route::not_yet::<WorkflowPath, Nothing, OptionalJson<BackfillBody>>(
            Method::POST,
            "/api/v1/workflows/{id}/backfill/preview",
            Viewer,
            "previewBackfill",
            "Which dates a backfill would run",
        )
        .reading(),
        Route::not_yet::<BackfillPath, Nothing, Nothing>(
            Method::GET,
            "/api/v1/backfills/{code}",
            Viewer,
            "getBackfill",
            "How far a backfill is",
        ),
        Route::not_yet::<BackfillPath, Nothing, Nothing>(
            Method::POST,
            "/api/v1/backfills/{code}/cancel",
            Editor,
            "cancelBackfill",
            "Ends a backfill",
        ),
    ]
}

fn schedules() -> Vec<Route> {
    vec![
        Route::not_yet::<WorkflowPath, Nothing, Json<SetSchedule>>(
            Method::PUT,
            "/api/v1/workflows/{id}/schedule",
            Editor,
            "setSchedule",
            "Changes the members of the schedule that are given; of a deployed workflow in the engine at once",
        )
        .versioned(),
        Route::not_yet::<WorkflowPath, Nothing, Nothing>(
            Method::POST,
            "/api/v1/workflows/{id}/schedule/online",
            Editor,
            "bringScheduleOnline",
            "Turns the timer on",
        ),
        Route::not_yet::<WorkflowPath, Nothing, Nothing>(
            Method::POST,
            "/api/v1/workflows/{id}/schedule/offline",
            Editor,
            "takeScheduleOffline",
            "Turns the timer off",
        ),
    ]
}
