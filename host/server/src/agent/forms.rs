//! The forms of requests of area A. Their members are `snake_case`, unlike those of the other areas.

use lakeport_base::error::{Detail, Error};
use lakeport_http::Paging;
use lakeport_http::form::{self, Amend, Patch, Text};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

/// The default page size.
pub const PAGE_SIZE_DEFAULT: i64 = 50;
pub const PAGE_SIZE_MAX: i64 = 200;
/// The last page.
const PAGE_MAX: i64 = 1_000_000_000;
/// Characters of a title.
const TITLE_MAX: usize = 500;
/// Characters of a question.
const CONTENT_MAX: usize = 10_000;

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

/// The page of topics (newest first) or of messages (oldest first).
#[derive(Deserialize, JsonSchema)]
pub struct ListQuery {
    #[schemars(range(min = 1), extend("default" = 1))]
    pub page: Option<i64>,
    #[schemars(range(min = 1, max = PAGE_SIZE_MAX), extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<i64>,
}

impl ListQuery {
    /// 400 names each parameter that is out of bounds.
    pub fn paging(&self) -> Result<Paging, Error> {
        let (page, size) = (self.page.unwrap_or(1), self.page_size.unwrap_or(PAGE_SIZE_DEFAULT));
        let mut wrong = Vec::new();
        if !(1..=PAGE_MAX).contains(&page) {
            wrong.push(Detail::new("page", format!("must be from 1 to {PAGE_MAX}")));
        }
        if !(1..=PAGE_SIZE_MAX).contains(&size) {
            wrong.push(Detail::new("page_size", format!("must be from 1 to {PAGE_SIZE_MAX}")));
        }
        if wrong.is_empty() {
            Ok(Paging { page_num: page, page_size: size })
        } else {
            Err(Error::invalid(wrong))
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct CreateTopic {
    /// Not blank.
    pub title: Text<1, TITLE_MAX>,
    /// Names of the data sources that its questions may use; absent: all that the caller may read.
    pub datasources: Option<Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct UpdateTopic {
    /// Not blank.
    #[serde(default)]
    pub title: Amend<Text<1, TITLE_MAX>>,
    /// Null: all data sources that the caller may read.
    #[serde(default)]
    pub datasources: Patch<Vec<String>>,
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
    /// In an answer to the server's own request.
    pub result: Option<Value>,
    /// In an answer to the server's own request.
    pub error: Option<Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_out_of_bounds_is_refused_naming_each_parameter() {
        let paging = |page, page_size| ListQuery { page, page_size }.paging();
        let Err(Error::Refused(refusal)) = paging(Some(0), Some(201)) else { panic!("a refusal") };
        let fields: Vec<_> = refusal.details.iter().map(|detail| detail.field.as_str()).collect();
        assert_eq!(fields, ["page", "page_size"]);
        assert_eq!(paging(None, None).unwrap(), Paging { page_num: 1, page_size: PAGE_SIZE_DEFAULT });
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
