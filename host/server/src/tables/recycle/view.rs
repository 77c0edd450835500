//! Tables of the recycle bin as answers show them.

use chrono_tz::Tz;
use lakeport_base::time::{self, DAY_MS};
use schemars::JsonSchema;
use serde::Serialize;

use crate::tables::change::failure::Failure;
use crate::tables::definitions::Record;

/// A table in the recycle bin.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PendingDeletion")]
pub struct PendingView {
    id: i64,
    cluster_id: Option<i64>,
    db_name: String,
    /// The current name, with the suffix of the recycle bin.
    table_name: String,
    /// The name before the table was moved to the recycle bin.
    origin_table_name: String,
    table_comment: Option<String>,
    /// Always `deprecated`.
    status: &'static str,
    deprecated_at: String,
    purge_at: String,
    /// Days until `purgeAt`; part of a day counts as one.
    remaining_days: i64,
    /// The error of the last failed attempt to drop the table; the server tries again.
    purge_error: Option<PurgeError>,
    /// The caller may not use the data source: `purgeError` is left out.
    withheld: bool,
}

#[derive(Serialize, JsonSchema)]
struct PurgeError {
    /// An error code, as in `error` of an error response.
    code: String,
    message: String,
    at: String,
}

/// A task that reads or writes a table.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TableTask")]
pub struct TaskView {
    pub id: i64,
    pub task_name: String,
}

/// The answer to a soft deletion.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SoftDeleted {
    #[serde(flatten)]
    pub table: PendingView,
    /// Tasks that remain bound to the table; at most 1,000 are listed.
    pub referenced_by_tasks: Vec<TaskView>,
}

/// The answer to a permanent deletion.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PurgedTable {
    pub id: i64,
    pub table_name: String,
    pub origin_table_name: Option<String>,
    pub purged: bool,
    /// False: no database had the table, and only its catalogue entry was deleted.
    pub dropped: bool,
}

impl PendingView {
    /// For a caller who may not use the data source.
    pub fn withhold(self) -> PendingView {
        PendingView { purge_error: None, withheld: true, ..self }
    }

    pub fn new(record: Record, failure: Option<(Failure, i64)>, now_ms: i64, zone: Tz) -> PendingView {
        let shown = |at_ms: Option<i64>| at_ms.map(|at_ms| time::shown(at_ms, zone)).unwrap_or_default();
        let left_ms = record.purge_at_ms.map_or(0, |at_ms| at_ms - now_ms);
        let definition = record.definition;
        PendingView {
            id: record.id,
            cluster_id: definition.cluster_id,
            db_name: definition.db_name,
            table_name: definition.table_name,
            origin_table_name: record.origin_table_name.unwrap_or_default(),
            table_comment: definition.table_comment,
            status: "deprecated",
            deprecated_at: shown(record.deprecated_at_ms),
            purge_at: shown(record.purge_at_ms),
            remaining_days: (left_ms.max(0) + DAY_MS - 1) / DAY_MS,
            withheld: false,
            purge_error: failure.map(|(failure, at_ms)| PurgeError {
                code: failure.code,
                message: failure.message,
                at: time::shown(at_ms, zone),
            }),
        }
    }
}
