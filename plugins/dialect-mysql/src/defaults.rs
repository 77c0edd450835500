//! Defaults: converts the catalogue's to the contract's cases, to the form that the server will store, and to
//! tokens.
//!
//! The two servers report them differently: MySQL the bare value, with a marker of expressions in `EXTRA`;
//! MariaDB always an expression. Both round and reformat values (`1` becomes `1.00`): this is computed
//! beforehand, so that it can be noted, or refused if something would be lost.

use lakeport_sdk::dialect::{DefaultValue, Statement};

use crate::text;
use crate::types::{Kind, Type};

/// Parses the catalogue's `COLUMN_DEFAULT`. `extra` is its column `EXTRA`; `parsed` the field's type, if
/// known.
pub fn read(
    is_mariadb: bool,
    column_default: Option<&str>,
    extra: &str,
    parsed: Option<&Type>,
) -> DefaultValue {
    let Some(given) = column_default else { return DefaultValue::Absent };
    let is_expression = extra.to_ascii_uppercase().contains("DEFAULT_GENERATED");
    if (is_mariadb || is_expression)
        && let Some(digits) = current_timestamp(given)
        && parsed.is_none_or(takes_now)
    {
        return DefaultValue::Now(digits);
    }
    if !is_mariadb {
        if is_expression {
            return DefaultValue::Expression(text::catalogue_expression(given));
        }
        return plain(given, parsed).unwrap_or_else(|| DefaultValue::Text(given.to_owned()));
    }
    if given.eq_ignore_ascii_case("NULL") {
        return DefaultValue::Absent;
    }
    match text::literal(given) {
        Some(value) => DefaultValue::Text(value),
        None => plain(given, parsed).unwrap_or_else(|| DefaultValue::Expression(given.to_owned())),
    }
}

/// A value written without quotes.
fn plain(given: &str, parsed: Option<&Type>) -> Option<DefaultValue> {
    let parsed = parsed?;
    match parsed.kind {
        Kind::Boolean if given == "1" => Some(DefaultValue::Boolean(true)),
        Kind::Boolean if given == "0" => Some(DefaultValue::Boolean(false)),
        _ if is_numeric(parsed) && is_number(given) => Some(DefaultValue::Number(given.to_owned())),
        _ if is_bare(given, parsed) => Some(DefaultValue::Expression(given.to_owned())),
        _ => None,
    }
}

/// `b'101'` and `0x6162`, which have no parentheses.
fn is_bare(given: &str, parsed: &Type) -> bool {
    let all = |text: &str, fits: fn(&u8) -> bool| text.as_bytes().iter().all(fits);
    match parsed.kind {
        Kind::Bit => given
            .strip_prefix("b'")
            .and_then(|rest| rest.strip_suffix('\''))
            .is_some_and(|bits| all(bits, |b| matches!(b, b'0' | b'1'))),
        Kind::Binary | Kind::VarBinary | Kind::Blob(_) => given
            .strip_prefix("0x")
            .is_some_and(|digits| !digits.is_empty() && all(digits, u8::is_ascii_hexdigit)),
        _ => false,
    }
}

/// The digits of `CURRENT_TIMESTAMP(6)`, `current_timestamp()`.
fn current_timestamp(given: &str) -> Option<u8> {
    let upper = given.to_ascii_uppercase();
    match upper.strip_prefix("CURRENT_TIMESTAMP")? {
        "" | "()" => Some(0),
        rest => rest.strip_prefix('(')?.strip_suffix(')')?.parse::<u8>().ok().filter(|digits| *digits <= 6),
    }
}

fn takes_now(parsed: &Type) -> bool {
    matches!(parsed.kind, Kind::DateTime | Kind::Timestamp)
}

fn is_numeric(parsed: &Type) -> bool {
    matches!(parsed.kind, Kind::Boolean | Kind::Integer(_) | Kind::Decimal | Kind::Float(_) | Kind::Year)
}

