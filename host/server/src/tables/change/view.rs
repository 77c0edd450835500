//! Physical changes in answers.

use chrono_tz::Tz;
use lakeport_base::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::ChangeRow;
use crate::tables::definitions::Drift;

/// A statement of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedStatement {
    pub sql: String,
    /// The statements that undo it; empty: it cannot be undone.
    pub undo: Vec<String>,
    /// The statement can lose data.
    pub destroys: bool,
    /// Its purpose, for people.
    pub note: String,
}

/// A statement of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Statement {
    #[serde(flatten)]
    pub planned: PlannedStatement,
    /// Null: the change is still running, or ended without a recorded outcome.
    pub outcome: Option<StatementOutcome>,
    /// The error of the statement, or of its undo.
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatementOutcome {
    Done,
    Failed,
    Undone,
    NotRun,
}

/// A note for the user that does not prevent the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PlanNote")]
pub struct Note {
    /// The member that the database stores differently, or cannot store.
    pub member: String,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "TableChangeState")]
pub enum State {
    Running,
    Success,
    Failed,
}

/// A change of a physical table.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TableChange")]
pub struct ChangeView {
    id: i64,
    table_id: i64,
    /// `create_table`, `rename_table`, `add_field` and so on; `change_table` combines several changes.
    kind: String,
    state: State,
    statements: Vec<Statement>,
    notes: Vec<Note>,
    /// Differences between the requested and the actual result.
    drift: Vec<Drift>,
    /// The error of a failed change.
    error: Option<ChangeError>,
    requested_by: String,
    started_at: String,
    finished_at: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ChangeError {
    /// An error code, as in `error` of an error response.
    code: String,
    message: String,
}

impl ChangeView {
    pub fn new(change: ChangeRow, zone: Tz) -> ChangeView {
        let error =
            |failure: super::failure::Failure| ChangeError { code: failure.code, message: failure.message };
        ChangeView {
            id: change.id,
            table_id: change.table_id,
            kind: change.kind,
            state: change.state,
            statements: change.statements,
            notes: change.notes,
            drift: change.drift,
            error: change.failure.map(error),
            requested_by: change.requested_by,
            started_at: time::shown(change.started_at_ms, zone),
            finished_at: change.finished_at_ms.map(|at_ms| time::shown(at_ms, zone)),
        }
    }
}

/// The planned statements.
#[derive(Serialize, JsonSchema)]
pub struct DryRun {
    pub statements: Vec<PlannedStatement>,
    pub notes: Vec<Note>,
}

/// A change that is still running.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TableChangeUnderWay")]
pub struct UnderWay {
    pub change: ChangeView,
}

/// The answer to a request that may change a physical table.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Changed{T}")]
pub enum Changed<T> {
    /// With `dryRun`: nothing was changed.
    DryRun(DryRun),
    /// The change is still running after 25 s.
    UnderWay(UnderWay),
    Done(T),
}
