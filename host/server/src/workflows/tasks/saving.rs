//! Warnings about a task that may be saved but not be published as it is.

use schemars::JsonSchema;
use serde::Serialize;

use super::definition::{Content, Kind};
use crate::datasources::Datasource;
use crate::sql_tables::ParseError;

/// Why a task cannot be published as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "TaskWarning")]
pub struct Warning {
    /// The member, such as `task.sqlContent`.
    pub field: String,
    /// In its text, from 1; null: it is not about a place.
    pub line: Option<u64>,
    /// In characters, from 1.
    pub column: Option<u64>,
    pub message: String,
}

/// Why the engine cannot run a task of this type on its data source.
pub fn unfit_datasource(kinds: &[Kind], content: &Content, source: Option<&Datasource>) -> Option<String> {
    let kind = kinds.iter().find(|kind| kind.name == content.task_type)?;
    let source = source?;
    if kind.datasource_kinds.is_empty() || kind.datasource_kinds.contains(&source.kind) {
        return None;
    }
    let kinds = kind.datasource_kinds.join(", ");
    Some(format!(
        "the engine runs tasks of the type {} on data sources of the kinds {kinds}; `{}` is of the kind {}",
        kind.name, source.name, source.kind
    ))
}

/// The warnings about a task with these problems of its SQL.
pub fn warnings(
    kinds: &[Kind],
    content: &Content,
    source: Option<&Datasource>,
    errors: Vec<ParseError>,
) -> Vec<Warning> {
    let unfit = unfit_datasource(kinds, content, source).map(|message| Warning {
        field: "task.datasourceId".to_owned(),
        line: None,
        column: None,
        message,
    });
    let unparsed = errors.into_iter().map(|error| Warning {
        field: "task.sqlContent".to_owned(),
        line: Some(error.line),
        column: Some(error.column),
        message: format!("{}; with this SQL the task cannot be published", error.message),
    });
    unfit.into_iter().chain(unparsed).collect()
}