/// Sign, digits, fraction, exponent.
pub fn is_number(given: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = given.strip_prefix(['-', '+']).unwrap_or(given);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|text| digits(text.strip_prefix(['-', '+']).unwrap_or(text)))
}

/// Whether two defaults have the same effect: no default is the same as NULL.
pub fn same(one: &DefaultValue, other: &DefaultValue) -> bool {
    let none = |value: &DefaultValue| matches!(value, DefaultValue::Absent | DefaultValue::Null);
    one == other || none(one) && none(other)
}

/// Whether a row that omits the field gets a value other than NULL.
pub fn gives_a_value(default: &DefaultValue) -> bool {
    !matches!(default, DefaultValue::Absent | DefaultValue::Null)
}

/// The form in which a field of this type stores a default, or the reason why it cannot have it.
pub fn kept(is_mariadb: bool, default: &DefaultValue, parsed: &Type) -> Result<DefaultValue, String> {
    let name = parsed.canonical();
    match default {
        DefaultValue::Absent | DefaultValue::Null | DefaultValue::Expression(_) => Ok(default.clone()),
        DefaultValue::Now(_) if takes_now(parsed) => Ok(DefaultValue::Now(parsed.second_digits())),
        DefaultValue::Now(_) => {
            Err(format!("{name} cannot have the time of the insert; DATETIME and TIMESTAMP can"))
        }
        DefaultValue::Boolean(value) if parsed.kind == Kind::Boolean => Ok(DefaultValue::Boolean(*value)),
        DefaultValue::Boolean(value) => kept_number(if *value { "1" } else { "0" }, parsed),
        DefaultValue::Number(digits) => kept_number(digits, parsed),
        DefaultValue::Text(value) => kept_text(is_mariadb, value, parsed),
    }
}

fn kept_number(given: &str, parsed: &Type) -> Result<DefaultValue, String> {
    let name = parsed.canonical();
    if matches!(parsed.kind, Kind::Char | Kind::VarChar) {
        return kept_text(true, given, parsed);
    }
    if !is_numeric(parsed) || !is_number(given) {
        return Err(format!("{name} cannot have the number {given} as its default"));
    }
    if matches!(parsed.kind, Kind::Float(_)) {
        let is_negative = given.starts_with('-') && given.contains(|c| matches!(c, '1'..='9'));
        return match parsed.unsigned && is_negative {
            true => Err(format!("{name} has no negative numbers")),
            false => Ok(DefaultValue::Number(given.to_owned())),
        };
    }
    let fraction = if parsed.kind == Kind::Decimal { parsed.numbers[1] as usize } else { 0 };
    let number = fixed(given, fraction)
        .ok_or_else(|| format!("{name} would round {given}; give as many digits as it has"))?;
    if !in_range(&number, parsed) {
        return Err(format!("{given} is out of the range of {name}"));
    }
    Ok(match (parsed.kind, number.as_str()) {
        (Kind::Boolean, "1") => DefaultValue::Boolean(true),
        (Kind::Boolean, "0") => DefaultValue::Boolean(false),
        _ => DefaultValue::Number(number),
    })
}

/// A number with exactly so many fraction digits; `None` if it has more, or an exponent.
fn fixed(given: &str, fraction: usize) -> Option<String> {
    let (sign, unsigned) = match given.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", given.strip_prefix('+').unwrap_or(given)),
    };
    let (whole, behind) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    if unsigned.contains(['e', 'E']) {
        return None;
    }
    let behind = behind.trim_end_matches('0');
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    if behind.len() > fraction {
        return None;
    }
    let sign = if whole == "0" && behind.is_empty() { "" } else { sign };
    Some(match fraction {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{behind:0<fraction$}"),
    })
}

