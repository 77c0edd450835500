//! A task in the versions of its workflow.

use lakeport_base::Error;
use serde::{Deserialize, Serialize};

use super::Task;
use super::definition::{Content, Given};
use crate::workflows::versions::{Part, Weight};

/// The former state of a task: its digest and its weight.
pub type Held = (String, Weight);
/// The new state.
pub type New = (Part, Weight);

/// Members that do not count as a change of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Beside {
    pub given: Given,
    #[serde(flatten)]
    pub names: Names,
}

/// The names of a task's references when it was saved.
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

/// The stored text; equal contents have equal texts.
pub fn text(content: &Content) -> String {
    serde_json::to_string(content).expect("texts and numbers are JSON")
}

pub fn of(task: &Task, names: &Names) -> New {
    let beside = Beside { given: task.given, names: names.clone() };
    let beside = serde_json::to_string(&beside).expect("texts and numbers are JSON");
    let (digest, datasource_id) = (task.digest.clone(), task.content.rights_id());
    (Part { content: text(&task.content), beside, digest, datasource_id }, weight(&task.content))
}

/// The names of its references when it was last saved.
pub fn names_of(part: Option<Part>) -> Result<Names, Error> {
    let Some(part) = part else { return Ok(Names::default()) };
    serde_json::from_str(&part.beside).map(|beside: Beside| beside.names).map_err(Error::internal)
}

pub fn held(task: &Task) -> Held {
    (task.digest.clone(), weight(&task.content))
}

fn weight(content: &Content) -> Weight {
    let unresolved = &content.unresolved;
    let bindings = content.input_table_ids.len()
        + content.output_table_ids.len()
        + unresolved.inputs.len()
        + unresolved.outputs.len();
    let unresolved_bytes = unresolved.text().map_or(0, |text| text.len());
    let text_bytes = content.sql_content.as_ref().map_or(0, String::len) + unresolved_bytes;
    Weight { tasks: 1, bindings: bindings as i64, text_bytes: text_bytes as i64 }
}
