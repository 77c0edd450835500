//! The tables that a task has produced so far, so that rows need not pass through the model to be drawn or
//! counted. Kept in memory while the task runs.

use lakeport_bindings::host::data::{Cell, Column, RowSet};
use lakeport_bindings::host::types::Error as PluginError;
use lakeport_bindings::tool::results::EarlierTable;
use lakeport_bindings::tool::tool::Artifact;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use super::error;

/// The most tables, by the contract.
const TABLES_MAX: usize = 20;
/// The most bytes of all of them as they were given; the oldest are dropped first.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// The kind of artifact for tables.
const TABLE: &str = "table";

#[derive(Default)]
pub struct Kept(Mutex<Vec<KeptTable>>);

/// In order.
struct KeptTable {
    about: EarlierTable,
    rows: Vec<Vec<Cell>>,
    bytes: usize,
}

#[derive(Deserialize)]
struct Content {
    columns: Vec<ContentColumn>,
    rows: Vec<Vec<Value>>,
    #[serde(default)]
    truncated: bool,
}

#[derive(Deserialize)]
struct ContentColumn {
    name: String,
    #[serde(default, rename = "type")]
    type_text: String,
}

impl Kept {
    pub fn keep(&self, call_id: &str, tool: &str, artifacts: &[Artifact]) {
        let tables = artifacts.iter().filter(|artifact| artifact.kind == TABLE);
        let tables = tables.filter_map(|artifact| KeptTable::of(call_id, tool, &artifact.content));
        let mut kept = self.0.lock();
        for table in tables {
            // A call has one table: its last one.
            kept.retain(|known| known.about.call_id != call_id);
            kept.push(table);
        }
        let bytes = |kept: &[KeptTable]| kept.iter().map(|table| table.bytes).sum::<usize>();
        while kept.len() > TABLES_MAX || kept.len() > 1 && bytes(&kept) > BYTES_MAX {
            kept.remove(0);
        }
    }

    pub fn tables(&self) -> Vec<EarlierTable> {
        self.0.lock().iter().rev().map(|table| table.about.clone()).collect()
    }

    pub fn rows(&self, call_id: &str, max_rows: u32) -> Result<RowSet, PluginError> {
        let kept = self.0.lock();
        let table = kept.iter().find(|table| table.about.call_id == call_id);
        let table = table.ok_or_else(|| {
            error("not_found", format!("the call `{call_id}` made no table, or it is not kept any more"))
        })?;
        let rows: Vec<Vec<Cell>> = table.rows.iter().take(max_rows as usize).cloned().collect();
        let truncated = table.about.truncated || rows.len() < table.rows.len();
        Ok(RowSet { columns: table.about.columns.clone(), rows, truncated })
    }
}

impl KeptTable {
    /// `None` if it is not in a table's form.
    fn of(call_id: &str, tool: &str, content: &str) -> Option<KeptTable> {
        let parsed: Content = serde_json::from_str(content).ok()?;
        let width = parsed.columns.len();
        if parsed.rows.iter().any(|row| row.len() != width) {
            return None;
        }
        let column = |column: ContentColumn| Column { name: column.name, type_text: column.type_text };
        let about = EarlierTable {
            call_id: call_id.to_owned(),
            tool: tool.to_owned(),
            columns: parsed.columns.into_iter().map(column).collect(),
            row_count: u32::try_from(parsed.rows.len()).unwrap_or(u32::MAX),
            truncated: parsed.truncated,
        };
        let rows = parsed.rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect();
        Some(KeptTable { about, rows, bytes: content.len() })
    }
}

fn cell(value: Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Bool(value) => Cell::Boolean(value),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Cell::Integer(whole),
            (None, Some(float)) if number.is_f64() => Cell::Float(float),
            _ => Cell::Text(number.to_string()),
        },
        Value::String(text) => Cell::Text(text),
        other => Cell::Text(other.to_string()),
    }
}
