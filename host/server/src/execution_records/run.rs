//! A run of a workflow.

use schemars::JsonSchema;
use serde::Deserialize;

/// A stored run of a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: i64,
    pub engine: String,
    pub workflow_id: i64,
    pub workflow_name: String,
    /// The key of its request; `None`: it was found in the engine.
    pub key: Option<String>,
    /// The trigger code from its start.
    pub trigger: Option<String>,
    /// The engine's id; `None`: unknown.
    pub instance_id: Option<String>,
    /// `asked`, or the engine's state in the contract's words.
    pub state: String,
    /// `manual`, `schedule` or `backfill`.
    pub cause: String,
    pub business_time_ms: Option<i64>,
    pub asked_at_ms: i64,
    pub started_at_ms: Option<i64>,
    /// `None`: it is still watched.
    pub ended_at_ms: Option<i64>,
    pub message: Option<String>,
    /// The version of the workflow that was deployed when it began; `None`: unknown.
    pub workflow_version: Option<i64>,
    /// The part of the workflow that was asked for; `None`: all of it, or unknown.
    pub part: Option<Part>,
    /// `CONTINUE` or `END`, as it was asked for; `None`: unknown.
    pub failure_strategy: Option<String>,
    /// It was begun again.
    pub again: Option<Again>,
    pub version: i64,
}

/// Of a run that was begun again: an engine may show it with its old end for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    pub until_ms: i64,
    /// The old end.
    pub ended_ms: i64,
}

impl Run {
    /// Whether the engine shows the end that it had before it was begun again.
    pub fn is_old_end(&self, shown: &Run, now_ms: i64) -> bool {
        let is_old = |again: Again| {
            now_ms < again.until_ms && shown.ended_at_ms.is_some_and(|at| at <= again.ended_ms)
        };
        self.again.is_some_and(is_old)
    }
}

/// A part of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub task_id: i64,
    pub reach: Reach,
}

/// How far a run of a part goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// The task and all that come after it.
    From,
    /// The task alone.
    Only,
}

impl Reach {
    pub fn as_str(self) -> &'static str {
        match self {
            Reach::From => "from",
            Reach::Only => "only",
        }
    }

    pub fn parse(text: &str) -> Option<Reach> {
        [Reach::From, Reach::Only].into_iter().find(|reach| reach.as_str() == text)
    }
}
