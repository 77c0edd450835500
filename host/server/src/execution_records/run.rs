//! A run of a workflow.

/// A run of a workflow as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: i64,
    pub engine: String,
    pub workflow_id: i64,
    pub workflow_name: String,
    /// What it was asked for by; none: it was seen in the engine.
    pub key: Option<String>,
    /// What its start answered with.
    pub trigger: Option<String>,
    /// The engine's id; none: the engine's answer is not known.
    pub instance_id: Option<String>,
    /// `asked`, or the engine's state in the contract's words.
    pub state: String,
    /// `manual`, `schedule` or `backfill`.
    pub cause: String,
    pub business_time_ms: Option<i64>,
    pub asked_at_ms: i64,
    pub started_at_ms: Option<i64>,
    /// None: it is looked after.
    pub ended_at_ms: Option<i64>,
    pub message: Option<String>,
    pub version: i64,
}
