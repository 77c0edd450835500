//! Changes of type that keep all values.

use super::Type;

/// The effect of a change of type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// No change at all.
    None,
    /// In the catalogue only: the bytes on disk stay.
    InPlace,
    /// All rows are rewritten.
    Rewrite,
    /// Some values could change or be lost.
    Lossy,
}

/// The effect on the values of a field. Independent of the actual values.
pub fn change(before: &Type, after: &Type) -> Change {
    if before.canonical() == after.canonical() {
        return Change::None;
    }
    if before.array != after.array {
        return Change::Lossy;
    }
    match of_elements(before, after) {
        // PostgreSQL rewrites arrays even if the bytes of their elements stay.
        Change::InPlace if before.array => Change::Rewrite,
        found => found,
    }
}

/// Whether values need an explicit cast to the new type. If not, assignment is better: it refuses values that
/// are too long, while a cast truncates them.
pub fn needs_cast(before: &Type, after: &Type) -> bool {
    before.known.family == "text" && after.known.family != "text"
}

fn of_elements(before: &Type, after: &Type) -> Change {
    let (from, to) = (before.name(), after.name());
    if from == to {
        return of_numbers(&from, before.numbers(), after.numbers());
    }
    match (from.as_str(), to.as_str()) {
        ("smallint", "integer" | "bigint" | "real" | "double precision")
        | ("integer", "bigint" | "double precision")
        | ("real", "double precision")
        | ("date", "timestamp without time zone") => Change::Rewrite,
        ("cidr", "inet") => Change::InPlace,
        ("smallint" | "integer" | "bigint", "numeric") => {
            if takes_digits(after.numbers(), digits(&from)) {
                Change::Rewrite
            } else {
                Change::Lossy
            }
        }
        ("character varying", "text") => Change::InPlace,
        ("character", "text") => Change::Rewrite,
        ("character", "character varying") => at_least(after.numbers(), before.numbers(), Change::Rewrite),
        (_, "text") if has_plain_text(&from) => Change::Rewrite,
        ("text", "character varying") if after.numbers().is_empty() => Change::InPlace,
        (_, "character varying") if has_plain_text(&from) => {
            let room = after.numbers().first();
            let wanted = longest_text(&from);
            match (room, wanted) {
                (None, _) => Change::Rewrite,
                (Some(room), Some(wanted)) if *room >= wanted => Change::Rewrite,
                _ => Change::Lossy,
            }
        }
        ("bit", "bit varying") => at_least(after.numbers(), before.numbers(), Change::Rewrite),
        _ => Change::Lossy,
    }
}

/// The same type with other numbers.
fn of_numbers(name: &str, before: &[u32], after: &[u32]) -> Change {
    match name {
        "character varying" | "bit varying" => at_least(after, before, Change::InPlace),
        "character" => at_least(after, before, Change::Rewrite),
        "numeric" => match (before, after) {
            (_, []) => Change::InPlace,
            ([precision, scale], [wider, further]) => {
                let whole_fits = wider - further >= precision - scale;
                match (whole_fits && further >= scale, further == scale) {
                    (true, true) => Change::InPlace,
                    (true, false) => Change::Rewrite,
                    _ => Change::Lossy,
                }
            }
            _ => Change::Lossy,
        },
        "bit" => Change::Lossy,
        // Fraction digits of a second; six by default.
        _ => {
            let said = |numbers: &[u32]| numbers.first().copied().unwrap_or(super::FRACTION_MAX);
            if said(after) >= said(before) { Change::InPlace } else { Change::Lossy }
        }
    }
}

/// Whether a length is no shorter; without one it is unlimited.
fn at_least(after: &[u32], before: &[u32], then: Change) -> Change {
    match (after.first(), before.first()) {
        (None, _) => then,
        (Some(after), Some(before)) if after >= before => then,
        _ => Change::Lossy,
    }
}

/// The most digits before the point of an integer type.
fn digits(name: &str) -> u32 {
    match name {
        "smallint" => 5,
        "integer" => 10,
        _ => 19,
    }
}

fn takes_digits(numbers: &[u32], digits: u32) -> bool {
    match numbers {
        [precision, scale] => precision - scale >= digits,
        _ => true,
    }
}

/// Types whose text is the same in every session and denotes one value.
fn has_plain_text(name: &str) -> bool {
    matches!(
        name,
        "smallint"
            | "integer"
            | "bigint"
            | "numeric"
            | "boolean"
            | "uuid"
            | "inet"
            | "cidr"
            | "macaddr"
            | "json"
            | "jsonb"
    )
}

/// The longest text of a value, including a sign; `None` if unlimited.
fn longest_text(name: &str) -> Option<u32> {
    match name {
        "boolean" => Some(5),
        "uuid" => Some(36),
        "smallint" => Some(6),
        "integer" => Some(11),
        "bigint" => Some(20),
        _ => None,
    }
}
