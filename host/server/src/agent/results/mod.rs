//! Results of queries: those of an answer as a file, and those of a statement that a caller has written.

pub mod api;
mod format;
mod parquet;
mod places;
mod view;

use lakeport_bindings::host::data::{Cell, RowSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tasks::event::ToolResult;

/// The kinds of artifacts that are needed here.
const TABLE: &str = "table";
const SQL: &str = "sql";

/// Columns and rows, as artifacts have them: numbers, texts, truth values, null.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Value>>,
    /// There were more rows.
    #[serde(default)]
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArtifactColumn")]
pub struct Column {
    pub name: String,
    /// The database's type; empty if it has none.
    #[serde(default, rename = "type")]
    pub type_text: String,
}

/// A statement of an answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Statement {
    pub datasource: String,
    pub sql: String,
}

impl Table {
    pub fn of(rows: RowSet) -> Table {
        let columns = rows.columns.into_iter();
        Table {
            columns: columns
                .map(|column| Column { name: column.name, type_text: column.type_text })
                .collect(),
            rows: rows.rows.into_iter().map(|row| row.into_iter().map(value).collect()).collect(),
            truncated: rows.truncated,
        }
    }
}

/// The table of a call, and its statement, if it had one. `None`: the call has none in the form of a table.
fn shown(result: &ToolResult) -> Option<(Table, Option<Statement>)> {
    let last = |kind: &str| result.artifacts.iter().rev().find(|artifact| artifact["kind"] == kind);
    let table = Table::deserialize(last(TABLE)?).ok()?;
    if table.rows.iter().any(|row| row.len() != table.columns.len()) {
        return None;
    }
    let statement = last(SQL).and_then(|statement| Statement::deserialize(statement).ok());
    Some((table, statement))
}

/// A cell in an artifact's form.
fn value(cell: Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Boolean(truth) => truth.into(),
        Cell::Integer(number) => number.into(),
        // JSON cannot express some of them.
        Cell::Float(number) if number.is_finite() => number.into(),
        Cell::Float(number) => number.to_string().into(),
        Cell::Text(text) => text.into(),
        Cell::Bytes(bytes) => format!("0x{}", hex::encode(bytes)).into(),
    }
}
