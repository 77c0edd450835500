//! Topics: conversations, and what is said in them. A topic belongs to whoever opened it; to others it is not
//! there, but an admin may read it.

pub mod api;
pub mod store;
pub mod view;

use lakeport_base::Error;
use lakeport_http::{Caller, Role};
use uuid::Uuid;

use crate::agent::Agent;

/// A topic as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// The store's own number.
    pub id: i64,
    pub topic_id: String,
    /// The key of whom it belongs to.
    pub owner: String,
    pub title: String,
    /// None: all that whoever asks may read.
    pub datasources: Option<Vec<String>>,
    pub message_count: i64,
    pub last_task: Option<(String, String)>,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "MessageRole")]
pub enum Says {
    User,
    Assistant,
}

impl Says {
    pub fn as_str(self) -> &'static str {
        match self {
            Says::User => "user",
            Says::Assistant => "assistant",
        }
    }
}

/// A message as it is kept.
pub struct Message {
    pub message_id: String,
    pub task_id: String,
    pub says: Says,
    pub content: String,
    /// A JSON array.
    pub artifacts: String,
    pub created_at_ms: i64,
}

/// A topic that the caller may read, or 404.
pub async fn readable(state: &Agent, caller: &Caller, topic_id: Uuid) -> Result<Topic, Error> {
    let topic = store::find(&state.db, &topic_id.to_string()).await?;
    topic.filter(|topic| may_read(caller, &topic.owner)).ok_or_else(|| unknown(topic_id))
}

/// Whether the caller may see what belongs to this owner. One who is bound to data sources does not see rows of
/// others in what somebody else was answered.
pub fn may_read(caller: &Caller, owner: &str) -> bool {
    caller.key() == owner || (caller.role == Role::Admin && caller.datasources.is_none())
}

/// 403 for an admin, who may read what belongs to others and no more.
pub fn check_owner(caller: &Caller, owner: &str) -> Result<(), Error> {
    if caller.key() == owner {
        return Ok(());
    }
    let message =
        "the topic belongs to somebody else; an admin may read it, and nobody but its owner may change it";
    Err(Error::forbidden("not_owner", message))
}

pub fn unknown(topic_id: Uuid) -> Error {
    Error::not_found("topic", topic_id)
}
