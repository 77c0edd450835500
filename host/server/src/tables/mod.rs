//! Tables: their definitions and fields, the recycle bin, statistics, and the physical tables that follow. It
//! writes no statement itself: a dialect plans, the host runs.

mod accesses;
mod change;
mod definitions;
mod drift;
mod feed;
mod fields;
pub mod forms;
mod history;
mod physical;
pub mod reconcile;
mod recycle;
mod sources;
mod statistics;
mod store;

use std::sync::{Arc, LazyLock};

use ::http::Method;
use futures_util::future::BoxFuture;
use lakeport_base::Error;
use lakeport_http::Role::{Admin, Editor, Viewer};
use lakeport_http::{Nothing, Route};
use lakeport_store::{Db, Tx};

use crate::core::{Core, stands_on_core};
use crate::datasources::{self, Datasources};
use crate::part::{Fate, InUse, Part, Resource, RetentionRule, Start, Worker};
use crate::plugins::CALL_CODES;
pub use change::TOPIC as CHANGES_TOPIC;
pub use definitions::Record;
pub use definitions::list::page;
pub use definitions::store::{active_of, all_kept, all_of as records_of};
pub use definitions::view::TableView;
pub use feed::Catalog;
pub use fields::Field;
pub use fields::store::{of_ids as fields_of_ids, of_tables as fields_of};
pub use history::Source as SchemaSource;
pub use statistics::{Size, store::keep as keep_size, store::last as last_sizes};
pub use store::{ForeignKey, databases_of, foreign_keys_of};

/// The change log's topic of tables and their fields; the key is the table's id.
pub const TOPIC: &str = "tables";

/// The error codes of changes that may include a physical change.
const CHANGE_CODES: &[&str] = &[
    "change_failed",
    "change_running",
    "datasource_not_allowed",
    "deprecated",
    "schema_drift",
    "in_use",
    "interrupted",
    "name_taken",
    "no_datasource",
    "not_a_table",
    "not_changeable",
    "wrong_cluster",
];
/// The error codes of queries about a physical table.
const QUESTION_CODES: &[&str] =
    &["datasource_not_allowed", "schema_drift", "no_datasource", "not_physical", "wrong_cluster"];

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

/// Tables, with their state in memory.
pub struct Tables {
    core: Arc<Core>,
    datasources: Arc<Datasources>,
    catalog: Arc<Catalog>,
    users: TableUsers,
    collecting: statistics::Collecting,
    own_cluster: tokio::sync::OnceCell<i64>,
}

stands_on_core!(Tables);

/// The result of a function of a module above.
pub type FromAbove<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// Reads the tasks that are bound to a table, at most so many.
pub type BoundTo = for<'a> fn(&'a Db, i64, i64) -> FromAbove<'a, Vec<(i64, String)>>;

/// The functions of the modules above that use tables.
pub struct TableUsers {
    /// The ids and names of tasks that read or write a table.
    pub bound_to: BoundTo,
    /// Unbinds a table from all tasks, in the name of a caller.
    pub unbind: for<'a> fn(&'a mut Tx, i64, &'a str, i64) -> FromAbove<'a, usize>,
    /// The running tasks on a data source, newest first.
    pub running_on: for<'a> fn(&'a Core, i64) -> FromAbove<'a, Vec<RunningTask>>,
}

/// An execution that runs.
pub struct RunningTask {
    pub execution_id: i64,
    pub task_name: String,
    pub workflow_name: String,
}

impl Tables {
    pub fn new(
        core: &Arc<Core>,
        datasources: &Arc<Datasources>,
        catalog: &Arc<Catalog>,
        users: TableUsers,
    ) -> Tables {
        Tables {
            core: Arc::clone(core),
            datasources: Arc::clone(datasources),
            catalog: Arc::clone(catalog),
            users,
            collecting: statistics::Collecting::default(),
            own_cluster: tokio::sync::OnceCell::new(),
        }
    }

