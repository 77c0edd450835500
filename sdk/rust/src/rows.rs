//! Reads a [`RowSet`] by column names.
//!
//! A column that is missing or of another type is `invalid_response`, with its name: the answer does not fit
//! the query.

use crate::{Cell, Error, RowSet};

/// One row of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    set: &'a RowSet,
    cells: &'a [Cell],
}

impl RowSet {
    /// The rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { set: self, cells })
    }

    /// The first row.
    pub fn first(&self) -> Option<Row<'_>> {
        self.iter().next()
    }
}

impl<'a> Row<'a> {
    /// The cell of the first column with that name.
    pub fn cell(&self, column: &str) -> Result<&'a Cell, Error> {
        self.set
            .columns
            .iter()
            .position(|known| known.name == column)
            .and_then(|index| self.cells.get(index))
            .ok_or_else(|| Error::bad_answer(format!("the answer has no column {column:?}")))
    }

    /// A required text.
    pub fn text(&self, column: &str) -> Result<&'a str, Error> {
        self.optional_text(column)?.ok_or_else(|| is_null(column))
    }

    /// A text; `None` for NULL.
    pub fn optional_text(&self, column: &str) -> Result<Option<&'a str>, Error> {
        match self.cell(column)? {
            Cell::Null => Ok(None),
            Cell::Text(text) => Ok(Some(text)),
            other => Err(is_no(column, "text", other)),
        }
    }

    /// A required integer.
    pub fn integer(&self, column: &str) -> Result<i64, Error> {
        self.optional_integer(column)?.ok_or_else(|| is_null(column))
    }

    /// An integer; `None` for NULL. Accepts digits in a text, as some drivers return them.
    pub fn optional_integer(&self, column: &str) -> Result<Option<i64>, Error> {
        match self.cell(column)? {
            Cell::Null => Ok(None),
            Cell::Integer(number) => Ok(Some(*number)),
            Cell::Text(text) => match text.parse() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(is_no(column, "a whole number", &Cell::Text(text.clone()))),
            },
            other => Err(is_no(column, "a whole number", other)),
        }
    }

    /// A required truth value; a number is true unless it is 0.
    pub fn boolean(&self, column: &str) -> Result<bool, Error> {
        match self.cell(column)? {
            Cell::Boolean(value) => Ok(*value),
            Cell::Integer(number) => Ok(*number != 0),
            Cell::Null => Err(is_null(column)),
            other => Err(is_no(column, "a truth value", other)),
        }
    }
}

fn is_null(column: &str) -> Error {
    Error::bad_answer(format!("the column {column:?} of the answer is NULL"))
}

/// Names the type only: the value may be confidential.
fn is_no(column: &str, wanted: &str, cell: &Cell) -> Error {
    let kind = match cell {
        Cell::Null => "NULL",
        Cell::Boolean(_) => "a truth value",
        Cell::Integer(_) => "a whole number",
        Cell::Float(_) => "a floating-point number",
        Cell::Text(_) => "text",
        Cell::Bytes(_) => "bytes",
    };
    Error::bad_answer(format!("the column {column:?} of the answer is {kind}, not {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    #[test]
    fn cells_are_found_by_name_and_wrong_ones_are_named() {
        let column = |name: &str| Column { name: name.to_owned(), type_text: String::new() };
        let set = RowSet {
            columns: vec![column("name"), column("size")],
            rows: vec![vec![Cell::Text("orders".to_owned()), Cell::Integer(7)], vec![Cell::Null, Cell::Null]],
            truncated: false,
        };
        let rows: Vec<Row<'_>> = set.iter().collect();
        assert_eq!(rows[0].text("name").unwrap(), "orders");
        assert_eq!(rows[0].integer("size").unwrap(), 7);
        assert_eq!(rows[1].optional_text("name").unwrap(), None);
        assert!(rows[1].integer("size").unwrap_err().message.contains("\"size\""));
        assert!(rows[0].integer("name").unwrap_err().message.contains("text"));
        assert_eq!(rows[0].cell("colour").unwrap_err().code, "invalid_response");
    }
}
