//! Defaults. The servers store every default as a text and convert it to the field's type; to read back
//! unchanged, a default must fit the type of its field.

use lakeport_sdk::dialect::{DefaultValue, Statement};

use crate::server::Product;
use crate::texts::PLAIN;
use crate::types::{Plain, Type, parse_type};

/// Parses the server's text of a default.
pub fn read(product: Product, type_text: &str, text: Option<&str>) -> DefaultValue {
    let Some(text) = text else { return DefaultValue::Absent };
    let plain = parse_type(product, type_text).ok().and_then(|parsed| parsed.plain());
    match plain {
        Some(Plain::Boolean) => match text.to_ascii_lowercase().as_str() {
            "1" | "true" => DefaultValue::Boolean(true),
            "0" | "false" => DefaultValue::Boolean(false),
            _ => DefaultValue::Expression(text.to_owned()),
        },
        Some(Plain::DateTime) if now(text).is_some() => DefaultValue::Now(now(text).unwrap_or(0)),
        Some(plain) if is_numeric(plain) && is_number(text) => DefaultValue::Number(text.to_owned()),
        Some(plain) if is_numeric(plain) => DefaultValue::Expression(text.to_owned()),
        Some(Plain::Date) if text.eq_ignore_ascii_case("CURRENT_DATE") => {
            DefaultValue::Expression("CURRENT_DATE".to_owned())
        }
        _ => DefaultValue::Text(text.to_owned()),
    }
}

/// `CURRENT_TIMESTAMP` or `CURRENT_TIMESTAMP(3)`: the fraction digits of a second.
fn now(text: &str) -> Option<u8> {
    let rest = text
        .get(..17)
        .filter(|start| start.eq_ignore_ascii_case("CURRENT_TIMESTAMP"))
        .map(|_| &text[17..])?;
    match rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some("") => Some(0),
        Some(digits) => digits.trim().parse().ok(),
        None => rest.is_empty().then_some(0),
    }
}

fn is_numeric(plain: Plain) -> bool {
    plain.is_integer() || plain.is_float() || plain == Plain::Decimal
}

fn is_number(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let unsigned = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let exponent_fits = exponent.is_none_or(|text| digits(text.strip_prefix(['-', '+']).unwrap_or(text)));
    exponent_fits
        && match unsigned.split_once('.') {
            Some((whole, fraction)) => digits(whole) && digits(fraction),
            None => digits(unsigned),
        }
}

/// The problem of this default on a field of this type.
pub fn fault(product: Product, of: &Type, nullable: bool, default: &DefaultValue) -> Option<String> {
    let plain = of.plain();
    let numeric = plain.is_some_and(is_numeric);
    match default {
        DefaultValue::Absent | DefaultValue::Expression(_) => None,
        DefaultValue::Null if nullable => None,
        DefaultValue::Null => Some("a field without NULL cannot have NULL as its default".to_owned()),
        _ if plain.is_none_or(|plain| matches!(plain, Plain::Json | Plain::Variant | Plain::VarBinary)) => {
            Some(format!("a field of the type {} has no default but NULL", of.canonical(product)))
        }
        DefaultValue::Now(digits) if plain == Some(Plain::DateTime) => {
            let kept = match of {
                Type::Plain(_, numbers) => numbers.first().copied().unwrap_or(0),
                _ => 0,
            };
            (u32::from(*digits) > kept).then(|| {
                format!("the field keeps {kept} digits of a second, not the {digits} of its default")
            })
        }
        DefaultValue::Now(_) => {
            Some("the time of the insert is a default of DATETIME fields alone".to_owned())
        }
        DefaultValue::Number(digits) if plain.is_some_and(Plain::is_integer) => {
            let whole = digits.strip_prefix('-').unwrap_or(digits);
            (!whole.bytes().all(|b| b.is_ascii_digit()))
                .then(|| format!("{digits} is not a whole number, as the field's type wants"))
        }
        DefaultValue::Number(digits) if numeric => {
            (!is_number(digits)).then(|| format!("{digits} is not a number"))
        }
        DefaultValue::Number(_) => {
            Some("the field's type wants a text for a default, not a number".to_owned())
        }
        DefaultValue::Boolean(_) if plain == Some(Plain::Boolean) => None,
        DefaultValue::Boolean(_) => Some("a truth value is a default of BOOLEAN fields alone".to_owned()),
        DefaultValue::Text(_) if numeric => Some("the field's type wants a number for a default".to_owned()),
        DefaultValue::Text(_) if plain == Some(Plain::Boolean) => {
            Some("the field's type wants true or false for a default".to_owned())
        }
        DefaultValue::Text(text) if plain == Some(Plain::DateTime) && now(text).is_some() => {
            Some("the time of the insert is a default of its own kind, not a text".to_owned())
        }
        DefaultValue::Text(_) => None,
    }
}