    /// The data source that is the store itself.
    async fn own_cluster(&self) -> Result<i64, Error> {
        self.own_cluster.get_or_try_init(|| datasources::own_id(&self.db)).await.copied()
    }
}

/// Codes of its own errors; a failed change keeps its code in the store.
const ERROR_CODES: &[&str] = &[
    "already_physical",
    "change_failed",
    "change_running",
    "deprecated",
    "interrupted",
    "no_datasource",
    "no_fields",
    "not_a_table",
    "not_deprecated",
    "not_physical",
    "schema_drift",
    "too_many_fields",
    "wrong_cluster",
];

pub fn part() -> Part<Tables> {
    let kept = |retained| RetentionRule::days(retained, |settings| settings.tables_days);
    Part {
        tags: &[("tables", "Definitions of tables, their fields, statistics and recycle bin")],
        routes: routes(),
        workers: vec![
            Worker::new(Start::AtOnce, |tables: Arc<Tables>| async move { tables.catalog.follow().await }),
            Worker::new(Start::AtOnce, change::run_worker),
            Worker::new(Start::AfterSetUp, recycle::run_job),
            Worker::new(Start::AfterSetUp, statistics::daily::run_job),
        ],
        retained: [statistics::store::RETAINED, change::store::RETAINED, history::RETAINED].map(kept).into(),
        in_use: vec![InUse { resource: "datasource", check: in_use }],
        error_codes: ERROR_CODES,
        ..Part::default()
    }
}

/// 409 if the catalogue has tables of the data source, unless it is only moved.
fn in_use<'a>(tx: &'a mut Tx, source: &'a Resource) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        if source.fate == Fate::Moved {
            return Ok(());
        }
        let used = match store::count_of(tx, source.id).await? {
            0 => return Ok(()),
            1 => "1 table uses".to_owned(),
            count => format!("{count} tables use"),
        };
        let (name, then) = (&source.name, source.fate.then());
        let message = format!(
            "{used} the data source `{name}`, the recycle bin included; {then} once no table uses it"
        );
        Err(Error::conflict("in_use", message))
    })
}

/// A request to this module.
pub type Call<P = Nothing, Q = Nothing, B = Nothing> = lakeport_http::Call<Tables, P, Q, B>;

fn routes() -> Vec<Route<Tables>> {
    [definitions(), physical(), recycle_bin(), fields(), figures()].into_iter().flatten().collect()
}

fn definitions() -> Vec<Route<Tables>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/tables",
            Viewer,
            "listTables",
            "List tables, without those in the recycle bin",
            definitions::list::list,
        ),
        Route::new(
            Method::GET,
            "/api/v1/tables/facets",
            Viewer,
            "getTableFacets",
            "Count the tables by the values that the list can be filtered by",
            definitions::list::facets,
        ),
        Route::new(
            Method::POST,
            "/api/v1/tables",
            Editor,
            "createTable",
            "Create a table in the catalogue only",
            definitions::api::create,
        )
        .versioned()
        .refuses(&CREATED),
        Route::new(
            Method::PATCH,
            "/api/v1/tables",
            Editor,
            "updateTables",
            "Update catalogue-only members of many tables, all or none",
            definitions::bulk::update,
        )
        .refuses(&["datasource_not_allowed", "deprecated"]),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}",
            Viewer,
            "getTable",
            "Get a table with its fields, its data source and its drift",
            definitions::api::get,
        )
        .versioned(),
        Route::new(
            Method::PUT,
            "/api/v1/tables/{id}",
            Editor,
            "updateTable",
            "Update the given members of a table, in the database first",
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
            "Set a table's comment, in the database first",
            definitions::api::set_comment,
        )
        .refuses(&CHANGES)
        .versioned()
        .dry_run(),
    ]
}

