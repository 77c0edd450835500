//! Tasks: a question in a topic, and the progress of its answer. A request stores the message and the task in
//! one transaction; a worker does the rest, and every step is an event that is stored before it is sent.

pub mod api;
pub mod event;
pub mod log;
pub mod store;
pub mod stream;
pub mod streams;
mod view;

use super::models::spent::cost;
use super::steps::background::ContextSize;

/// The status in the interface's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "TaskStatus")]
pub enum Status {
    Waiting,
    Running,
    Success,
    Failed,
    Suspended,
}

impl Status {
    const ALL: [Status; 5] =
        [Status::Waiting, Status::Running, Status::Success, Status::Failed, Status::Suspended];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Waiting => "waiting",
            Status::Running => "running",
            Status::Success => "success",
            Status::Failed => "failed",
            Status::Suspended => "suspended",
        }
    }

    pub fn named(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Whether the status is final.
    pub fn is_final(self) -> bool {
        matches!(self, Status::Success | Status::Failed | Status::Suspended)
    }
}

/// A stored task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The store's internal id.
    pub id: i64,
    pub task_id: String,
    /// Of its topic: the internal id, the id, the owner, the data sources that its questions may use.
    pub topic: i64,
    pub topic_id: String,
    pub owner: String,
    pub topic_datasources: Option<Vec<String>>,
    pub status: Status,
    pub content: String,
    /// The caller's name in the log of queries, and the data sources that it might read in the topic when it asked.
    pub asked_by: String,
    pub datasources: Option<Vec<String>>,
    pub provider: String,
    pub model: String,
    /// Of the resource; `None`: `offline`.
    pub model_id: Option<i64>,
    pub usage: Usage,
    /// The size of what its model got besides the question.
    pub context: Option<ContextSize>,
    /// Why it failed: code and message.
    pub error: Option<(String, String)>,
    /// The number of its last event.
    pub last_seq: i64,
    /// How many workers have started it or taken it over.
    pub claims: i64,
    pub created_at_ms: i64,
    pub started_at_ms: Option<i64>,
    pub finished_at_ms: Option<i64>,
}

/// The cost of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "TaskUsage")]
pub struct Usage {
    pub model_calls: i64,
    pub tool_calls: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// In the currency of the model's prices.
    #[serde(rename = "cost", serialize_with = "in_currency")]
    #[schemars(with = "f64")]
    pub cost_micros: i64,
}

fn in_currency<S: serde::Serializer>(micros: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(cost(*micros))
}

impl Task {
    /// The rights of its tools: the topic's data sources that the caller may read. `None`: all.
    pub fn rights(&self) -> Option<Vec<String>> {
        both(self.topic_datasources.as_deref(), self.datasources.as_deref())
    }
}

/// The data sources that both lists allow; `None` allows all.
pub fn both(one: Option<&[String]>, other: Option<&[String]>) -> Option<Vec<String>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.iter().filter(|name| other.contains(name)).cloned().collect()),
        (Some(only), None) | (None, Some(only)) => Some(only.to_vec()),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_those_of_both() {
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let of =
            |one: Option<Vec<String>>, other: Option<Vec<String>>| both(one.as_deref(), other.as_deref());
        assert_eq!(of(None, None), None);
        assert_eq!(of(names(&["a", "b"]), None), names(&["a", "b"]));
        assert_eq!(of(None, names(&["b"])), names(&["b"]));
        assert_eq!(of(names(&["a", "b"]), names(&["b", "c"])), names(&["b"]));
        assert_eq!(of(names(&["a"]), names(&["b"])), names(&[]));
    }
}
