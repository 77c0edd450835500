//! Topics and messages in answers.

use std::borrow::Cow;
use std::sync::Arc;

use lakeport_http::{Paging, WrittenJson, etag_of};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Feedback, Message, Rating, Says, Topic};
use crate::agent::outcome::{Candidate, Outcome};
use crate::agent::results::Column;
use crate::agent::time_of;

/// One page of a list.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ListOf{T}")]
pub struct List<T> {
    pub items: Vec<T>,
    /// The number of items on all pages.
    pub total: i64,
    pub page: i64,
    pub page_size: i64,
}

impl<T> List<T> {
    pub fn new(paging: &Paging, total: i64, items: Vec<T>) -> List<T> {
        List { items, total, page: paging.page_num, page_size: paging.page_size }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Topic")]
pub struct TopicView {
    #[schemars(extend("format" = "uuid"))]
    topic_id: String,
    title: String,
    /// Names of the data sources that its questions may use; null: all that the caller may read.
    datasources: Option<Vec<String>>,
    /// The name of the model that answers; null: the default one.
    model: Option<String>,
    message_count: i64,
    #[schemars(extend("format" = "uuid"))]
    last_task_id: Option<String>,
    /// `waiting`, `running`, `success`, `failed` or `suspended`.
    last_task_status: Option<String>,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    #[schemars(extend("format" = "date-time"))]
    updated_at: String,
}

/// The defined members of a topic, for its `ETag`.
#[derive(Serialize)]
pub struct Definition<'t> {
    topic_id: &'t str,
    title: &'t str,
    datasources: Option<&'t [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'t str>,
}

impl Topic {
    pub fn definition(&self) -> Definition<'_> {
        let datasources = self.datasources.as_deref();
        let model = self.model.as_ref().map(|(_, name)| name.as_str());
        Definition { topic_id: &self.topic_id, title: &self.title, datasources, model }
    }

    pub fn etag(&self) -> String {
        etag_of(&self.definition())
    }

    pub fn view(&self) -> TopicView {
        let (last_task_id, last_task_status) = self.last_task.clone().unzip();
        TopicView {
            topic_id: self.topic_id.clone(),
            title: self.title.clone(),
            datasources: self.datasources.clone(),
            model: self.model.as_ref().map(|(_, name)| name.clone()),
            message_count: self.message_count,
            last_task_id,
            last_task_status,
            created_at: time_of(self.created_at_ms),
            updated_at: time_of(self.updated_at_ms),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Message")]
pub struct MessageView {
    #[schemars(extend("format" = "uuid"))]
    message_id: String,
    #[schemars(extend("format" = "uuid"))]
    topic_id: String,
    #[schemars(extend("format" = "uuid"))]
    task_id: String,
    role: Says,
    content: String,
    /// The stored artifacts.
    #[schemars(with = "Vec<ArtifactView>")]
    artifacts: WrittenJson,
    /// Of an answer: `answered`, `needs_clarification` or `refused`; null for a question.
    outcome: Option<String>,
    /// The meanings to choose from, if it needs clarification.
    candidates: Vec<Candidate>,
    /// Why it was refused.
    reason: Option<String>,
    /// Up to three questions that could be answered instead.
    suggestions: Vec<String>,
    /// What the reader of the answer thinks of it.
    feedback: Option<FeedbackView>,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
}

/// A message that was written as JSON before. It is described as the message itself.
#[derive(Serialize)]
#[serde(transparent)]
pub struct WrittenMessage(pub WrittenJson<Arc<str>>);

impl JsonSchema for WrittenMessage {
    fn schema_name() -> Cow<'static, str> {
        MessageView::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        MessageView::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        MessageView::json_schema(generator)
    }
}

/// The output of a tool: `sql` with `datasource` and `sql`; `table` with `columns`, `rows` (arrays in column
/// order), `row_count` and `truncated`; `chart` with `spec`, a Vega-Lite specification over the table. A tool
/// may create other kinds with members of its own. It has the members of its kind alone.
#[derive(JsonSchema)]
#[schemars(rename = "Artifact", extend("required" = ["kind"]))]
#[expect(dead_code, reason = "it describes what tools have made; nothing is read into it")]
struct ArtifactView {
    kind: String,
    datasource: Option<String>,
    sql: Option<String>,
    columns: Option<Vec<Column>>,
    rows: Option<Vec<Vec<ArtifactCell>>>,
    row_count: Option<i64>,
    truncated: Option<bool>,
    spec: Option<Map<String, Value>>,
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes what tools have made; nothing is read into it")]
pub enum ArtifactCell {
    Null,
    Boolean(bool),
    Number(f64),
    Text(String),
}

impl MessageView {
    pub fn new(topic_id: &str, message: Message) -> MessageView {
        let outcome = message.outcome.as_ref();
        MessageView {
            message_id: message.message_id,
            topic_id: topic_id.to_owned(),
            task_id: message.task_id,
            role: message.says,
            content: message.content,
            artifacts: WrittenJson(message.artifacts),
            outcome: outcome.map(|outcome| outcome.as_str().to_owned()),
            candidates: outcome.map_or(&[][..], Outcome::candidates).to_vec(),
            reason: outcome.and_then(Outcome::reason).map(str::to_owned),
            suggestions: outcome.map_or(&[][..], Outcome::suggestions).to_vec(),
            feedback: message.feedback.map(FeedbackView::from),
            created_at: time_of(message.created_at_ms),
        }
    }
}

/// A reader's opinion of an answer.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Feedback")]
pub struct FeedbackView {
    rating: Rating,
    comment: Option<String>,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
}

impl From<Feedback> for FeedbackView {
    fn from(feedback: Feedback) -> FeedbackView {
        let Feedback { rating, comment, at_ms } = feedback;
        FeedbackView { rating, comment, created_at: time_of(at_ms) }
    }
}

/// The answer to a deletion.
#[derive(Serialize, JsonSchema)]
pub struct DeletedTopic {
    #[schemars(extend("format" = "uuid"))]
    pub topic_id: String,
    pub deleted: bool,
}
