//! Tables: their definitions and fields, the recycle bin, statistics, and the physical tables that follow. It
//! writes no statement itself: a dialect plans, the host runs.

pub mod forms;
pub mod found;
mod store;

use ::http::Method;

use crate::app::Route;
use crate::http::Role::{Admin, Editor, Viewer};
use crate::http::{Json, Nothing};
use forms::{
    AccessQuery, ChangeQuery, ClusterQuery, ConfirmedChangeQuery, CreateField, CreateTable, DryRunQuery,
    FieldPath, HistoryQuery, ListQuery, PendingQuery, SetComment, StatisticsQuery, TablePath, UpdateField,
    UpdateTable,
};

/// What the change log calls a change of a table or its fields.
pub const TOPIC: &str = "tables";

/// The routes of this room.
pub fn routes() -> Vec<Route> {
    [definitions(), physical(), recycle_bin(), fields(), figures()].into_iter().flatten().collect()
}

fn definitions() -> Vec<Route> {
    vec![
        Route::not_yet::<Nothing, ListQuery, Nothing>(
            Method::GET,
            "/api/v1/tables",
            Viewer,
            "listTables",
            "A page of tables, without those in the recycle bin",
        ),
        Route::not_yet::<Nothing, Nothing, Json<CreateTable>>(
            Method::POST,
            "/api/v1/tables",
            Editor,
            "createTable",
            "Defines a table in the catalogue alone",
        ),
        Route::not_yet::<TablePath, Nothing, Nothing>(
            Method::GET,
            "/api/v1/tables/{id}",
            Viewer,
            "getTable",
            "One table with its fields, its data source, and how the database differs",
        )
        .versioned(),
        Route::not_yet::<TablePath, ChangeQuery, Json<UpdateTable>>(
            Method::PUT,
            "/api/v1/tables/{id}",
            Editor,
            "updateTable",
            "Changes the members that are given; the physical table follows",
        )
        .versioned()
        .dry_run(),
        Route::not_yet::<TablePath, ChangeQuery, Json<SetComment>>(
            Method::PUT,
            "/api/v1/tables/{id}/comment",
            Editor,
            "setTableComment",
            "Changes a table's comment, in the database first",
        )
        .versioned()
        .dry_run(),
    ]
}

fn physical() -> Vec<Route> {
    vec![
        Route::not_yet::<TablePath, ChangeQuery, Nothing>(
            Method::POST,
            "/api/v1/tables/{id}/physical",
            Editor,
            "createPhysicalTable",
            "Creates the table in its database",
        )
        .dry_run(),
        Route::not_yet::<TablePath, Nothing, Nothing>(
            Method::GET,
            "/api/v1/tables/{id}/changes",
            Viewer,
            "listTableChanges",
            "Physical changes of a table, the newest first",
        ),
        Route::not_yet::<TablePath, ClusterQuery, Nothing>(
            Method::GET,
            "/api/v1/tables/{id}/ddl",
            Viewer,
            "getTableDdl",
            "The text that creates the table, as its database gives it",
        ),
    ]
}

fn recycle_bin() -> Vec<Route> {
    vec![
        Route::not_yet::<TablePath, ConfirmedChangeQuery, Nothing>(
            Method::POST,
            "/api/v1/tables/{id}/soft-delete",
            Editor,
            "softDeleteTable",
            "Puts a table into the recycle bin for 30 days; the physical table is renamed",
        )
        .dry_run(),
        Route::not_yet::<Nothing, PendingQuery, Nothing>(
            Method::GET,
            "/api/v1/tables/pending-deletion",
            Viewer,
            "listPendingDeletion",
            "Tables in the recycle bin",
        ),
        Route::not_yet::<TablePath, ChangeQuery, Nothing>(
            Method::POST,
            "/api/v1/tables/{id}/restore",
            Editor,
            "restoreTable",
            "Takes a table out of the recycle bin, under its old name",
        )
        .dry_run(),
        Route::not_yet::<TablePath, ConfirmedChangeQuery, Nothing>(
            Method::POST,
            "/api/v1/tables/{id}/purge-now",
            Admin,
            "purgeTable",
            "Drops a table of the recycle bin at once and for ever",
        )
        .dry_run(),
    ]
}

fn fields() -> Vec<Route> {
    vec![
        Route::not_yet::<TablePath, Nothing, Nothing>(
            Method::GET,
            "/api/v1/tables/{id}/fields",
            Viewer,
            "listFields",
            "A table's fields in their order",
        ),
        Route::not_yet::<TablePath, ChangeQuery, Json<CreateField>>(
            Method::POST,
            "/api/v1/tables/{id}/fields",
            Editor,
            "createField",
            "Adds a field; to the physical table, too",
        )
        .dry_run(),
        Route::not_yet::<FieldPath, DryRunQuery, Json<UpdateField>>(
            Method::PUT,
            "/api/v1/tables/{id}/fields/{fieldId}",
            Editor,
            "updateField",
            "Changes the members that are given; in the physical table, too",
        )
        .versioned()
        .dry_run(),
        Route::not_yet::<FieldPath, DryRunQuery, Nothing>(
            Method::DELETE,
            "/api/v1/tables/{id}/fields/{fieldId}",
            Editor,
            "deleteField",
            "Removes a field; from the physical table, too",
        )
        .versioned()
        .dry_run(),
    ]
}

fn figures() -> Vec<Route> {
    vec![
        Route::not_yet::<TablePath, StatisticsQuery, Nothing>(
            Method::GET,
            "/api/v1/tables/{id}/statistics",
            Viewer,
            "getTableStatistics",
            "How many rows and bytes; remembered for five minutes",
        ),
        Route::not_yet::<TablePath, AccessQuery, Nothing>(
            Method::GET,
            "/api/v1/tables/{id}/access-stats",
            Viewer,
            "getTableAccessStats",
            "How often and by whom a table is read",
        ),
        Route::not_yet::<TablePath, HistoryQuery, Nothing>(
            Method::GET,
            "/api/v1/tables/{id}/statistics/history",
            Viewer,
            "listStatisticsHistory",
            "Statistics as they were collected, the newest first",
        ),
        Route::not_yet::<TablePath, Nothing, Nothing>(
            Method::GET,
            "/api/v1/tables/{id}/statistics/history/last7days",
            Viewer,
            "listStatisticsOfLast7Days",
            "Statistics of the last 7 days, the oldest first",
        ),
        Route::not_yet::<TablePath, Nothing, Nothing>(
            Method::GET,
            "/api/v1/tables/{id}/statistics/history/last30days",
            Viewer,
            "listStatisticsOfLast30Days",
            "Statistics of the last 30 days, the oldest first",
        ),
    ]
}
