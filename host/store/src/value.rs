//! Values of the store's statements, the same for both stores.

use std::sync::Arc;

use lakeport_base::Error;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
    Bool(bool),
    /// Only for statements: `IN (SELECT value FROM json_each($1))` on SQLite, `= ANY($1)` on PostgreSQL.
    Ids(Vec<i64>),
}

impl Value {
    /// Its bytes, roughly.
    pub(super) fn size(&self) -> usize {
        match self {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::Ids(ids) => size_of_val(ids.as_slice()),
            Value::Null | Value::Int(_) | Value::Real(_) | Value::Bool(_) => size_of::<i64>(),
        }
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

impl From<&[i64]> for Value {
    fn from(ids: &[i64]) -> Value {
        Value::Ids(ids.to_vec())
    }
}

/// How SQLite gets ids: `[1,2]`.
pub(super) fn json_of(ids: &[i64]) -> String {
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    format!("[{}]", ids.join(","))
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Real(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::Text(value)
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Value {
        Value::Bytes(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// One row of an answer. Read a few columns by index, many by name: [`Row::by_name`].
#[derive(Debug, Clone)]
pub struct Row {
    pub(super) columns: Arc<[String]>,
    pub(super) values: Vec<Value>,
}

/// A type that a column can be read as.
pub trait FromValue: Sized {
    /// The expected content of a column, for the error.
    const WANTED: &'static str;
    fn from_value(value: &Value) -> Option<Self>;
}

/// A row that is read by the names of its columns.
pub struct ByName<'r> {
    row: &'r Row,
    /// Where the next name is looked for first: after the previous one. Columns are mostly read in order, so
    /// each is found by one comparison.
    next: usize,
}

impl ByName<'_> {
    /// The column of this name; the error names it.
    pub fn get<T: FromValue>(&mut self, name: &str) -> Result<T, Error> {
        let columns = &self.row.columns;
        let start = self.next.min(columns.len());
        let places = (start..columns.len()).chain(0..start);
        let Some(place) = places.into_iter().find(|place| columns[*place] == name) else {
            return Err(Error::internal(anyhow::anyhow!("the answer has no column `{name}`")));
        };
        self.next = place + 1;
        self.row.get(place)
    }
}

impl Row {
    /// Reads the columns by name, ideally in the order of the statement.
    pub fn by_name(&self) -> ByName<'_> {
        ByName { row: self, next: 0 }
    }

    pub fn is_null(&self, index: usize) -> bool {
        matches!(self.values.get(index), Some(Value::Null))
    }

    /// Moves the text of the column at `index` out of the row, which has an empty one then.
    pub fn take_text(&mut self, index: usize) -> Result<String, Error> {
        match self.values.get_mut(index) {
            Some(Value::Text(text)) => Ok(std::mem::take(text)),
            _ => self.get(index),
        }
    }

    /// The column at `index`; the error names it.
    pub fn get<T: FromValue>(&self, index: usize) -> Result<T, Error> {
        let (Some(value), Some(column)) = (self.values.get(index), self.columns.get(index)) else {
            return Err(Error::internal(anyhow::anyhow!("the answer has no column {index}")));
        };
        T::from_value(value).ok_or_else(|| {
            let held = match value {
                Value::Null => "null",
                Value::Int(_) => "an integer",
                Value::Real(_) => "a real number",
                Value::Text(_) => "text",
                Value::Bytes(_) => "bytes",
                Value::Bool(_) => "a boolean",
                Value::Ids(_) => "ids",
            };
            Error::internal(anyhow::anyhow!("column `{column}` holds {held}, not {}", T::WANTED))
        })
    }
}

impl FromValue for i64 {
    const WANTED: &'static str = "an integer";

    fn from_value(value: &Value) -> Option<i64> {
        if let Value::Int(value) = value { Some(*value) } else { None }
    }
}

impl FromValue for f64 {
    const WANTED: &'static str = "a real number";

    fn from_value(value: &Value) -> Option<f64> {
        if let Value::Real(value) = value { Some(*value) } else { None }
    }
}

impl FromValue for String {
    const WANTED: &'static str = "text";

    fn from_value(value: &Value) -> Option<String> {
        if let Value::Text(value) = value { Some(value.clone()) } else { None }
    }
}

impl FromValue for Vec<u8> {
    const WANTED: &'static str = "bytes";

    fn from_value(value: &Value) -> Option<Vec<u8>> {
        if let Value::Bytes(value) = value { Some(value.clone()) } else { None }
    }
}

impl FromValue for bool {
    const WANTED: &'static str = "a boolean";

    /// SQLite has no booleans of its own: 0 and 1.
    fn from_value(value: &Value) -> Option<bool> {
        match value {
            Value::Bool(value) => Some(*value),
            Value::Int(0) => Some(false),
            Value::Int(1) => Some(true),
            _ => None,
        }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    const WANTED: &'static str = T::WANTED;

    fn from_value(value: &Value) -> Option<Option<T>> {
        if *value == Value::Null { Some(None) } else { T::from_value(value).map(Some) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let columns = ["id", "name", "size"].map(str::to_owned);
        Row { columns: columns.into(), values: vec![7.into(), "x".into(), Value::Null] }
    }

    #[test]
    fn columns_are_found_by_name_in_any_order() {
        let row = row();
        let mut row = row.by_name();
        assert_eq!(row.get::<Option<i64>>("size").unwrap(), None);
        assert_eq!(row.get::<i64>("id").unwrap(), 7);
        assert_eq!(row.get::<String>("name").unwrap(), "x");
        assert_eq!(row.get::<String>("name").unwrap(), "x");
    }

    #[test]
    fn a_missing_or_wrong_column_is_named() {
        let row = row();
        let missing = row.by_name().get::<i64>("kind").unwrap_err().to_string();
        assert!(missing.contains("`kind`"), "{missing}");
        let wrong = row.by_name().get::<i64>("name").unwrap_err().to_string();
        assert!(wrong.contains("`name`") && wrong.contains("text"), "{wrong}");
    }
}
