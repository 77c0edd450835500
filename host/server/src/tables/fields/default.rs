//! The meaning of a default's text: a number, a truth value, the time of the insert, or a text, by the family
//! of the field's type, which its dialect knows.

use lakeport_bindings::dialect::schema::DefaultValue;

/// This text means the time of the insert, for any type.
const NOW: &str = "CURRENT_TIMESTAMP";
/// Fraction digits of a second.
const NOW_DIGITS_MAX: u8 = 9;
/// Texts that a database reads as expressions. A default must be a value.
const EXPRESSIONS: [&str; 4] = ["CURRENT_DATE", "CURRENT_TIME", "NOW()", "NULL"];

/// The default that a text means; the error continues the member's name.
pub fn meant(text: Option<&str>, family: &str) -> Result<DefaultValue, String> {
    let Some(text) = text else { return Ok(DefaultValue::Absent) };
    if let Some(digits) = now_digits(text) {
        return Ok(DefaultValue::Now(digits));
    }
    match family {
        "integer" | "decimal" | "float" if is_number(text) => Ok(DefaultValue::Number(text.to_owned())),
        "integer" | "decimal" | "float" => Err("must be a number, as the field's type is one".to_owned()),
        "boolean" => match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(DefaultValue::Boolean(true)),
            "false" | "0" => Ok(DefaultValue::Boolean(false)),
            _ => Err("must be true or false, as the field's type is boolean".to_owned()),
        },
        "date" | "time" | "datetime" if is_expression(text) => {
            Err(format!("must be a value, or {NOW}; {text} is an expression"))
        }
        _ => Ok(DefaultValue::Text(text.to_owned())),
    }
}

fn is_expression(text: &str) -> bool {
    EXPRESSIONS.iter().any(|expression| text.eq_ignore_ascii_case(expression))
}

/// `CURRENT_TIMESTAMP` is 0, `CURRENT_TIMESTAMP(3)` is 3.
fn now_digits(text: &str) -> Option<u8> {
    let start = text.get(..NOW.len()).filter(|start| start.eq_ignore_ascii_case(NOW))?;
    match &text[start.len()..] {
        "" => Some(0),
        digits => digits.strip_prefix('(')?.strip_suffix(')')?.parse().ok().filter(|&n| n <= NOW_DIGITS_MAX),
    }
}

/// Sign, digits, fraction, exponent.
fn is_number(text: &str) -> bool {
    let unsigned = |text: &str| -> String { text.strip_prefix(['-', '+']).unwrap_or(text).to_owned() };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (unsigned(mantissa), Some(unsigned(exponent))),
        None => (unsigned(text), None),
    };
    let fits = match mantissa.split_once('.') {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
        None => is_digits(&mantissa),
    };
    fits && exponent.is_none_or(|exponent| is_digits(&exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_meant_by_the_family_of_its_type() {
        let text = |text: &str| DefaultValue::Text(text.to_owned());
        let number = |text: &str| DefaultValue::Number(text.to_owned());
        for (given, family, expected) in [
            ("0", "integer", number("0")),
            ("-1.5e+3", "decimal", number("-1.5e+3")),
            ("0", "text", text("0")),
            ("TRUE", "boolean", DefaultValue::Boolean(true)),
            ("0", "boolean", DefaultValue::Boolean(false)),
            ("current_timestamp", "text", DefaultValue::Now(0)),
            ("CURRENT_TIMESTAMP(3)", "datetime", DefaultValue::Now(3)),
            ("CURRENT_TIMESTAMPS", "text", text("CURRENT_TIMESTAMPS")),
            ("2026-01-01", "date", text("2026-01-01")),
            ("'); DROP TABLE x; --", "text", text("'); DROP TABLE x; --")),
        ] {
            assert_eq!(meant(Some(given), family), Ok(expected), "{given} {family}");
        }
        assert_eq!(meant(None, "integer"), Ok(DefaultValue::Absent));
    }

    #[test]
    fn what_does_not_fit_its_type_is_refused() {
        for (given, family) in [
            ("x", "integer"),
            ("1; DROP TABLE x", "integer"),
            ("1e", "float"),
            (".5", "decimal"),
            ("0x10", "integer"),
            ("maybe", "boolean"),
            ("current_date", "date"),
            ("now()", "datetime"),
        ] {
            assert!(meant(Some(given), family).is_err(), "{given} {family}");
        }
    }
}
