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
    /// With the suffix of the recycle bin.
    table_name: String,
    /// What it was called before.
    origin_table_name: String,
    table_comment: Option<String>,
    /// `deprecated`
    status: &'static str,
    deprecated_at: String,
    purge_at: String,
    /// Until then; part of a day counts as one.
    remaining_days: i64,
    /// Why the last attempt to drop it failed; it is tried again.
    purge_error: Option<PurgeError>,
}

#[derive(Serialize, JsonSchema)]
struct PurgeError {
    /// As an answer's `error`.
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

/// What is answered when a table goes into the recycle bin.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SoftDeleted {
    #[serde(flatten)]
    pub table: PendingView,
    /// They stay bound to it; 1,000 at most are named.
    pub referenced_by_tasks: Vec<TaskView>,
}

/// What is answered when a table has gone for ever.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PurgedTable {
    pub id: i64,
    pub table_name: String,
    pub origin_table_name: Option<String>,
    pub purged: bool,
    /// False: its database had no table of this name, or it was in none; the catalogue alone has forgotten it.
    pub dropped: bool,
}

impl PendingView {
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
            purge_error: failure.map(|(failure, at_ms)| PurgeError {
                code: failure.code,
                message: failure.message,
                at: time::shown(at_ms, zone),
            }),
        }
    }
}
