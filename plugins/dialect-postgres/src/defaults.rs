//! Defaults: converts the catalogue's to the contract's cases, and those to tokens.
//!
//! PostgreSQL stores a default in parsed form, not as it was written. So a user's default is accepted only in
//! the form in which it will be read back; for another form the error suggests that one.

mod fits;

pub use fits::fits;

use lakeport_sdk::dialect::{DefaultValue, Statement};

use crate::quote;
use crate::types;

/// Casts that leave a text unchanged.
const TEXTS: [&str; 4] = ["text", "character varying", "bpchar", "name"];
/// Casts of numbers.
const NUMBERS: [&str; 6] = ["smallint", "integer", "bigint", "numeric", "real", "double precision"];
/// The most fraction digits of a second.
const FRACTION_MAX: u8 = 6;

/// Parses the output of `pg_get_expr` for a field of this type.
pub fn read(text: Option<&str>, type_text: &str) -> DefaultValue {
    let Some(text) = text else { return DefaultValue::Absent };
    let understood = match text {
        "true" => Some(DefaultValue::Boolean(true)),
        "false" => Some(DefaultValue::Boolean(false)),
        _ if is_number(text) => Some(DefaultValue::Number(text.to_owned())),
        _ if is_null(text) => Some(DefaultValue::Null),
        _ => literal(text, type_text).or_else(|| time(text, type_text)),
    };
    understood.unwrap_or_else(|| DefaultValue::Expression(text.to_owned()))
}

/// `NULL`, `NULL::character varying`.
fn is_null(text: &str) -> bool {
    let cast = |rest: &str| rest.is_empty() || rest.strip_prefix("::").is_some_and(is_type);
    text.strip_prefix("NULL").is_some_and(cast)
}

fn is_type(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || " _.\"[]".contains(c))
}

/// `'a'::text`, `'-5'::integer`.
fn literal(text: &str, type_text: &str) -> Option<DefaultValue> {
    let (value, rest) = quote::unquoted(text)?;
    let cast = match rest {
        "" => return Some(DefaultValue::Text(value)),
        rest => rest.strip_prefix("::")?,
    };
    if NUMBERS.contains(&cast) && is_number(&value) {
        return Some(DefaultValue::Number(value));
    }
    let own = base(type_text);
    let of_own_type = cast == own || cast == "\"bit\"" && own == "bit";
    let both_texts = TEXTS.contains(&cast) && (TEXTS.contains(&own.as_str()) || own == "character");
    (of_own_type || both_texts).then_some(DefaultValue::Text(value))
}

/// The type without its numbers.
fn base(type_text: &str) -> String {
    match types::parse(type_text) {
        Ok(parsed) if parsed.is_array() => format!("{}[]", parsed.name()),
        Ok(parsed) => parsed.name(),
        Err(_) => type_text.to_owned(),
    }
}

/// The time of the insert, in a field that can hold it. Without a precision it has the field's digits, which
/// is 0 in the contract; with an explicit 0 it is an ordinary expression.
fn time(text: &str, type_text: &str) -> Option<DefaultValue> {
    let own = base(type_text);
    if own == "date" {
        return (text == "CURRENT_DATE").then_some(DefaultValue::Now(0));
    }
    if !own.starts_with("timestamp ") || own.ends_with(']') {
        return None;
    }
    if matches!(text, "CURRENT_TIMESTAMP" | "now()") {
        return Some(DefaultValue::Now(0));
    }
    let digits = text.strip_prefix("CURRENT_TIMESTAMP(")?.strip_suffix(')')?.parse().ok()?;
    (1..=FRACTION_MAX).contains(&digits).then_some(DefaultValue::Now(digits))
}

/// The longest number, in bytes.
const NUMBER_MAX_BYTES: usize = 100;

/// A number in PostgreSQL's form: no sign but `-`, no exponent, no leading zeros.
pub fn is_number(text: &str) -> bool {
    if text.len() > NUMBER_MAX_BYTES {
        return false;
    }
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = match unsigned.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (unsigned, None),
    };
    let is_zero = unsigned.bytes().all(|b| matches!(b, b'0' | b'.'));
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && !(is_zero && text.starts_with('-'))
}

/// Writes the value; nothing without one.
pub fn write(statement: Statement, default: &DefaultValue, type_text: &str) -> Statement {
    match default {
        DefaultValue::Absent => statement,
        DefaultValue::Null => statement.words("DEFAULT NULL"),
        DefaultValue::Text(value) => text(statement.words("DEFAULT"), value),
        DefaultValue::Number(digits) => statement.words("DEFAULT").number(digits),
        DefaultValue::Boolean(true) => statement.words("DEFAULT TRUE"),
        DefaultValue::Boolean(false) => statement.words("DEFAULT FALSE"),
        DefaultValue::Now(_) if base(type_text) == "date" => statement.words("DEFAULT CURRENT_DATE"),
        DefaultValue::Now(0) => statement.words("DEFAULT CURRENT_TIMESTAMP"),
        DefaultValue::Now(digits) => {
            statement.words("DEFAULT CURRENT_TIMESTAMP").symbol("(").number(digits).symbol(")")
        }
        DefaultValue::Expression(text) => statement.words("DEFAULT").symbol("(").expression(text).symbol(")"),
    }
}

/// A text by the rule that is independent of `standard_conforming_strings`.
pub fn text(statement: Statement, value: &str) -> Statement {
    statement.text(if value.contains('\\') { "escaped" } else { "literal" }, value)
}

/// Whether a row that omits the field gets a value other than NULL.
pub fn gives_a_value(default: &DefaultValue) -> bool {
    !matches!(default, DefaultValue::Absent | DefaultValue::Null)
}

/// Whether two defaults are equal: no default is the same as NULL.
pub fn same(one: &DefaultValue, other: &DefaultValue) -> bool {
    one == other || !gives_a_value(one) && !gives_a_value(other)
}

#[cfg(test)]
#[path = "defaults/tests.rs"]
mod tests;
