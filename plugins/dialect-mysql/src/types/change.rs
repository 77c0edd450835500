//! Decides whether a type can hold every value of another type unchanged. Other changes are refused:
//! depending on the rows, the server would round, truncate, shift or fail.

use super::{Kind, Type};

/// The most bytes that one character takes.
const CHARACTER_MAX_BYTES: u64 = 4;

/// The effect of a change of type on the rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// None: it is the same type.
    Same,
    /// All values stay, and the rows are unchanged on disk.
    KeepsRows,
    /// All values stay; the rows are rewritten.
    WritesRows,
    /// Values can be lost, for this reason.
    Loses(&'static str),
}

/// The effect on the values of a field.
pub fn effect(before: &Type, after: &Type) -> Effect {
    if before == after {
        return Effect::Same;
    }
    match loss(before, after) {
        Some(reason) => Effect::Loses(reason),
        None if keeps_rows(before, after) => Effect::KeepsRows,
        None => Effect::WritesRows,
    }
}

/// Why a value of `before` may change in `after`.
fn loss(before: &Type, after: &Type) -> Option<&'static str> {
    let fits = |fits: bool, reason: &'static str| (!fits).then_some(reason);
    const SHORTER: &str = "what is longer would not fit";
    const RANGE: &str = "numbers out of its range would not fit";
    const DIGITS: &str = "digits would be lost";
    match (before.kind, after.kind) {
        (Kind::Boolean | Kind::Integer(_), Kind::Boolean | Kind::Integer(_)) => {
            let ((low, high), (lowest, highest)) = (range(before), range(after));
            fits(lowest <= low && high <= highest, RANGE)
        }
        (Kind::Boolean | Kind::Integer(_), Kind::Decimal) => {
            let whole = after.numbers[0] - after.numbers[1];
            fits(digits(before) <= whole && (!after.unsigned || before.unsigned), RANGE)
        }
        (Kind::Boolean | Kind::Integer(_), Kind::Float(bytes)) if after.numbers.is_empty() => {
            let (low, high) = range(before);
            let exact = if bytes == 4 { 1i128 << 24 } else { 1i128 << 53 };
            fits(-exact <= low && high <= exact && (!after.unsigned || low >= 0), DIGITS)
        }
        (Kind::Decimal, Kind::Decimal) => {
            let whole = |one: &Type| one.numbers[0] - one.numbers[1];
            let wide = whole(before) <= whole(after) && before.numbers[1] <= after.numbers[1];
            fits(wide && (!after.unsigned || before.unsigned), DIGITS)
        }
        (Kind::Decimal, Kind::Integer(_)) => {
            let high = 10i128.checked_pow(before.numbers[0]).map_or(i128::MAX, |power| power - 1);
            let low = if before.unsigned { 0 } else { -high };
            let (lowest, highest) = range(after);
            fits(before.numbers[1] == 0 && lowest <= low && high <= highest, RANGE)
        }
        (Kind::Float(4), Kind::Float(8)) => fits(
            before.numbers.is_empty() && after.numbers.is_empty() && (!after.unsigned || before.unsigned),
            DIGITS,
        ),
        (Kind::Year, Kind::Integer(bytes)) => fits(bytes >= 2, RANGE),
        (Kind::Bit, Kind::Bit) => fits(before.numbers <= after.numbers, SHORTER),
        (Kind::Date, Kind::DateTime) => None,
        (Kind::DateTime, Kind::DateTime) | (Kind::Time, Kind::Time) | (Kind::Timestamp, Kind::Timestamp) => {
            fits(before.second_digits() <= after.second_digits(), "digits of seconds would be rounded away")
        }
        (Kind::Timestamp, Kind::DateTime) | (Kind::DateTime, Kind::Timestamp) => {
            Some("one is a moment, the other a time on some clock: values would shift with the time zone")
        }
        (Kind::Binary | Kind::VarBinary, Kind::VarBinary) => fits(before.numbers <= after.numbers, SHORTER),
        (Kind::VarBinary | Kind::Binary | Kind::Blob(_), Kind::Blob(_)) => {
            fits(bytes(before) <= bytes(after), SHORTER)
        }
        (Kind::Enum, Kind::Enum) | (Kind::Set, Kind::Set) => {
            let kept = before.members.iter().all(|member| after.members.contains(member));
            fits(kept, "values that are taken out of the list would be lost")
        }
        (Kind::VarChar | Kind::Text(_), Kind::Char) => Some("blanks at the end would be cut off"),
        (Kind::Json, Kind::Text(4)) => None,
        (_, Kind::Char | Kind::VarChar | Kind::Text(_)) => match characters(before) {
            Some(needed) => fits(needed <= room(after, before), SHORTER),
            None => Some("its values cannot all be written as text and read back"),
        },
        _ => Some("not every value of the one is a value of the other"),
    }
}

