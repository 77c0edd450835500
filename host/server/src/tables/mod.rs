//! Tables: their definitions and fields, the recycle bin, statistics, and the physical tables that follow. It
//! writes no statement itself: a dialect plans, the host runs.

mod accesses;
mod definitions;
mod drift;
mod fields;
pub mod forms;
pub mod found;
mod history;
mod physical;
mod recycle;
mod sources;
mod statistics;
mod store;

use std::sync::LazyLock;

use ::http::Method;

use crate::app::{App, Route};
use crate::datasources;
use crate::db::{Db, Tx};
use crate::error::Error;
use crate::http::Role::{Admin, Editor, Viewer};
use crate::plugins::CALL_CODES;

pub use definitions::Record;
pub use definitions::list::page;
pub use definitions::store::all_of as records_of;
pub use definitions::view::TableView;
pub use fields::Field;
pub use fields::store::{matching as fields_matching, of_ids as fields_of_ids, of_tables as fields_of};
pub use history::Source as SchemaSource;
pub use physical::run_worker;
pub use recycle::run_job as run_recycle_bin;
pub use statistics::daily::run_job as run_statistics;
pub use statistics::{Size, store::keep as keep_size, store::last as last_sizes};
pub use store::{databases_of, entries_after, entries_of};

/// What grows here.
pub const RETAINED: [crate::retention::Retained; 3] =
    [statistics::store::RETAINED, physical::store::RETAINED, history::RETAINED];

/// What the change log calls a change of a table or its fields.
pub const TOPIC: &str = "tables";

/// What every change that a physical table may follow can be refused with.
const CHANGE_CODES: &[&str] = &[
    "change_failed",
    "change_running",
    "datasource_not_allowed",
    "deprecated",
    "drifted",
    "in_use",
    "interrupted",
    "name_taken",
    "no_datasource",
    "not_a_table",
    "not_changeable",
    "wrong_cluster",
];
/// What questions about a physical table can be refused with.
const QUESTION_CODES: &[&str] =
    &["datasource_not_allowed", "drifted", "no_datasource", "not_physical", "wrong_cluster"];

static CREATED: LazyLock<Vec<&str>> =
    LazyLock::new(|| [CALL_CODES, &["datasource_not_allowed", "name_taken"]].concat());
static CHANGES: LazyLock<Vec<&str>> = LazyLock::new(|| [CALL_CODES, CHANGE_CODES].concat());
static FIELDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| [CALL_CODES, CHANGE_CODES, &["too_many_fields"]].concat());
static CREATES: LazyLock<Vec<&str>> =
    LazyLock::new(|| [CALL_CODES, CHANGE_CODES, &["already_physical", "no_fields"]].concat());
static RECYCLED: LazyLock<Vec<&str>> =
    LazyLock::new(|| [CALL_CODES, CHANGE_CODES, &["not_deprecated", "not_physical"]].concat());
static QUESTIONS: LazyLock<Vec<&str>> = LazyLock::new(|| [CALL_CODES, QUESTION_CODES].concat());

/// What this room remembers beside the store.
#[derive(Default)]
pub struct Room {
    collecting: statistics::Collecting,
    own_cluster: tokio::sync::OnceCell<i64>,
}

impl Room {
    /// The data source that is the store itself.
    async fn own_cluster(&self, db: &Db) -> Result<i64, Error> {
        self.own_cluster.get_or_try_init(|| datasources::own_id(db)).await.copied()
    }
}

/// Of these ids those that are no table, or one in the recycle bin.
pub async fn missing_of(tx: &mut Tx, ids: &[i64]) -> Result<Vec<i64>, Error> {
    definitions::store::missing_of(tx, ids).await
}

/// Those of these tables that are there and not in the recycle bin, in the order of the ids.
pub async fn views(app: &App, ids: &[i64]) -> Result<Vec<TableView>, Error> {
    let records = definitions::store::all_of(&app.db, ids).await?;
    let zone = app.config.time_zone;
    Ok(records.into_iter().map(|record| TableView::new(record, zone)).collect())
}

/// The routes of this room.
pub fn routes() -> Vec<Route> {
    [definitions(), physical(), recycle_bin(), fields(), figures()].into_iter().flatten().collect()
}

fn definitions() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/tables",
            Viewer,
            "listTables",
            "A page of tables, without those in the recycle bin",
            definitions::list::list,
        ),
        Route::new(
            Method::POST,
            "/api/v1/tables",
            Editor,
            "createTable",
            "Defines a table in the catalogue alone",
            definitions::api::create,
        )
        .refuses(&CREATED),
        Route::new(
            Method::PATCH,
            "/api/v1/tables",
            Editor,
            "updateTables",
            "Sets what only the catalogue says on many tables, on all or on none",
            definitions::bulk::update,
        )
        .refuses(&["change_running", "datasource_not_allowed", "deprecated"]),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}",
            Viewer,
            "getTable",
            "One table with its fields, its data source, and how the database differs",
            definitions::api::get,
        )
        .versioned(),
        Route::new(
            Method::PUT,
            "/api/v1/tables/{id}",
            Editor,
            "updateTable",
            "Changes the members that are given; the physical table follows",
            definitions::api::update,
        )
        .refuses(&CHANGES)
        .versioned()
        .dry_run(),
        Route::new(
            Method::PUT,
            "/api/v1/tables/{id}/comment",
            Editor,
            "setTableComment",
            "Changes a table's comment, in the database first",
            definitions::api::set_comment,
        )
        .refuses(&CHANGES)
        .versioned()
        .dry_run(),
    ]
}

