//! Physical changes as answers show them.

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
    /// Statements that take it back; none: nothing does.
    pub undo: Vec<String>,
    /// Data can be lost by it.
    pub destroys: bool,
    /// What it does, for a person.
    pub note: String,
}

/// A statement of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Statement {
    #[serde(flatten)]
    pub planned: PlannedStatement,
    /// Null: it is not known yet, or not any more.
    pub outcome: Option<StatementOutcome>,
    /// Why it, or what takes it back, failed.
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

/// What the user should know and what does not hinder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PlanNote")]
pub struct Note {
    /// The member that the database stores otherwise, or not at all.
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
    /// `create_table`, `rename_table`, `add_field` and so on; `change_table`: several at once.
    kind: String,
    state: State,
    statements: Vec<Statement>,
    notes: Vec<Note>,
    /// What the database has otherwise than was wanted.
    drift: Vec<Drift>,
    /// Why it failed.
    error: Option<ChangeError>,
    requested_by: String,
    started_at: String,
    finished_at: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ChangeError {
    /// As an answer's `error`.
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

/// What would be run.
#[derive(Serialize, JsonSchema)]
pub struct DryRun {
    pub statements: Vec<PlannedStatement>,
    pub notes: Vec<Note>,
}

/// A change that goes on.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TableChangeUnderWay")]
pub struct UnderWay {
    pub change: ChangeView,
}

/// What a change that a physical table follows is answered with.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Changed{T}")]
pub enum Changed<T> {
    /// With `dryRun`: nothing was changed.
    DryRun(DryRun),
    /// It was not done after 25 s, and goes on.
    UnderWay(UnderWay),
    Done(T),
}