/// The smallest and the largest number.
fn range(one: &Type) -> (i128, i128) {
    let bytes = if let Kind::Integer(bytes) = one.kind { bytes } else { 1 };
    let span = 1i128 << (8 * u32::from(bytes));
    if one.unsigned { (0, span - 1) } else { (-span / 2, span / 2 - 1) }
}

/// Decimal digits of the largest number.
fn digits(one: &Type) -> u32 {
    let (low, high) = range(one);
    let largest = high.max(-low);
    largest.to_string().len().try_into().unwrap_or(u32::MAX)
}

/// The most characters of a written value; `None` if unknown or not reversible.
fn characters(one: &Type) -> Option<u64> {
    let first = u64::from(one.numbers.first().copied().unwrap_or(0));
    let fraction = u64::from(one.second_digits());
    let fraction = if fraction > 0 { fraction + 1 } else { 0 };
    let longest = |members: &[String]| members.iter().map(|text| text.chars().count() as u64).max();
    match one.kind {
        Kind::Boolean | Kind::Integer(_) => {
            Some(first.max(u64::from(digits(one)) + u64::from(!one.unsigned)))
        }
        Kind::Decimal => Some(first + 3),
        Kind::Char | Kind::VarChar => Some(first),
        Kind::Text(_) => Some(bytes(one)),
        Kind::Enum => longest(&one.members),
        Kind::Set => Some(one.members.iter().map(|text| text.chars().count() as u64 + 1).sum()),
        Kind::Date | Kind::Time => Some(10 + fraction),
        Kind::DateTime => Some(19 + fraction),
        Kind::Year => Some(4),
        Kind::Uuid => Some(36),
        Kind::Inet => Some(45),
        _ => None,
    }
}

/// The number of characters that fit for certain. A text that was one before is measured in bytes on both
/// sides.
fn room(after: &Type, before: &Type) -> u64 {
    match (after.kind, before.kind) {
        (Kind::Text(_), Kind::Text(_)) => bytes(after),
        (Kind::Text(1), _) => bytes(after) / CHARACTER_MAX_BYTES,
        // A row, and so any VARCHAR, has 65,535 bytes at most.
        (Kind::Text(_), _) => bytes(after),
        (_, Kind::Text(_)) => 0,
        _ => u64::from(after.numbers.first().copied().unwrap_or(0)),
    }
}

/// The most bytes of a value.
fn bytes(one: &Type) -> u64 {
    match one.kind {
        Kind::Text(length) | Kind::Blob(length) => (1u64 << (8 * u32::from(length))) - 1,
        _ => u64::from(one.numbers.first().copied().unwrap_or(0)),
    }
}

