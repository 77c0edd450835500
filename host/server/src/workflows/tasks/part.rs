//! A task as the versions of its workflow keep it.

use lakeport_base::Error;
use serde::{Deserialize, Serialize};

use super::Task;
use super::definition::{Content, Given};
use crate::workflows::versions::{Part, Weight};

/// What a task was: its digest, and what it counts for.
pub type Held = (String, Weight);
/// What it is from now on.
pub type New = (Part, Weight);

/// What does not count as a change of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Beside {
    pub given: Given,
    #[serde(flatten)]
    pub names: Names,
}

/// What the ids of a task were called when it was saved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Names {
    pub datasource: Option<String>,
    pub tables: Vec<TableName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TableName {
    pub id: i64,
    pub datasource: Option<String>,
    pub db_name: String,
    pub table_name: String,
}

/// As it is kept; equal content, equal text.
pub fn text(content: &Content) -> String {
    serde_json::to_string(content).expect("texts and numbers are JSON")
}

pub fn of(task: &Task, names: &Names) -> New {
    let beside = Beside { given: task.given, names: names.clone() };
    let beside = serde_json::to_string(&beside).expect("texts and numbers are JSON");
    let (digest, datasource_id) = (task.digest.clone(), task.content.datasource_id);
    (Part { content: text(&task.content), beside, digest, datasource_id }, weight(&task.content))
}

/// What its ids were called when it was last saved.
pub fn names_of(part: Option<Part>) -> Result<Names, Error> {
    let Some(part) = part else { return Ok(Names::default()) };
    serde_json::from_str(&part.beside).map(|beside: Beside| beside.names).map_err(Error::internal)
}

pub fn held(task: &Task) -> Held {
    (task.digest.clone(), weight(&task.content))
}

fn weight(content: &Content) -> Weight {
    let bindings = content.input_table_ids.len() + content.output_table_ids.len();
    let text_bytes = content.sql_content.as_ref().map_or(0, String::len);
    Weight { tasks: 1, bindings: bindings as i64, text_bytes: text_bytes as i64 }
}