fn physical() -> Vec<Route<Tables>> {
    vec![
        Route::new(
            Method::POST,
            "/api/v1/tables/{id}/physical",
            Editor,
            "createPhysicalTable",
            "Create the physical table",
            physical::create,
        )
        .versioned()
        .refuses(&CREATES)
        .dry_run(),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/changes",
            Viewer,
            "listTableChanges",
            "List physical changes of a table, newest first",
            physical::list,
        )
        .refuses(&["datasource_not_allowed"]),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/schema-history",
            Viewer,
            "listSchemaHistory",
            "List the versions of a table's schema, newest first",
            history::api::list,
        )
        .refuses(&["datasource_not_allowed"]),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/schema-history/{version}",
            Viewer,
            "getSchemaVersion",
            "Get a version of a table's schema, with its fields",
            history::api::get,
        )
        .refuses(&["datasource_not_allowed"]),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/ddl",
            Viewer,
            "getTableDdl",
            "Get the CREATE statement of the physical table",
            physical::ddl,
        )
        .refuses(&QUESTIONS),
    ]
}

fn recycle_bin() -> Vec<Route<Tables>> {
    vec![
        Route::new(
            Method::POST,
            "/api/v1/tables/{id}/soft-delete",
            Editor,
            "softDeleteTable",
            "Move a table to the recycle bin for 30 days; the physical table is renamed",
            recycle::api::soft_delete,
        )
        .refuses(&CHANGES)
        .dry_run(),
        Route::new(
            Method::GET,
            "/api/v1/tables/pending-deletion",
            Viewer,
            "listPendingDeletion",
            "List tables in the recycle bin, the next to be purged first",
            recycle::api::pending,
        ),
        Route::new(
            Method::POST,
            "/api/v1/tables/{id}/restore",
            Editor,
            "restoreTable",
            "Restore a table from the recycle bin, under its old name",
            recycle::restore::restore,
        )
        .versioned()
        .refuses(&RECYCLED)
        .dry_run(),
        Route::new(
            Method::POST,
            "/api/v1/tables/{id}/purge-now",
            Admin,
            "purgeTable",
            "Drop a table of the recycle bin at once and for good",
            recycle::api::purge_now,
        )
        .refuses(&RECYCLED)
        .dry_run(),
    ]
}

fn fields() -> Vec<Route<Tables>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/fields",
            Viewer,
            "listFields",
            "List a table's fields in order",
            fields::api::list,
        ),
        Route::new(
            Method::POST,
            "/api/v1/tables/{id}/fields",
            Editor,
            "createField",
            "Add a field, in the database first",
            fields::api::create,
        )
        .versioned()
        .refuses(&FIELDS)
        .dry_run(),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/fields/{fieldId}",
            Viewer,
            "getField",
            "Get a field",
            fields::api::get,
        )
        .versioned(),
        Route::new(
            Method::PUT,
            "/api/v1/tables/{id}/fields/{fieldId}",
            Editor,
            "updateField",
            "Update the given members of a field, in the database first",
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
            "Delete a field, in the database first",
            fields::api::delete,
        )
        .refuses(&CHANGES)
        .versioned()
        .dry_run(),
    ]
}

fn figures() -> Vec<Route<Tables>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/statistics",
            Viewer,
            "getTableStatistics",
            "Get row count and sizes of a table; cached for five minutes",
            statistics::api::get,
        )
        .refuses(&QUESTIONS),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/access-stats",
            Viewer,
            "getTableAccessStats",
            "Get how often and by whom a table is read",
            accesses::api::get,
        )
        .refuses(&["datasource_not_allowed", "wrong_cluster"]),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/statistics/history",
            Viewer,
            "listStatisticsHistory",
            "List collected statistics, newest first",
            statistics::api::history,
        )
        .refuses(&["datasource_not_allowed"]),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/statistics/history/last7days",
            Viewer,
            "listStatisticsOfLast7Days",
            "List statistics of the last 7 days, oldest first",
            statistics::api::last_7_days,
        )
        .refuses(&["datasource_not_allowed"]),
        Route::new(
            Method::GET,
            "/api/v1/tables/{id}/statistics/history/last30days",
            Viewer,
            "listStatisticsOfLast30Days",
            "List statistics of the last 30 days, oldest first",
            statistics::api::last_30_days,
        )
        .refuses(&["datasource_not_allowed"]),
    ]
}