/// Whether the rows are unchanged on disk: a longer VARCHAR with the same length field, values added at a
/// list's end.
fn keeps_rows(before: &Type, after: &Type) -> bool {
    let counted_by_one = |one: &Type, each: u64| bytes(one) * each <= 255;
    match (before.kind, after.kind) {
        (Kind::VarChar, Kind::VarChar) => {
            counted_by_one(after, CHARACTER_MAX_BYTES) || !counted_by_one(before, 1)
        }
        (Kind::VarBinary, Kind::VarBinary) => counted_by_one(after, 1) || !counted_by_one(before, 1),
        (Kind::Enum, Kind::Enum) | (Kind::Set, Kind::Set) => {
            let steps: &[usize] = if before.kind == Kind::Enum { &[255] } else { &[8, 16, 24, 32] };
            let place = |count: usize| steps.iter().filter(|step| count > **step).count();
            after.members.starts_with(&before.members)
                && place(before.members.len()) == place(after.members.len())
        }
        (Kind::Boolean | Kind::Integer(1), Kind::Boolean | Kind::Integer(1)) => {
            before.unsigned == after.unsigned
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::parse;

    fn of(before: &str, after: &str) -> Effect {
        effect(&parse(before, None).unwrap(), &parse(after, None).unwrap())
    }

    #[test]
    fn what_takes_every_value_is_allowed() {
        for (before, after) in [
            ("INT", "BIGINT"),
            ("INT UNSIGNED", "BIGINT"),
            ("BOOLEAN", "INT"),
            ("INT", "DECIMAL(12,2)"),
            ("INT", "DOUBLE"),
            ("SMALLINT", "FLOAT"),
            ("DECIMAL(10,2)", "DECIMAL(12,4)"),
            ("DECIMAL(9,0)", "INT"),
            ("FLOAT", "DOUBLE"),
            ("DATE", "DATETIME"),
            ("DATETIME", "DATETIME(3)"),
            ("INT", "VARCHAR(11)"),
            ("BIGINT UNSIGNED", "VARCHAR(20)"),
            ("DATETIME(6)", "VARCHAR(26)"),
            ("CHAR(10)", "VARCHAR(10)"),
            ("VARCHAR(255)", "TEXT"),
            ("VARCHAR(60)", "TINYTEXT"),
            ("TEXT", "LONGTEXT"),
            ("VARBINARY(4)", "BLOB"),
            ("ENUM('b','a')", "ENUM('a','b')"),
            ("ENUM('a','bcd')", "VARCHAR(3)"),
            ("JSON", "LONGTEXT"),
            ("YEAR", "SMALLINT"),
        ] {
            assert_eq!(of(before, after), Effect::WritesRows, "{before} {after}");
        }
    }

    #[test]
    fn rows_stay_where_only_the_definition_changes() {
        for (before, after) in [
            ("VARCHAR(10)", "VARCHAR(20)"),
            ("VARCHAR(300)", "VARCHAR(400)"),
            ("ENUM('a')", "ENUM('a','b')"),
            ("BOOLEAN", "TINYINT"),
        ] {
            assert_eq!(of(before, after), Effect::KeepsRows, "{before} {after}");
        }
        assert_eq!(of("VARCHAR(60)", "VARCHAR(70)"), Effect::WritesRows);
        assert_eq!(of("INT(11)", "INTEGER"), Effect::Same);
    }

    #[test]
    fn what_can_lose_a_value_is_seen() {
        for (before, after) in [
            ("BIGINT", "INT"),
            ("INT", "INT UNSIGNED"),
            ("INT UNSIGNED", "INT"),
            ("BIGINT", "DOUBLE"),
            ("INT", "FLOAT"),
            ("INT", "DECIMAL(10,2)"),
            ("DECIMAL(10,2)", "DECIMAL(10,1)"),
            ("DECIMAL(10,2)", "DECIMAL(10,4)"),
            ("DECIMAL(10,2)", "INT"),
            ("DOUBLE", "FLOAT"),
            ("DOUBLE", "DECIMAL(65,30)"),
            ("DOUBLE", "VARCHAR(255)"),
            ("DATETIME(3)", "DATETIME"),
            ("DATETIME", "DATE"),
            ("DATETIME", "TIMESTAMP"),
            ("TIMESTAMP", "DATETIME"),
            ("VARCHAR(20)", "VARCHAR(10)"),
            ("VARCHAR(10)", "CHAR(10)"),
            ("VARCHAR(10)", "INT"),
            ("VARCHAR(64)", "TINYTEXT"),
            ("TEXT", "VARCHAR(65535)"),
            ("TEXT", "JSON"),
            ("LONGTEXT", "TEXT"),
            ("BINARY(4)", "BINARY(8)"),
            ("INT", "VARCHAR(10)"),
            ("ENUM('a','b')", "ENUM('a')"),
            ("INT", "DATE"),
            ("BLOB", "TEXT"),
            ("BIT(8)", "INT"),
        ] {
            assert!(matches!(of(before, after), Effect::Loses(_)), "{before} {after}");
        }
    }
}
