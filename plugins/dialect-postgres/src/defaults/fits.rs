//! Checks whether a user's default can be stored and read back unchanged.

use lakeport_sdk::dialect::DefaultValue;
use lakeport_sdk::serde_json;

use super::{FRACTION_MAX, is_number};
use crate::types::Type;

/// The problem of this default for a field of this type; for people.
pub fn fits(wanted: &DefaultValue, of: &Type) -> Result<(), String> {
    match wanted {
        DefaultValue::Absent | DefaultValue::Null | DefaultValue::Expression(_) => Ok(()),
        DefaultValue::Boolean(_) if of.canonical() == "boolean" => Ok(()),
        DefaultValue::Now(digits) => now(*digits, of),
        DefaultValue::Number(number) => self::number(number, of),
        DefaultValue::Text(text) => self::text(text, of),
        DefaultValue::Boolean(_) => Err(format!("a truth value is no default for {}", of.canonical())),
    }
}

fn now(digits: u8, of: &Type) -> Result<(), String> {
    if of.is_array() {
        return Err("the time of the insert is no default for an array".to_owned());
    }
    match of.name().as_str() {
        "date" if digits == 0 => Ok(()),
        "date" => Err("a date has no fraction of a second".to_owned()),
        name if name.starts_with("timestamp ") && digits <= FRACTION_MAX => Ok(()),
        name if name.starts_with("timestamp ") => {
            Err("PostgreSQL keeps six digits of a second's fraction".to_owned())
        }
        name => Err(format!("the time of the insert is a default for timestamps and dates, not for {name}")),
    }
}

fn number(number: &str, of: &Type) -> Result<(), String> {
    let name = of.name();
    if of.is_array() || !matches!(of.family(), "integer" | "decimal" | "float") {
        return Err(format!("a number is no default for {}", of.canonical()));
    }
    if !is_number(number) {
        let plain = "write the number plainly: digits, perhaps `-` before and a fraction behind, no exponent";
        return Err(format!("PostgreSQL would keep {number} in another form; {plain}"));
    }
    let unsigned = number.trim_start_matches('-');
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let whole_digits = if whole == "0" { 0 } else { whole.len() };
    match (name.as_str(), of.numbers()) {
        ("smallint", _) if fraction.is_empty() && number.parse::<i16>().is_ok() => Ok(()),
        ("integer", _) if fraction.is_empty() && number.parse::<i32>().is_ok() => Ok(()),
        ("bigint", _) if fraction.is_empty() && number.parse::<i64>().is_ok() => Ok(()),
        ("smallint" | "integer" | "bigint", _) => Err(format!("{number} is no value of {name}")),
        ("numeric", [precision, scale])
            if whole_digits > (precision - scale) as usize || fraction.len() > *scale as usize =>
        {
            Err(format!("{number} does not fit into {}", of.canonical()))
        }
        _ => Ok(()),
    }
}

fn text(text: &str, of: &Type) -> Result<(), String> {
    if of.is_array() {
        return if text == "{}" {
            Ok(())
        } else {
            Err("of an array only the empty one, {}, can be a default".to_owned())
        };
    }
    let name = of.name();
    let form = |fits: bool, form: &str| {
        if fits { Ok(()) } else { Err(format!("a default of {name} is written {form}")) }
    };
    match name.as_str() {
        "text" => Ok(()),
        "character varying" | "character" => match of.numbers().first() {
            Some(length) if text.chars().count() > *length as usize => {
                Err(format!("the default has more characters than {} takes", of.canonical()))
            }
            _ => Ok(()),
        },
        "date" => form(is_date(text), "yyyy-MM-dd"),
        "time without time zone" => form(is_time(text, of), "HH:mm:ss, perhaps with a fraction"),
        "timestamp without time zone" => {
            let fits = text.split_once(' ').is_some_and(|(date, time)| is_date(date) && is_time(time, of));
            form(fits, "yyyy-MM-dd HH:mm:ss, perhaps with a fraction")
        }
        "timestamp with time zone" => {
            let local = text.strip_suffix("+00").and_then(|local| local.split_once(' '));
            let fits = local.is_some_and(|(date, time)| is_date(date) && is_time(time, of));
            form(fits, "in UTC: yyyy-MM-dd HH:mm:ss+00, perhaps with a fraction")
        }
        "uuid" => form(is_uuid(text), "in small letters with hyphens"),
        "bytea" => form(is_hex(text), "\\x and pairs of the digits 0-9a-f"),
        "bit" => {
            let fits = text.bytes().all(|b| matches!(b, b'0' | b'1'))
                && Some(text.len()) == of.numbers().first().map(|length| *length as usize);
            form(fits, "with as many 0 and 1 as it has bits")
        }
        "json" => form(serde_json::from_str::<serde_json::Value>(text).is_ok(), "as JSON"),
        "jsonb" => form(matches!(text, "{}" | "[]"), "{} or []; PostgreSQL keeps others in another form"),
        _ if matches!(of.family(), "integer" | "decimal" | "float" | "boolean") => Err(format!(
            "a text is no default for {name}; give a {}",
            if name == "boolean" { "truth value" } else { "number" }
        )),
        _ => Err(format!("PostgreSQL may keep a default of {name} in another form; none can be given here")),
    }
}

fn is_date(text: &str) -> bool {
    let Some((year, month, day)) = parts::<3>(text, '-').map(|[year, month, day]| (year, month, day)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    text.len() == 10 && (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=days).contains(&day)
}

fn is_time(text: &str, of: &Type) -> bool {
    let most = of.numbers().first().copied().unwrap_or(6) as usize;
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "1"));
    let fraction_fits = text.len() == 8
        || fraction.len() <= most
            && !fraction.ends_with('0')
            && !fraction.is_empty()
            && fraction.bytes().all(|b| b.is_ascii_digit());
    let clock_fits = clock.len() == 8
        && parts::<3>(clock, ':')
            .is_some_and(|[hour, minute, second]| hour < 24 && minute < 60 && second < 60);
    clock_fits && fraction_fits
}

fn parts<const N: usize>(text: &str, separator: char) -> Option<[u32; N]> {
    let numbers: Option<Vec<u32>> = text
        .split(separator)
        .map(|part| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok()).flatten())
        .collect();
    numbers?.try_into().ok()
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12]
        && text.bytes().all(|b| b == b'-' || b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn is_hex(text: &str) -> bool {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    text.strip_prefix("\\x").is_some_and(|hex| hex.len() % 2 == 0 && hex.bytes().all(is_digit))
}
