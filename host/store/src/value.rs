//! Values on their way into and out of the store, the same for both.

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
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
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

/// One row of an answer; its columns go by their place in the statement.
#[derive(Debug, Clone)]
pub struct Row {
    pub(super) columns: Arc<[String]>,
    pub(super) values: Vec<Value>,
}

/// A type that a column can be read as.
pub trait FromValue: Sized {
    /// What a column must hold, for the error.
    const WANTED: &'static str;
    fn from_value(value: &Value) -> Option<Self>;
}

impl Row {
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
