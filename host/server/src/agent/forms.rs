//! The forms of requests of area A. Their members are `snake_case`, unlike those of the other areas.

use lakeport_http::form::{self, Amend, Number, Patch, Text};
use lakeport_http::{PageNum, Paging};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::topics::Rating;

/// The default page size.
pub const PAGE_SIZE_DEFAULT: i64 = 50;
pub const PAGE_SIZE_MAX: i64 = 200;
/// The most data sources of a topic.
pub const DATASOURCES_MAX: usize = 200;
/// Characters of a title.
const TITLE_MAX: usize = 500;
/// Characters of the name of a data source or model, and of a statement.
const NAME_MAX: usize = 100;
const SQL_MAX: usize = 100_000;
/// Rows of a statement.
const RUN_ROWS_MAX: i64 = 10_000;
/// Characters of a comment.
const COMMENT_MAX: usize = 2_000;
/// Characters of a question.
const CONTENT_MAX: usize = 10_000;

#[derive(Deserialize, JsonSchema)]
pub struct TopicPath {
    #[serde(deserialize_with = "form::uuid")]
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub topic_id: Uuid,
}

#[derive(Deserialize, JsonSchema)]
pub struct MessagePath {
    #[serde(deserialize_with = "form::uuid")]
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub message_id: Uuid,
}

#[derive(Deserialize, JsonSchema)]
pub struct RateAnswer {
    pub rating: Rating,
    pub comment: Option<Text<0, COMMENT_MAX>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct TaskPath {
    #[serde(deserialize_with = "form::uuid")]
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub task_id: Uuid,
}

#[derive(Deserialize, JsonSchema)]
pub struct ResultPath {
    #[serde(deserialize_with = "form::uuid")]
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub task_id: Uuid,
    /// Of an event `tool_result`.
    #[serde(deserialize_with = "form::uuid")]
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub call_id: Uuid,
}

#[derive(Deserialize, JsonSchema)]
pub struct ResultQuery {
    #[serde(default)]
    pub format: ResultFormat,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResultFormat {
    #[default]
    Csv,
    Ndjson,
    /// Whole, decimal and floating-point numbers, truth values, dates, timestamps and bytes as such, everything else as texts.
    Parquet,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStatement {
    /// The name of a data source.
    pub datasource: Text<1, NAME_MAX>,
    /// One statement that reads.
    pub sql: Text<1, SQL_MAX>,
    /// Absent: 1,000.
    pub max_rows: Option<Number<1, RUN_ROWS_MAX>>,
}

/// The page of topics (newest first) or of messages (oldest first).
#[derive(Deserialize, JsonSchema)]
pub struct ListQuery {
    #[schemars(extend("default" = 1))]
    pub page: Option<PageNum>,
    #[schemars(extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<Number<1, PAGE_SIZE_MAX>>,
}

impl ListQuery {
    pub fn paging(&self) -> Paging {
        paging(self.page, self.page_size)
    }
}

pub fn paging(page: Option<PageNum>, page_size: Option<Number<1, PAGE_SIZE_MAX>>) -> Paging {
    Paging { page_num: page.map_or(1, i64::from), page_size: page_size.map_or(PAGE_SIZE_DEFAULT, i64::from) }
}

#[derive(Deserialize, JsonSchema)]
pub struct CreateTopic {
    /// Not blank.
    pub title: Text<1, TITLE_MAX>,
    /// Names of the data sources that its questions may use; absent: all that the caller may read.
    #[schemars(length(max = DATASOURCES_MAX))]
    pub datasources: Option<Vec<String>>,
    /// The name of the model that answers; absent: the default one.
    pub model: Option<Text<1, NAME_MAX>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct UpdateTopic {
    /// Not blank.
    #[serde(default)]
    pub title: Amend<Text<1, TITLE_MAX>>,
    /// Null: all data sources that the caller may read.
    #[serde(default)]
    #[schemars(length(max = DATASOURCES_MAX))]
    pub datasources: Patch<Vec<String>>,
    /// Null: the default one.
    #[serde(default)]
    pub model: Patch<Text<1, NAME_MAX>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct DeliverMessage {
    #[serde(deserialize_with = "form::uuid")]
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub topic_id: Uuid,
    /// The question; not blank.
    pub content: Text<1, CONTENT_MAX>,
}

#[derive(Deserialize, JsonSchema)]
pub struct StreamQuery {
    /// The `seq` of the last received event; the header `Last-Event-ID` takes precedence.
    pub after: Option<Number<0, { i64::MAX }>>,
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
    /// In an answer to the server's own request.
    pub result: Option<Value>,
    /// In an answer to the server's own request.
    pub error: Option<Value>,
}

#[cfg(test)]
mod tests {
    use lakeport_base::Error;

    use super::*;

    #[test]
    fn a_page_out_of_bounds_is_refused_naming_each_parameter() {
        let paging = |query| form::from_query::<ListQuery>(query).map(|query| query.paging());
        let Err(Error::Refused(refusal)) = paging("page=0&page_size=201") else { panic!("a refusal") };
        let fields: Vec<_> = refusal.details.iter().map(|detail| detail.field.as_str()).collect();
        assert_eq!(fields, ["page", "page_size"]);
        assert_eq!(paging("").unwrap(), Paging { page_num: 1, page_size: PAGE_SIZE_DEFAULT });
    }

    #[test]
    fn blank_titles_and_questions_are_named() {
        let Err(Error::Refused(refusal)) =
            form::from_json::<DeliverMessage>(br#"{"topic_id":"7","content":" \n "}"#)
        else {
            panic!("a refusal")
        };
        let fields: Vec<_> = refusal.details.iter().map(|detail| detail.field.as_str()).collect();
        assert_eq!(fields, ["topic_id", "content"]);
        assert!(form::from_json::<CreateTopic>(br#"{"title":"  "}"#).is_err());
        assert!(form::from_json::<UpdateTopic>(br#"{"title":null}"#).is_err());
        assert!(form::from_json::<UpdateTopic>(br#"{"datasources":null}"#).is_ok());
    }
}
