//! What requests of area A say. Its members are `snake_case`, unlike those of the other areas.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::http::form::{self, Patch};

/// Records of a page where the request does not say.
pub const PAGE_SIZE_DEFAULT: i64 = 50;
pub const PAGE_SIZE_MAX: i64 = 200;

#[derive(Deserialize, JsonSchema)]
pub struct TopicPath {
    #[serde(deserialize_with = "form::uuid")]
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub topic_id: Uuid,
}

#[derive(Deserialize, JsonSchema)]
pub struct TaskPath {
    #[serde(deserialize_with = "form::uuid")]
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub task_id: Uuid,
}

/// Which page of topics (the newest first) or of messages (the oldest first).
#[derive(Deserialize, JsonSchema)]
pub struct ListQuery {
    #[schemars(range(min = 1), extend("default" = 1))]
    pub page: Option<i64>,
    #[schemars(range(min = 1, max = PAGE_SIZE_MAX), extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
pub struct CreateTopic {
    /// Not blank.
    #[schemars(length(min = 1))]
    pub title: String,
    /// Names of the data sources that its questions may touch; absent: all that the caller may read.
    pub datasources: Option<Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct UpdateTopic {
    /// Not blank.
    #[schemars(length(min = 1))]
    pub title: Option<String>,
    /// Null: all that the caller may read.
    #[serde(default)]
    pub datasources: Patch<Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct DeliverMessage {
    #[serde(deserialize_with = "form::uuid")]
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub topic_id: Uuid,
    /// The question; not blank.
    #[schemars(length(min = 1))]
    pub content: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct StreamQuery {
    /// The `seq` of the last event that was seen; the header `Last-Event-ID` says the same and wins.
    #[schemars(range(min = 0))]
    pub after: Option<i64>,
}

/// One JSON-RPC message of the Model Context Protocol: a request, a notification or an answer.
#[derive(Deserialize, JsonSchema)]
pub struct McpMessage {
    #[schemars(extend("const" = "2.0"))]
    pub jsonrpc: String,
    /// Absent in a notification.
    #[schemars(extend("type" = ["string", "integer", "null"]))]
    pub id: Option<Value>,
    pub method: Option<String>,
    #[schemars(extend("type" = ["object", "array", "null"], "items" = {}))]
    pub params: Option<Value>,
    /// Of an answer to the server's own request.
    pub result: Option<Value>,
    /// Of an answer to the server's own request.
    pub error: Option<Value>,
}
