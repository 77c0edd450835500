//! Defaults, which the front end checks when it executes a statement.

use std::net::{Ipv4Addr, Ipv6Addr};

use chrono::{NaiveDate, NaiveDateTime};

use crate::catalogue::Product;
use crate::parse::Syntax;
use crate::refused;

const NOW: &str = "CURRENT_TIMESTAMP";

/// Refuses a default that its type cannot hold.
pub(super) fn check(product: Product, type_text: &str, text: &str) -> Result<(), Syntax> {
    let (name, rest) = type_text.split_once(['(', '<']).unwrap_or((type_text, ""));
    let numbers: Vec<usize> =
        rest.trim_end_matches(')').split(',').filter_map(|part| part.trim().parse().ok()).collect();
    let or = |fits: bool, message: String| if fits { Ok(()) } else { Err(refused(message)) };
    if text.starts_with(NOW) {
        let message =
            "Types other than DATETIME and DATETIMEV2 cannot use current_timestamp as the default value";
        return or(name == "datetime", message.to_owned());
    }
    match name {
        "boolean" => or(is_boolean(text), format!("Invalid BOOLEAN literal: {text}")),
        "tinyint" => or(text.parse::<i8>().is_ok(), out_of_range(text)),
        "smallint" => or(text.parse::<i16>().is_ok(), out_of_range(text)),
        "int" => or(text.parse::<i32>().is_ok(), out_of_range(text)),
        "bigint" => or(text.parse::<i64>().is_ok(), out_of_range(text)),
        "largeint" => or(text.parse::<i128>().is_ok(), out_of_range(text)),
        "float" | "double" => {
            let number: f64 =
                text.parse().map_err(|_| refused(format!("Invalid floating-point literal: {text}")))?;
            let is_exact = f64::from(number as f32) == number;
            let keeps = name == "double" || product == Product::StarRocks || is_exact;
            or(keeps && number.is_finite(), format!("Default value will loose precision: {text}"))
        }
        "decimal" => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
            let are_digits = [whole, fraction].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()));
            let (precision, scale) = match numbers[..] {
                [precision, scale] => (precision, scale),
                [precision] => (precision, 0),
                _ => (38, 9),
            };
            let fits = fraction.len() <= scale
                && whole.trim_start_matches('0').len() + scale <= precision
                && !digits.is_empty();
            or(are_digits && fits, format!("Invalid decimal literal: {text}"))
        }
        "char" | "varchar" => {
            let length = numbers.first().copied().unwrap_or(1);
            or(text.encode_utf16().count() <= length, format!("Default value is too long: {text}"))
        }
        "text" => Ok(()),
        "date" if text.eq_ignore_ascii_case("CURRENT_DATE") => Ok(()),
        "date" => {
            let read = NaiveDate::parse_from_str(text, "%Y-%m-%d");
            or(read.is_ok(), format!("date literal [{text}] is invalid"))
        }
        "datetime" => {
            let read = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f");
            or(read.is_ok(), format!("date/datetime literal [{text}] is invalid"))
        }
        "ipv4" => or(text.parse::<Ipv4Addr>().is_ok(), format!("Invalid IPv4 format: {text}")),
        "ipv6" => or(text.parse::<Ipv6Addr>().is_ok(), format!("Invalid IPv6 format: {text}")),
        _ => or(false, format!("{} type column default value just support null", name.to_ascii_uppercase())),
    }
}

fn is_boolean(text: &str) -> bool {
    ["true", "false", "1", "0"].iter().any(|known| text.eq_ignore_ascii_case(known))
}

fn out_of_range(text: &str) -> String {
    format!("Invalid number format, or number out of range: {text}")
}
