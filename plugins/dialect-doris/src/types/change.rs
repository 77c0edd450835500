//! Which type may become which.
//!
//! The servers have a matrix of their own, and within it there are changes that keep every value and
//! changes that do not: `'007'` becomes 7, a time becomes its day, a text that is no JSON becomes NULL.
//! Only the first kind is planned, whatever the server would take.

use super::{Plain, Type};

/// What a change of type means for the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Nothing changes.
    None,
    /// Only the definition is written.
    Metadata,
    /// All data is written again.
    Rewrite,
}

/// Why a change of type is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The server does not do it.
    Impossible,
    /// The server would, and values could come out otherwise than they went in.
    Loses,
}

/// The work of making `before` into `after`.
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

/// What a decimal has in a text besides its digits: `-0.5`.
const SIGN_POINT_ZERO: u32 = 3;

fn kept_if(kept: bool) -> Result<Work, Refusal> {
    if kept { Ok(Work::Rewrite) } else { Err(Refusal::Loses) }
}

/// Whole numbers that a floating-point number holds exactly.
fn float(from: Plain, to: Plain) -> Result<Work, Refusal> {
    let widest = if to == Plain::Float { Plain::SmallInt } else { Plain::Int };
    kept_if(from <= widest)
}

/// The longest text of a whole number, by the servers' own count.
fn shown_length(from: Plain) -> u32 {
    match from {
        Plain::TinyInt => 4,
        Plain::SmallInt => 6,
        Plain::Int => 11,
        Plain::BigInt => 20,
        _ => 40,
    }
}
