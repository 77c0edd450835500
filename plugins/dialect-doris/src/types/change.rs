//! Decides which changes of type are permitted.
//!
//! The servers' own matrix includes changes that do not keep all values: `'007'` becomes 7, a time becomes
//! its day, a text that is not JSON becomes NULL. Only changes that keep all values are planned, even if the
//! server would accept more.

use super::{Plain, Type};

/// The effect of a change of type on the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Nothing changes.
    None,
    /// Only the definition changes.
    Metadata,
    /// All data is rewritten.
    Rewrite,
}

/// Why a change of type is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The server cannot do it.
    Impossible,
    /// The server can do it, but values could change.
    Loses,
}

/// The work of changing `before` into `after`.
pub fn change(before: &Type, after: &Type) -> Result<Work, Refusal> {
    if before == after {
        return Ok(Work::None);
    }
    let (Type::Plain(from, from_numbers), Type::Plain(to, to_numbers)) = (before, after) else {
        return Err(Refusal::Impossible);
    };
    match (from, to) {
        (from, to) if from.is_integer() && to.is_integer() => kept_if(to > from),
        (from, to) if from.is_integer() && to.is_float() => float(*from, *to),
        (Plain::Float, Plain::Double) => Ok(Work::Rewrite),
        (Plain::Double, Plain::Float) => Err(Refusal::Loses),
        (from, Plain::String) if from.is_integer() || *from == Plain::Decimal => Ok(Work::Rewrite),
        (from, Plain::VarChar) if from.is_integer() => kept_if(to_numbers[0] >= shown_length(*from)),
        (Plain::Decimal, Plain::VarChar) => kept_if(to_numbers[0] >= from_numbers[0] + SIGN_POINT_ZERO),
        (from, Plain::VarChar | Plain::String) if from.is_float() => Err(Refusal::Loses),
        (Plain::Char, Plain::Char | Plain::VarChar) => kept_if(to_numbers >= from_numbers),
        (Plain::VarChar, Plain::VarChar) if to_numbers > from_numbers => Ok(Work::Metadata),
        (Plain::VarChar, Plain::VarChar) => Err(Refusal::Loses),
        (Plain::Char | Plain::VarChar, Plain::String) | (Plain::Json, Plain::String) => Ok(Work::Rewrite),
        (Plain::String, Plain::Char | Plain::VarChar) => Err(Refusal::Loses),
        (Plain::Char | Plain::VarChar | Plain::String, _) => Err(Refusal::Loses),
        (Plain::Decimal, Plain::Decimal) => {
            let whole = |numbers: &[u32]| numbers[0] - numbers[1];
            kept_if(whole(to_numbers) >= whole(from_numbers) && to_numbers[1] >= from_numbers[1])
        }
        (Plain::Date, Plain::DateTime) => Ok(Work::Rewrite),
        (Plain::DateTime, Plain::Date) | (Plain::Int, Plain::Date) => Err(Refusal::Loses),
        _ => Err(Refusal::Impossible),
    }
}

/// Characters of a decimal in a text besides its digits: `-0.5`.
const SIGN_POINT_ZERO: u32 = 3;

fn kept_if(kept: bool) -> Result<Work, Refusal> {
    if kept { Ok(Work::Rewrite) } else { Err(Refusal::Loses) }
}

/// Integers that a floating-point type holds exactly.
fn float(from: Plain, to: Plain) -> Result<Work, Refusal> {
    let widest = if to == Plain::Float { Plain::SmallInt } else { Plain::Int };
    kept_if(from <= widest)
}

/// The longest text of an integer, by the servers' own count.
fn shown_length(from: Plain) -> u32 {
    match from {
        Plain::TinyInt => 4,
        Plain::SmallInt => 6,
        Plain::Int => 11,
        Plain::BigInt => 20,
        _ => 40,
    }
}
