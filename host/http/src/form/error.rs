//! Translates serde's errors into the interface's terms.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use super::path::Path;

/// An error on its way up to its member.
#[derive(Debug)]
pub struct FormError {
    /// The member's path, once known.
    pub field: Option<String>,
    pub message: String,
    /// The missing member of an object; joined to the object's path.
    missing: Option<&'static str>,
}

impl FormError {
    pub fn new(message: impl Into<String>) -> FormError {
        FormError { field: None, message: message.into(), missing: None }
    }

    /// Adds the path, unless a deeper one is known.
    pub fn at(mut self, path: &Path<'_>) -> FormError {
        if self.field.is_none() {
            self.field = Some(match self.missing.take() {
                Some(member) => path.member(member).render(),
                None => path.render(),
            });
        }
        self
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for FormError {}

impl de::Error for FormError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        FormError::new(message.to_string())
    }

    fn invalid_type(got: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let wanted = expected.to_string();
        FormError::new(format!("expected {}, got {}", plain(&wanted), kind(&got)))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let wanted = expected.to_string();
        match range(&wanted) {
            Some((low, high)) => FormError::new(format!("expected an integer from {low} to {high}")),
            None => FormError::new(format!("expected {}", plain(&wanted))),
        }
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        FormError::new(format!("expected one of {}", expected.join(", ")))
    }

    fn missing_field(field: &'static str) -> Self {
        FormError { field: None, message: "is missing".to_owned(), missing: Some(field) }
    }

    fn duplicate_field(field: &'static str) -> Self {
        FormError::new(format!("`{field}` is given more than once"))
    }
}

/// Translates Rust's type names for clients.
fn plain(wanted: &str) -> &str {
    match wanted {
        "i8" | "i16" | "i32" | "i64" | "isize" | "u8" | "u16" | "u32" | "u64" | "usize" => "an integer",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "an array",
        "a map" => "an object",
        "unit" => "null",
        _ if wanted.starts_with("struct ") => "an object",
        _ if wanted.starts_with("enum ") => "a string",
        _ => wanted,
    }
}

fn range(wanted: &str) -> Option<(i64, u64)> {
    Some(match wanted {
        "i8" => (i8::MIN.into(), i8::MAX as u64),
        "i16" => (i16::MIN.into(), i16::MAX as u64),
        "i32" => (i32::MIN.into(), i32::MAX as u64),
        "i64" | "isize" => (i64::MIN, i64::MAX as u64),
        "u8" => (0, u8::MAX.into()),
        "u16" => (0, u16::MAX.into()),
        "u32" => (0, u32::MAX.into()),
        "u64" | "usize" => (0, u64::MAX),
        _ => return None,
    })
}

fn kind(got: &Unexpected<'_>) -> &'static str {
    match got {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "a number",
        Unexpected::Char(_) | Unexpected::Str(_) | Unexpected::Bytes(_) => "a string",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "an array",
        Unexpected::Map => "an object",
        _ => "something else",
    }
}
