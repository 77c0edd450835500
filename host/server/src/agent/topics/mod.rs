//! Topics: conversations with their messages. A topic belongs to the caller who created it; it is hidden from
//! others, except that admins may read it.

pub mod api;
pub mod cache;
pub mod store;
pub mod view;

use lakeport_base::Error;
use lakeport_http::{Caller, Role};
use lakeport_store::Db;
use uuid::Uuid;

use super::tasks;
use crate::agent::outcome::{Candidate, Outcome};

/// A stored topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// The store's internal id.
    pub id: i64,
    pub topic_id: String,
    /// The owner's key.
    pub owner: String,
    pub title: String,
    /// `None`: all that the caller may read.
    pub datasources: Option<Vec<String>>,
    /// The model that it names: the id, the name. `None`: the default.
    pub model: Option<(i64, String)>,
    pub message_count: i64,
    /// Bytes of its messages and events.
    pub bytes: i64,
    pub last_task: Option<(String, String)>,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

/// The author of a message.
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

/// What the reader of an answer thinks of it. In the store it is JSON.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Feedback {
    pub rating: Rating,
    pub comment: Option<String>,
    pub at_ms: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rating {
    Up,
    Down,
}

/// A stored message.
pub struct Message {
    pub message_id: String,
    pub task_id: String,
    pub says: Says,
    pub content: String,
    /// A JSON array.
    pub artifacts: String,
    /// Of an answer.
    pub outcome: Option<Outcome>,
    pub feedback: Option<Feedback>,
    pub created_at_ms: i64,
}

impl Message {
    /// Of its texts.
    pub fn bytes(&self) -> i64 {
        i64::try_from(self.content.len() + self.artifacts.len()).unwrap_or(i64::MAX)
    }
}

/// A question with its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    pub question: String,
    pub answer: String,
    /// What the user could choose from then.
    pub candidates: Vec<Candidate>,
}

/// A topic that the caller may read, or 404.
pub async fn readable(db: &Db, caller: &Caller, topic_id: Uuid) -> Result<Topic, Error> {
    let topic = store::find(db, &topic_id.to_string()).await?;
    topic.filter(|topic| may_read(caller, &topic.owner)).ok_or_else(|| unknown(topic_id))
}

/// 404 if an answer of the topic may be from a data source that the caller may not read any more.
pub async fn check_answers(db: &Db, caller: &Caller, topic: &Topic) -> Result<(), Error> {
    if !caller.is_bound() {
        return Ok(());
    }
    let rights = tasks::store::rights_of(db, topic.id).await?;
    if rights.iter().all(|rights| has_rights(caller, rights.as_deref())) {
        Ok(())
    } else {
        Err(Error::not_found("topic", &topic.topic_id))
    }
}

/// Whether the caller has these rights of a question, too. `None`: all data sources.
pub fn has_rights(caller: &Caller, rights: Option<&[String]>) -> bool {
    !caller.is_bound() || rights.is_some_and(|names| names.iter().all(|name| caller.may_use(name)))
}

/// Whether the caller may see this owner's topics. A caller restricted to data sources may not, because
/// answers may contain rows of others.
pub fn may_read(caller: &Caller, owner: &str) -> bool {
    caller.key() == owner || (caller.role == Role::Admin && !caller.is_bound())
}

/// 403 for an admin, who may only read others' topics.
pub fn check_owner(caller: &Caller, owner: &str) -> Result<(), Error> {
    if caller.key() == owner {
        return Ok(());
    }
    let message = "the topic belongs to another user; an admin may read it, only its owner may change it";
    Err(Error::forbidden("not_owner", message))
}

pub fn unknown(topic_id: Uuid) -> Error {
    Error::not_found("topic", topic_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_for_callers_with_the_rights_of_their_questions() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let bound = Caller { datasources: Some(names(&["a", "b"])), ..Caller::local() };
        assert!(has_rights(&bound, Some(&names(&["b"]))) && has_rights(&bound, Some(&[])));
        assert!(!has_rights(&bound, Some(&names(&["a", "c"]))) && !has_rights(&bound, None));
        assert!(has_rights(&Caller::local(), None));
    }
}
