//! Converts SQLite's values to cells, exactly as they are stored, and cells to bound values.

use lakeport_bindings::host::data::{Cell, Column, RowSet};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments, Decode, Row, Sqlite, TypeInfo, ValueRef};

use crate::errors::of_sqlite;

/// The overhead of a row and of a cell besides the content, bytes.
const CELL_BYTES: usize = 16;

/// Collects rows until a limit is reached.
pub(crate) struct Collector {
    pub rows: RowSet,
    max_rows: usize,
    bytes_left: usize,
}

impl Collector {
    pub fn new(columns: Vec<Column>, max_rows: usize, max_bytes: usize) -> Self {
        let rows = RowSet { columns, rows: Vec::new(), truncated: false };
        Collector { rows, max_rows, bytes_left: max_bytes }
    }

    /// Takes a row; false if it did not fit, and the collector takes no more.
    pub fn take(&mut self, row: &SqliteRow) -> Result<bool, Error> {
        let size = (0..row.len()).map(|index| bytes(row, index)).sum::<Result<usize, _>>()?;
        if self.rows.rows.len() >= self.max_rows || size > self.bytes_left {
            self.rows.truncated = true;
            return Ok(false);
        }
        let cells = (0..row.len()).map(|index| cell(row, index)).collect::<Result<Vec<_>, _>>()?;
        self.bytes_left -= size;
        self.rows.rows.push(cells);
        Ok(true)
    }
}

/// A row for people, each cell cut to `chars` characters.
pub(crate) fn shown_cells(row: &SqliteRow, chars: usize) -> Result<Vec<String>, Error> {
    let shown = |index| {
        let value = row.try_get_raw(index).map_err(|cause| of_sqlite(&cause))?;
        let kind = value.type_info().name().to_owned();
        if value.is_null() {
            return Ok("NULL".to_owned());
        }
        match kind.as_str() {
            "INTEGER" => <i64 as Decode<Sqlite>>::decode(value).map(|n| n.to_string()).map_err(strange),
            "REAL" => <f64 as Decode<Sqlite>>::decode(value).map(|n| n.to_string()).map_err(strange),
            _ => {
                let bytes = <&[u8] as Decode<Sqlite>>::decode(value).map_err(strange)?;
                // A character has at most four bytes, so the prefix holds all characters that are shown.
                let head = &bytes[..bytes.len().min(4 * (chars + 1))];
                let text = match kind.as_str() {
                    "TEXT" => String::from_utf8_lossy(head).into_owned(),
                    _ => format!("{} bytes", bytes.len()),
                };
                Ok(cut(&text, chars))
            }
        }
    };
    (0..row.len()).map(shown).collect()
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The size of a value, without copying it.
fn bytes(row: &SqliteRow, index: usize) -> Result<usize, Error> {
    let value = row.try_get_raw(index).map_err(|cause| of_sqlite(&cause))?;
    let content = match value.type_info().name() {
        "NULL" | "INTEGER" | "REAL" => 0,
        _ => <&[u8] as Decode<Sqlite>>::decode(value).map_err(strange)?.len(),
    };
    Ok(CELL_BYTES + content)
}

fn strange(cause: BoxDynError) -> Error {
    error("upstream_failed", format!("a value cannot be read: {cause}"))
}

/// Converts by the type of the value, not of the column: SQLite allows any value in any column.
fn cell(row: &SqliteRow, index: usize) -> Result<Cell, Error> {
    let value = row.try_get_raw(index).map_err(|cause| of_sqlite(&cause))?;
    if value.is_null() {
        return Ok(Cell::Null);
    }
    let kind = value.type_info().name().to_owned();
    match kind.as_str() {
        "INTEGER" => <i64 as Decode<Sqlite>>::decode(value).map(Cell::Integer).map_err(strange),
        "REAL" => <f64 as Decode<Sqlite>>::decode(value).map(Cell::Float).map_err(strange),
        "TEXT" => {
            let raw = <Vec<u8> as Decode<Sqlite>>::decode(value).map_err(strange)?;
            // SQLite keeps any bytes as a text.
            Ok(String::from_utf8(raw).map_or_else(|wrong| Cell::Bytes(wrong.into_bytes()), Cell::Text))
        }
        _ => <Vec<u8> as Decode<Sqlite>>::decode(value).map(Cell::Bytes).map_err(strange),
    }
}

/// The values of a statement's placeholders.
pub(crate) fn arguments(binds: &[Cell]) -> Result<SqliteArguments, Error> {
    let mut arguments = SqliteArguments::default();
    for bind in binds {
        let added = match bind {
            Cell::Null => arguments.add(None::<i64>),
            Cell::Boolean(value) => arguments.add(*value),
            Cell::Integer(value) => arguments.add(*value),
            Cell::Float(value) => arguments.add(*value),
            Cell::Text(value) => arguments.add(value.clone()),
            Cell::Bytes(value) => arguments.add(value.clone()),
        };
        added.map_err(|cause| error("invalid_input", format!("a value cannot be bound: {cause}")))?;
    }
    Ok(arguments)
}