/// Whether two defaults are equal; no default is the same as NULL.
pub fn same(one: &DefaultValue, other: &DefaultValue) -> bool {
    let none = |value: &DefaultValue| matches!(value, DefaultValue::Absent | DefaultValue::Null);
    one == other || none(one) && none(other)
}

/// Whether a row that omits the field gets a value other than NULL.
pub fn gives_a_value(default: &DefaultValue) -> bool {
    !matches!(default, DefaultValue::Absent | DefaultValue::Null)
}

/// Writes the clause, a text by this rule; none without a default. All constants are texts: both grammars
/// accept them for any type.
pub fn write(statement: Statement, product: Product, default: &DefaultValue, rule: &str) -> Statement {
    match default {
        DefaultValue::Absent => statement,
        DefaultValue::Null => statement.words("DEFAULT NULL"),
        DefaultValue::Text(text) => statement.words("DEFAULT").text(rule, text),
        DefaultValue::Number(digits) => statement.words("DEFAULT").text(PLAIN, digits),
        DefaultValue::Boolean(value) => statement.words("DEFAULT").text(PLAIN, value.to_string()),
        DefaultValue::Now(0) => statement.words("DEFAULT CURRENT_TIMESTAMP"),
        DefaultValue::Now(digits) => {
            statement.words("DEFAULT CURRENT_TIMESTAMP").symbol("(").number(digits).symbol(")")
        }
        DefaultValue::Expression(text) if product == Product::StarRocks => {
            statement.words("DEFAULT").symbol("(").expression(text).symbol(")")
        }
        DefaultValue::Expression(text) => statement.words("DEFAULT").expression(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DORIS: Product = Product::Doris;

    #[test]
    fn a_default_is_read_by_its_fields_type() {
        let number = |text: &str| DefaultValue::Number(text.to_owned());
        let text = |text: &str| DefaultValue::Text(text.to_owned());
        for (of, given, expected) in [
            ("BIGINT", "0", number("0")),
            ("DECIMAL(10,2)", "-1.50", number("-1.50")),
            ("VARCHAR(9)", "0", text("0")),
            ("VARCHAR(9)", "CURRENT_TIMESTAMP", text("CURRENT_TIMESTAMP")),
            ("STRING", "", text("")),
            ("BOOLEAN", "1", DefaultValue::Boolean(true)),
            ("BOOLEAN", "false", DefaultValue::Boolean(false)),
            ("DATETIME", "CURRENT_TIMESTAMP", DefaultValue::Now(0)),
            ("DATETIME(3)", "current_timestamp(3)", DefaultValue::Now(3)),
            ("DATETIME", "2026-01-01 00:00:00", text("2026-01-01 00:00:00")),
            ("DATE", "CURRENT_DATE", DefaultValue::Expression("CURRENT_DATE".to_owned())),
            ("bitmap", "BITMAP_EMPTY", text("BITMAP_EMPTY")),
            ("DOUBLE", "PI", DefaultValue::Expression("PI".to_owned())),
        ] {
            assert_eq!(read(DORIS, of, Some(given)), expected, "{of} {given}");
        }
        assert_eq!(read(DORIS, "INT", None), DefaultValue::Absent);
    }

    #[test]
    fn a_default_that_would_read_back_as_another_is_refused() {
        let number = |text: &str| DefaultValue::Number(text.to_owned());
        let text = |text: &str| DefaultValue::Text(text.to_owned());
        let fits = |of: &str, default: &DefaultValue| {
            fault(DORIS, &parse_type(DORIS, of).unwrap(), true, default).is_none()
        };
        for (of, default) in [
            ("BIGINT", number("-7")),
            ("DECIMAL(10,2)", number("1.5")),
            ("VARCHAR(9)", text("it's")),
            ("DATE", text("2026-01-01")),
            ("DATETIME(3)", DefaultValue::Now(3)),
            ("BOOLEAN", DefaultValue::Boolean(true)),
            ("JSON", DefaultValue::Null),
        ] {
            assert!(fits(of, &default), "{of} {default:?}");
            if let (DefaultValue::Text(given) | DefaultValue::Number(given), of) = (&default, of) {
                assert_eq!(read(DORIS, of, Some(given)), default);
            }
        }
        for (of, default) in [
            ("BIGINT", text("7")),
            ("BIGINT", number("7.5")),
            ("VARCHAR(9)", number("7")),
            ("DATETIME", text("CURRENT_TIMESTAMP")),
            ("DATETIME", DefaultValue::Now(3)),
            ("DATE", DefaultValue::Now(0)),
            ("INT", DefaultValue::Boolean(true)),
            ("BOOLEAN", number("1")),
            ("JSON", text("{}")),
            ("ARRAY<INT>", text("[]")),
        ] {
            assert!(!fits(of, &default), "{of} {default:?}");
        }
        let int = parse_type(DORIS, "INT").unwrap();
        assert!(fault(DORIS, &int, false, &DefaultValue::Null).is_some());
    }
}
