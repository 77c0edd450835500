//! What a workflow's engine is asked to change. It is stored before the engine is asked, and stays until the answer is
//! stored: a server that ends in between leaves a change that any server carries on.

use lakeport_base::Error;
use lakeport_http::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::definition::Schedule;
use super::forms::WorkflowStatus;
use crate::audit::store::Actor;

/// A change that an engine was asked for, or will be.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wanted {
    pub change: EngineChange,
    pub by: By,
    /// Another change was open before. Once this one is made, all that is stored is given to the engine.
    #[serde(default)]
    pub restores: bool,
}

impl Wanted {
    pub fn new(change: EngineChange, by: By) -> Wanted {
        Wanted { change, by, restores: false }
    }

    /// The stored schedule and status, on behalf of the same person.
    pub fn restore(&self) -> Wanted {
        Wanted::new(EngineChange::Restore, self.by.clone())
    }

    /// Something new, and not the end of an earlier change.
    pub fn is_forward(&self) -> bool {
        !self.change.is_follow_up()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum EngineChange {
    SetSchedule {
        schedule: Schedule,
    },
    Switch {
        status: WorkflowStatus,
    },
    #[serde(rename_all = "camelCase")]
    Remove {
        cascade_delete_tasks: bool,
    },
    /// The stored schedule and status, after a change of which the engine may have made a part.
    Restore,
    /// The engine carries out what it accepted; its progress is asked for.
    Settle,
}

/// Who asked for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct By {
    pub name: String,
    actor: String,
    actor_kind: String,
    operation: String,
    pub request_id: String,
}

/// Whether a workflow's engine has what is wanted of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "EngineState")]
pub enum EngineStatus {
    InSync,
    /// A change is under way, or its outcome is not known; it goes on by itself.
    Pending,
    /// The engine refused; it may have something else.
    Failed,
}

impl EngineStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            EngineStatus::InSync => "in_sync",
            EngineStatus::Pending => "pending",
            EngineStatus::Failed => "failed",
        }
    }

    pub fn parse(text: &str) -> Result<EngineStatus, Error> {
        match text {
            "in_sync" => Ok(EngineStatus::InSync),
            "pending" => Ok(EngineStatus::Pending),
            "failed" => Ok(EngineStatus::Failed),
            other => Err(Error::internal(anyhow::anyhow!("`{other}` is no status of an engine"))),
        }
    }
}

impl EngineChange {
    /// The end of an earlier change.
    pub fn is_follow_up(&self) -> bool {
        matches!(self, EngineChange::Restore | EngineChange::Settle)
    }

    /// For people: the earlier change is about ….
    pub fn title(&self) -> &'static str {
        match self {
            EngineChange::SetSchedule { .. } => "its schedule",
            EngineChange::Switch { .. } => "switching its schedule on or off",
            EngineChange::Remove { .. } => "its removal",
            EngineChange::Restore | EngineChange::Settle => "an earlier change",
        }
    }
}

impl By {
    /// The server itself, after a decision of this person.
    pub fn server(name: &str, request_id: String) -> By {
        let (name, actor_kind, operation) = (name.to_owned(), String::new(), String::new());
        By { actor: name.clone(), name, actor_kind, operation, request_id }
    }

    pub fn of<S, P, Q, B>(call: &Call<S, P, Q, B>) -> By {
        let request_id = call.request_id.as_str().to_owned();
        match call.attempt.as_deref().map(Actor::from) {
            Some(actor) => By {
                name: call.caller.name.clone(),
                actor: actor.name.into_owned(),
                actor_kind: actor.kind.to_owned(),
                operation: actor.operation.to_owned(),
                request_id,
            },
            None => By {
                name: call.caller.name.clone(),
                actor: call.caller.name.clone(),
                actor_kind: call.caller.kind().to_owned(),
                operation: String::new(),
                request_id,
            },
        }
    }

    pub fn actor(&self) -> Actor<'_> {
        Actor {
            name: self.actor.as_str().into(),
            kind: &self.actor_kind,
            operation: &self.operation,
            request_id: &self.request_id,
        }
    }
}