fn in_range(number: &str, parsed: &Type) -> bool {
    let is_negative = number.starts_with('-');
    if parsed.unsigned && is_negative {
        return false;
    }
    match parsed.kind {
        Kind::Decimal => {
            let whole = number.trim_start_matches('-').split('.').next().unwrap_or_default();
            whole == "0" || whole.len() <= (parsed.numbers[0] - parsed.numbers[1]) as usize
        }
        Kind::Year => number == "0" || number.parse::<u32>().is_ok_and(|year| (1901..=2155).contains(&year)),
        kind => {
            let bits = 8 * if let Kind::Integer(bytes) = kind { u32::from(bytes) } else { 1 };
            let span = 1i128 << bits;
            let (low, high) = if parsed.unsigned { (0, span - 1) } else { (-span / 2, span / 2 - 1) };
            number.parse::<i128>().is_ok_and(|number| (low..=high).contains(&number))
        }
    }
}

fn kept_text(is_mariadb: bool, value: &str, parsed: &Type) -> Result<DefaultValue, String> {
    let name = parsed.canonical();
    let same = || Ok(DefaultValue::Text(value.to_owned()));
    if let Some(c) = text::beyond_catalogue(value) {
        return Err(format!("the server cannot keep {c:?} in a default and would put ? for it"));
    }
    let length = value.chars().count();
    let longest = parsed.numbers.first().copied().unwrap_or(0) as usize;
    match parsed.kind {
        Kind::Char | Kind::VarChar if length > longest => {
            Err(format!("the default has {length} characters and {name} takes {longest}"))
        }
        Kind::Char if value.ends_with(' ') => Err(format!("{name} would cut off the blanks at the end")),
        Kind::Char | Kind::VarChar => same(),
        Kind::Text(_) if is_mariadb => same(),
        Kind::Text(_) | Kind::Blob(_) | Kind::Json | Kind::Spatial => {
            Err(format!("a field of the type {name} cannot have a default other than NULL; VARCHAR can"))
        }
        Kind::Enum if parsed.members.iter().any(|member| member == value) => same(),
        Kind::Enum => Err(format!("{value:?} is not among the values of the field")),
        Kind::Set => {
            let chosen: Vec<&str> = value.split(',').filter(|part| !part.is_empty()).collect();
            if !chosen.iter().all(|part| parsed.members.iter().any(|member| member == part)) {
                return Err(format!("{value:?} is not of the values of the field"));
            }
            let kept = parsed.members.iter().filter(|member| chosen.contains(&member.as_str()));
            Ok(DefaultValue::Text(kept.cloned().collect::<Vec<_>>().join(",")))
        }
        Kind::Date if has_shape(value, "0000-00-00") => same(),
        Kind::Time if has_shape(value.trim_start_matches('-'), &with_fraction("00:00:00", parsed)) => same(),
        Kind::DateTime | Kind::Timestamp
            if has_shape(value, &with_fraction("0000-00-00 00:00:00", parsed)) =>
        {
            same()
        }
        Kind::Date => Err(format!("{name} takes a default such as 2026-01-31")),
        Kind::Time => Err(format!("{name} takes a default such as {}", with_fraction("23:59:59", parsed))),
        Kind::DateTime | Kind::Timestamp => {
            let form = with_fraction("2026-01-31 23:59:59", parsed);
            Err(format!("{name} takes a default such as {form}"))
        }
        _ if is_numeric(parsed) && is_number(value) => kept_number(value, parsed),
        // MySQL shows bytes as hexadecimal digits, which compare as another default.
        Kind::VarBinary if is_mariadb && value.is_ascii() && length <= longest => same(),
        Kind::Binary if is_mariadb && value.is_ascii() && length == longest => same(),
        // The server stores an address or an identifier in its own spelling, and shows bytes in none.
        _ => Err(format!("a field of the type {name} cannot have the text {value:?} as its default")),
    }
}

fn with_fraction(form: &str, parsed: &Type) -> String {
    match parsed.second_digits() {
        0 => form.to_owned(),
        digits => format!("{form}.{}", "0".repeat(usize::from(digits))),
    }
}

