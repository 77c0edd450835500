//! Defaults: converts SQLite's to the contract's cases, and those to tokens.

use lakeport_sdk::dialect::{DefaultValue, Statement};

use crate::lexer::{Kind, lex};

/// Parses `dflt_value` of `pragma_table_xinfo`: the default's SQL text, without the parentheses around an
/// expression.
pub fn read(text: Option<&str>) -> DefaultValue {
    let Some(text) = text else { return DefaultValue::Absent };
    let expression = || DefaultValue::Expression(text.to_owned());
    let Ok(lexemes) = lex(text) else { return expression() };
    match lexemes.as_slice() {
        [one] => match &one.kind {
            Kind::Text(value) => DefaultValue::Text(value.clone()),
            // SQLite takes a bare or quoted name as a text.
            Kind::QuotedName(value) => DefaultValue::Text(value.clone()),
            Kind::Number if is_plain(text) => DefaultValue::Number(text.to_owned()),
            Kind::Word => word(text),
            _ => expression(),
        },
        [sign, number]
            if matches!(sign.kind, Kind::Symbol('-' | '+'))
                && number.kind == Kind::Number
                && is_plain(&text[number.span.clone()])
                && sign.span.end == number.span.start =>
        {
            DefaultValue::Number(text.to_owned())
        }
        _ => expression(),
    }
}

fn word(text: &str) -> DefaultValue {
    match text.to_ascii_uppercase().as_str() {
        "NULL" => DefaultValue::Null,
        "TRUE" => DefaultValue::Boolean(true),
        "FALSE" => DefaultValue::Boolean(false),
        "CURRENT_TIMESTAMP" => DefaultValue::Now(0),
        "CURRENT_DATE" | "CURRENT_TIME" => DefaultValue::Expression(text.to_owned()),
        _ => DefaultValue::Text(text.to_owned()),
    }
}

/// The longest number, in bytes.
pub const NUMBER_MAX_BYTES: usize = 100;

/// A number in the contract's notation, with its sign.
pub fn is_number(text: &str) -> bool {
    text.len() <= NUMBER_MAX_BYTES && is_plain(text.strip_prefix(['-', '+']).unwrap_or(text))
}

/// Digits, a fraction and an exponent, as in the contract; SQLite also has other notations.
fn is_plain(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let exponent_fits = exponent.is_none_or(|text| digits(text.strip_prefix(['-', '+']).unwrap_or(text)));
    exponent_fits
        && match mantissa.split_once('.') {
            Some((whole, fraction)) => digits(whole) && digits(fraction),
            None => digits(mantissa),
        }
}

/// Whether a column with this default can be added to a table that has rows.
pub fn is_constant(default: &DefaultValue) -> bool {
    !matches!(default, DefaultValue::Now(_) | DefaultValue::Expression(_))
}

/// Whether a row that omits the column gets a value other than NULL.
pub fn gives_a_value(default: &DefaultValue) -> bool {
    !matches!(default, DefaultValue::Absent | DefaultValue::Null)
}

/// Writes the clause; none without a default.
pub fn write(statement: Statement, default: &DefaultValue) -> Statement {
    match default {
        DefaultValue::Absent => statement,
        DefaultValue::Null => statement.words("DEFAULT NULL"),
        DefaultValue::Text(value) => statement.words("DEFAULT").text("literal", value),
        DefaultValue::Number(digits) => statement.words("DEFAULT").number(digits),
        DefaultValue::Boolean(true) => statement.words("DEFAULT TRUE"),
        DefaultValue::Boolean(false) => statement.words("DEFAULT FALSE"),
        DefaultValue::Now(_) => statement.words("DEFAULT CURRENT_TIMESTAMP"),
        DefaultValue::Expression(text) => statement.words("DEFAULT").symbol("(").expression(text).symbol(")"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_of_sqlite_is_read_for_what_it_is() {
        let text = |value: &str| DefaultValue::Text(value.to_owned());
        let number = |value: &str| DefaultValue::Number(value.to_owned());
        let expression = |value: &str| DefaultValue::Expression(value.to_owned());
        for (given, expected) in [
            ("'a''b'", text("a'b")),
            ("''", text("")),
            ("'CURRENT_TIMESTAMP'", text("CURRENT_TIMESTAMP")),
            ("\"draft\"", text("draft")),
            ("draft", text("draft")),
            ("0", number("0")),
            ("-1.5e3", number("-1.5e3")),
            ("+7", number("+7")),
            ("NULL", DefaultValue::Null),
            ("null", DefaultValue::Null),
            ("TRUE", DefaultValue::Boolean(true)),
            ("False", DefaultValue::Boolean(false)),
            ("current_timestamp", DefaultValue::Now(0)),
            ("CURRENT_DATE", expression("CURRENT_DATE")),
            ("X'00ff'", expression("X'00ff'")),
            ("0x10", expression("0x10")),
            (".5", expression(".5")),
            ("5.", expression("5.")),
            ("1_000", expression("1_000")),
            ("- 5", expression("- 5")),
            ("--5", expression("--5")),
            ("1 + 1", expression("1 + 1")),
            ("'a' || 'b'", expression("'a' || 'b'")),
            ("lower('A')", expression("lower('A')")),
            ("'open", expression("'open")),
        ] {
            assert_eq!(read(Some(given)), expected, "{given}");
        }
        assert_eq!(read(None), DefaultValue::Absent);
    }
}
