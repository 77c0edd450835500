//! Defaults. The servers store every default as a text and convert it to the field's type; to read back
//! unchanged, a default must fit the type of its field.

use std::net::{Ipv4Addr, Ipv6Addr};

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

/// Why the server refuses a new default of this kind, which it does only when it executes the statement.
pub fn unfit(product: Product, of: &Type, default: &DefaultValue) -> Option<String> {
    let Type::Plain(plain, numbers) = of else { return None };
    let not_one = |text: &str, form: &str| {
        Some(format!("{text:?} is no {} that there is; the form is {form}", plain.entry().name))
    };
    match (plain, default) {
        (plain, DefaultValue::Number(digits)) if plain.is_integer() => outside(*plain, digits),
        (Plain::Float, DefaultValue::Number(digits)) if product == Product::Doris => {
            let number: f64 = digits.parse().ok()?;
            (f64::from(number as f32) != number).then(|| {
                format!(
                    "{digits} is not exact as FLOAT, and Doris takes exact defaults only; DOUBLE keeps it"
                )
            })
        }
        (Plain::Float | Plain::Double, DefaultValue::Number(digits)) => {
            let number: f64 = digits.parse().ok()?;
            (!number.is_finite()).then(|| format!("{digits} is too large for {}", plain.entry().name))
        }
        (Plain::Decimal, DefaultValue::Number(digits)) => {
            let [precision, scale] = numbers[..] else { return None };
            (!is_decimal(digits, precision, scale)).then(|| {
                format!(
                    "{digits} does not fit into {}: {} digits before the point and {scale} behind it",
                    of.canonical(product),
                    precision - scale
                )
            })
        }
        (Plain::Char | Plain::VarChar, DefaultValue::Text(text)) => {
            let length = numbers.first().copied().unwrap_or(1) as usize;
            (text.len() > length).then(|| {
                format!("the default has {} bytes, and {} takes {length}", text.len(), of.canonical(product))
            })
        }
        (Plain::Date, DefaultValue::Text(text)) if !is_date(text) => not_one(text, "2026-01-31"),
        (Plain::DateTime, DefaultValue::Text(text)) if !is_time(text) => not_one(text, "2026-01-31 09:30:00"),
        (Plain::Ipv4, DefaultValue::Text(text)) if text.parse::<Ipv4Addr>().is_err() => {
            not_one(text, "192.0.2.1")
        }
        (Plain::Ipv6, DefaultValue::Text(text)) if text.parse::<Ipv6Addr>().is_err() => {
            not_one(text, "2001:db8::1")
        }
        _ => None,
    }
}

/// The problem of a whole number outside of its type's range.
fn outside(plain: Plain, digits: &str) -> Option<String> {
    let bits = match plain {
        Plain::TinyInt => 8,
        Plain::SmallInt => 16,
        Plain::Int => 32,
        Plain::BigInt => 64,
        _ => 128,
    };
    let (least, most) = (i128::MIN >> (128 - bits), i128::MAX >> (128 - bits));
    let fits = digits.parse::<i128>().is_ok_and(|number| (least..=most).contains(&number));
    (!fits).then(|| format!("{digits} is outside of {}: {least} to {most}", plain.entry().name))
}

/// Whether a number without exponent has no more digits than this.
fn is_decimal(digits: &str, precision: u32, scale: u32) -> bool {
    let unsigned = digits.strip_prefix(['-', '+']).unwrap_or(digits);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    !unsigned.contains(['e', 'E'])
        && whole.trim_start_matches('0').len() as u32 <= precision - scale
        && fraction.len() as u32 <= scale
}

/// `2026-01-31`, of the calendar.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let number = |part: &str, length: usize| {
        let is_one = part.len() == length && part.bytes().all(|b| b.is_ascii_digit());
        is_one.then(|| part.parse::<u32>().ok()).flatten()
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// `2026-01-31 09:30:00`, with up to six digits of a second behind it.
fn is_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(' ') else { return false };
    let (time, fraction) = time.split_once('.').map_or((time, None), |(time, rest)| (time, Some(rest)));
    let two = |part: &str, most: u32| {
        part.len() == 2
            && part.bytes().all(|b| b.is_ascii_digit())
            && part.parse::<u32>().is_ok_and(|number| number <= most)
    };
    let parts: Vec<&str> = time.split(':').collect();
    let [hour, minute, second] = parts[..] else { return false };
    is_date(date)
        && two(hour, 23)
        && two(minute, 59)
        && two(second, 59)
        && fraction.is_none_or(|digits| {
            (1..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
        })
}

/// Whether the server keeps a default in another spelling than [`write`] has for it. It compares the texts.
pub fn is_spelled_otherwise(default: &DefaultValue, text: &str) -> bool {
    matches!(default, DefaultValue::Boolean(value) if value.to_string() != text)
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
    fn a_default_that_its_type_cannot_hold_is_refused() {
        let number = |text: &str| DefaultValue::Number(text.to_owned());
        let text = |text: &str| DefaultValue::Text(text.to_owned());
        let unfit = |product, of: &str, default: &DefaultValue| {
            unfit(product, &parse_type(product, of).unwrap(), default)
        };
        for (of, default) in [
            ("TINYINT", number("-128")),
            ("BIGINT", number("9223372036854775807")),
            ("LARGEINT", number("-170141183460469231731687303715884105728")),
            ("FLOAT", number("0.5")),
            ("DOUBLE", number("0.1")),
            ("DECIMAL(4,2)", number("-99.99")),
            ("DECIMAL(2,2)", number("0.25")),
            ("VARCHAR(3)", text("字")),
            ("DATE", text("2024-02-29")),
            ("DATETIME", text("2026-01-31 23:59:59")),
            ("DATETIME(6)", text("2026-01-31 00:00:00.123456")),
            ("IPV4", text("192.0.2.1")),
            ("IPV6", text("2001:db8::1")),
            ("STRING", text("of any length")),
        ] {
            assert_eq!(unfit(DORIS, of, &default), None, "{of} {default:?}");
        }
        for (of, default) in [
            ("TINYINT", number("128")),
            ("INT", number("2147483648")),
            ("LARGEINT", number("170141183460469231731687303715884105728")),
            ("FLOAT", number("0.1")),
            ("DOUBLE", number("1e400")),
            ("DECIMAL(4,2)", number("100")),
            ("DECIMAL(4,2)", number("1.005")),
            ("DECIMAL(4,2)", number("1e1")),
            ("CHAR(2)", text("abc")),
            ("VARCHAR(3)", text("字a")),
            ("DATE", text("2026-02-29")),
            ("DATE", text("today")),
            ("DATETIME", text("2026-01-31")),
            ("DATETIME", text("2026-01-31 24:00:00")),
            ("IPV4", text("192.0.2.256")),
            ("IPV6", text("192.0.2.1")),
        ] {
            assert!(unfit(DORIS, of, &default).is_some(), "{of} {default:?}");
        }
        assert_eq!(unfit(Product::StarRocks, "FLOAT", &number("0.1")), None);
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