/// Whether a text has digits where the form has them, and equals the form elsewhere.
fn has_shape(value: &str, form: &str) -> bool {
    value.len() == form.len()
        && value.bytes().zip(form.bytes()).all(|(is, wanted)| match wanted {
            b'0' => is.is_ascii_digit(),
            other => is == other,
        })
}

/// Whether the server may show this number differently from the given one.
pub fn is_reshaped(given: &DefaultValue, parsed: &Type) -> bool {
    let DefaultValue::Number(number) = given else { return false };
    let unsigned = number.strip_prefix('-').unwrap_or(number);
    let plain_fraction = unsigned.split_once('.').is_none_or(|(_, behind)| !behind.ends_with('0'));
    let plain_whole = unsigned.starts_with("0.") || unsigned == "0" || !unsigned.starts_with('0');
    let is_short = unsigned.len() <= 7;
    matches!(parsed.kind, Kind::Float(_))
        && !(plain_fraction
            && plain_whole
            && is_short
            && unsigned.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

/// Writes the clause; none without a default.
pub fn write(statement: Statement, default: &DefaultValue, parsed: &Type, rule: &str) -> Statement {
    match default {
        DefaultValue::Absent => statement,
        DefaultValue::Null => statement.words("DEFAULT NULL"),
        DefaultValue::Text(value) => statement.words("DEFAULT").text(rule, value),
        DefaultValue::Number(digits) => statement.words("DEFAULT").number(digits),
        DefaultValue::Boolean(true) => statement.words("DEFAULT TRUE"),
        DefaultValue::Boolean(false) => statement.words("DEFAULT FALSE"),
        DefaultValue::Now(digits) => now(statement.words("DEFAULT"), *digits),
        DefaultValue::Expression(expression) if is_bare(expression, parsed) => {
            statement.words("DEFAULT").expression(expression)
        }
        DefaultValue::Expression(expression) => {
            statement.words("DEFAULT").symbol("(").expression(expression).symbol(")")
        }
    }
}

/// Writes `CURRENT_TIMESTAMP(6)`.
pub fn now(statement: Statement, digits: u8) -> Statement {
    let statement = statement.words("CURRENT_TIMESTAMP");
    if digits == 0 { statement } else { statement.symbol("(").number(digits).symbol(")") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::parse;

    fn of(text: &str) -> Type {
        parse(text, None).unwrap()
    }

    fn text(value: &str) -> DefaultValue {
        DefaultValue::Text(value.to_owned())
    }

    fn number(value: &str) -> DefaultValue {
        DefaultValue::Number(value.to_owned())
    }

    fn expression(value: &str) -> DefaultValue {
        DefaultValue::Expression(value.to_owned())
    }

    #[test]
    fn mysql_says_bare_values_and_marks_expressions() {
        for (given, extra, type_text, expected) in [
            ("x", "", "varchar(20)", text("x")),
            ("5", "", "char(3)", text("5")),
            ("CURRENT_TIMESTAMP", "", "varchar(30)", text("CURRENT_TIMESTAMP")),
            ("1.00", "", "decimal(10,2)", number("1.00")),
            ("1", "", "tinyint(1)", DefaultValue::Boolean(true)),
            ("2", "", "tinyint(1)", number("2")),
            ("b'101'", "", "bit(3)", expression("b'101'")),
            ("0x6162", "", "varbinary(5)", expression("0x6162")),
            (
                "CURRENT_TIMESTAMP(6)",
                "DEFAULT_GENERATED on update CURRENT_TIMESTAMP(6)",
                "datetime(6)",
                DefaultValue::Now(6),
            ),
            (r"concat(_utf8mb4\'a\')", "DEFAULT_GENERATED", "varchar(9)", expression("concat('a')")),
            ("curdate()", "DEFAULT_GENERATED", "date", expression("curdate()")),
            ("2026-01-31 00:00:00", "", "datetime", text("2026-01-31 00:00:00")),
        ] {
            assert_eq!(read(false, Some(given), extra, Some(&of(type_text))), expected, "{given}");
        }
        assert_eq!(read(false, None, "", None), DefaultValue::Absent);
    }

    #[test]
    fn mariadb_says_expressions() {
        for (given, type_text, expected) in [
            ("'x'", "varchar(20)", text("x")),
            ("'it''s'", "varchar(20)", text("it's")),
            ("'current_timestamp()'", "varchar(30)", text("current_timestamp()")),
            ("NULL", "int(11)", DefaultValue::Absent),
            ("'NULL'", "varchar(9)", text("NULL")),
            ("1.00", "decimal(10,2)", number("1.00")),
            ("0", "tinyint(1)", DefaultValue::Boolean(false)),
            ("current_timestamp(6)", "datetime(6)", DefaultValue::Now(6)),
            ("current_timestamp()", "date", expression("current_timestamp()")),
            ("(1 + 2)", "bigint(20)", expression("(1 + 2)")),
            ("concat('a','b')", "varchar(9)", expression("concat('a','b')")),
            ("b'101'", "bit(3)", expression("b'101'")),
        ] {
            assert_eq!(read(true, Some(given), "", Some(&of(type_text))), expected, "{given}");
        }
    }

    #[test]
    fn what_the_server_will_keep_is_known_beforehand() {
        for (given, type_text, expected) in [
            (number("1"), "decimal(10,2)", number("1.00")),
            (number("-01.5"), "decimal(10,2)", number("-1.50")),
            (number("+7"), "int", number("7")),
            (number("1.0"), "int", number("1")),
            (number("1"), "boolean", DefaultValue::Boolean(true)),
            (DefaultValue::Boolean(true), "int", number("1")),
            (number("5"), "varchar(9)", text("5")),
            (text("5"), "int", number("5")),
            (DefaultValue::Now(0), "datetime(3)", DefaultValue::Now(3)),
            (text("b,a"), "set('a','b')", text("a,b")),
            (text("2026-01-31"), "date", text("2026-01-31")),
        ] {
            assert_eq!(kept(false, &given, &of(type_text)).unwrap(), expected, "{given:?} {type_text}");
        }
    }

    #[test]
    fn what_the_server_would_round_cut_or_refuse_is_refused() {
        for (given, type_text) in [
            (number("1.25"), "decimal(5,1)"),
            (number("1.5"), "int"),
            (number("1e3"), "int"),
            (number("300"), "tinyint"),
            (number("-1"), "int unsigned"),
            (number("12345"), "decimal(5,2)"),
            (number("1"), "date"),
            (text("abcd"), "varchar(3)"),
            (text("x"), "int"),
            (text("c"), "enum('a','b')"),
            (text("2026-1-1"), "date"),
            (text("2026-01-31"), "datetime"),
            (text("x"), "text"),
            (text("😀"), "varchar(9)"),
            (text("ab"), "binary(2)"),
            (DefaultValue::Now(0), "date"),
            (DefaultValue::Boolean(true), "json"),
        ] {
            let message = kept(false, &given, &of(type_text)).expect_err(&format!("{given:?} {type_text}"));
            assert!(message.len() > 15, "{message}");
        }
        assert_eq!(kept(true, &text("x"), &of("text")).unwrap(), text("x"));
        assert_eq!(kept(true, &text("ab"), &of("varbinary(5)")).unwrap(), text("ab"));
        assert!(kept(true, &text("ab"), &of("binary(5)")).is_err());
    }

    #[test]
    fn float_defaults_that_change_shape_are_detected() {
        for (given, expected) in [("1.5", false), ("0.1", false), ("1.50", true), ("1e3", true), ("01", true)]
        {
            assert_eq!(is_reshaped(&number(given), &of("double")), expected, "{given}");
        }
    }
}