fn physical() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/api/v1/tables/{id}/physical",
            Editor,
            "createPhysicalTable",
            "Creates the table in its database",
            physical::api::create,
        )
        .refuses(&CREATES)
        .dry_run(),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/changes",
            Viewer,
            "listTableChanges",
            "Physical changes of a table, the newest first",
            physical::api::list,
        )
        .refuses(&["datasource_not_allowed"]),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/schema-history",
            Viewer,
            "listSchemaHistory",
            "What became of a table's schema, the newest first",
            history::api::list,
        )
        .refuses(&["datasource_not_allowed"]),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/schema-history/{version}",
            Viewer,
            "getSchemaVersion",
            "One version of a table's schema, with the fields as they were",
            history::api::get,
        )
        .refuses(&["datasource_not_allowed"]),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/ddl",
            Viewer,
            "getTableDdl",
            "The text that creates the table, as its database gives it",
            physical::api::ddl,
        )
        .refuses(&QUESTIONS),
    ]
}

fn recycle_bin() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/api/v1/tables/{id}/soft-delete",
            Editor,
            "softDeleteTable",
            "Puts a table into the recycle bin for 30 days; the physical table is renamed",
            recycle::api::soft_delete,
        )
        .refuses(&CHANGES)
        .dry_run(),
        Route::new(
            Method::GET,
            "/api/v1/tables/pending-deletion",
            Viewer,
            "listPendingDeletion",
            "Tables in the recycle bin, the next to go first",
            recycle::api::pending,
        ),
        Route::new(
            Method::POST,
            "/api/v1/tables/{id}/restore",
            Editor,
            "restoreTable",
            "Takes a table out of the recycle bin, under its old name",
            recycle::restore::restore,
        )
        .refuses(&RECYCLED)
        .dry_run(),
        Route::new(
            Method::POST,
            "/api/v1/tables/{id}/purge-now",
            Admin,
            "purgeTable",
            "Drops a table of the recycle bin at once and for ever",
            recycle::api::purge_now,
        )
        .refuses(&RECYCLED)
        .dry_run(),
    ]
}

fn fields() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/fields",
            Viewer,
            "listFields",
            "A table's fields in their order",
            fields::api::list,
        ),
        Route::new(
            Method::POST,
            "/api/v1/tables/{id}/fields",
            Editor,
            "createField",
            "Adds a field; to the physical table, too",
            fields::api::create,
        )
        .refuses(&FIELDS)
        .dry_run(),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/fields/{fieldId}",
            Viewer,
            "getField",
            "One field of a table",
            fields::api::get,
        )
        .versioned(),
        Route::new(
            Method::PUT,
            "/api/v1/tables/{id}/fields/{fieldId}",
            Editor,
            "updateField",
            "Changes the members that are given; in the physical table, too",
            fields::api::update,
        )
        .refuses(&CHANGES)
        .versioned()
        .dry_run(),
        Route::new(
            Method::DELETE,
            "/api/v1/tables/{id}/fields/{fieldId}",
            Editor,
            "deleteField",
            "Removes a field; from the physical table, too",
            fields::api::delete,
        )
        .refuses(&CHANGES)
        .versioned()
        .dry_run(),
    ]
}

fn figures() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/statistics",
            Viewer,
            "getTableStatistics",
            "How many rows and bytes; remembered for five minutes",
            statistics::api::get,
        )
        .refuses(&QUESTIONS),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/access-stats",
            Viewer,
            "getTableAccessStats",
            "How often and by whom a table is read",
            accesses::api::get,
        )
        .refuses(&["datasource_not_allowed", "wrong_cluster"]),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/statistics/history",
            Viewer,
            "listStatisticsHistory",
            "Statistics as they were collected, the newest first",
            statistics::api::history,
        )
        .refuses(&["datasource_not_allowed"]),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/statistics/history/last7days",
            Viewer,
            "listStatisticsOfLast7Days",
            "Statistics of the last 7 days, the oldest first",
            statistics::api::last_7_days,
        )
        .refuses(&["datasource_not_allowed"]),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/statistics/history/last30days",
            Viewer,
            "listStatisticsOfLast30Days",
            "Statistics of the last 30 days, the oldest first",
            statistics::api::last_30_days,
        )
        .refuses(&["datasource_not_allowed"]),
    ]
}
