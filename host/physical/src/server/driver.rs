//! The common part of the drivers: reads cells and errors, and cuts answers at a limit.

use futures_util::{Stream, TryStreamExt};
use lakeport_bindings::host::data::{Cell, Column, RowSet};
use lakeport_bindings::host::types::Error;
use sqlx::Row;

/// The overhead of a cell besides its content, bytes.
const CELL_BYTES: usize = 16;

/// The part that differs between the two drivers.
pub(crate) trait Driver: sqlx::Database {
    fn columns(row: &Self::Row) -> Vec<Column>;
    /// A cell of a prepared statement's row, or of a statement sent as text.
    fn cell(row: &Self::Row, index: usize, is_text: bool) -> Result<Cell, Error>;
    fn said(cause: &sqlx::Error) -> Error;
}

/// Collects rows until a limit is reached.
pub(super) struct Collector {
    pub rows: RowSet,
    max_rows: usize,
    bytes_left: usize,
}

impl Collector {
    pub fn new(max_rows: usize, max_bytes: usize) -> Collector {
        let rows = RowSet { columns: Vec::new(), rows: Vec::new(), truncated: false };
        Collector { rows, max_rows, bytes_left: max_bytes }
    }

    /// Reads all rows of an answer, or as many as the limit allows.
    pub async fn take_all<DB: Driver>(
        &mut self,
        mut rows: impl Stream<Item = Result<DB::Row, sqlx::Error>> + Unpin,
        is_text: bool,
    ) -> Result<(), Error> {
        while let Some(row) = rows.try_next().await.map_err(|cause| DB::said(&cause))? {
            if self.rows.columns.is_empty() {
                self.rows.columns = DB::columns(&row);
            }
            let cells = (0..row.len()).map(|index| DB::cell(&row, index, is_text));
            let cells = cells.collect::<Result<Vec<_>, _>>()?;
            let size = cells.iter().map(size).sum::<usize>();
            if self.rows.rows.len() >= self.max_rows || size > self.bytes_left {
                self.rows.truncated = true;
                return Ok(());
            }
            self.bytes_left -= size;
            self.rows.rows.push(cells);
        }
        Ok(())
    }
}

fn size(cell: &Cell) -> usize {
    CELL_BYTES
        + match cell {
            Cell::Text(text) => text.len(),
            Cell::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
}
