//! Which fields hold amounts, judging by their names.

use crate::schema::Field;
use crate::words::concept;
use crate::words::short::words_of;

/// Last words of fields whose values add up.
const SUMMED: &[&str] =
    &["amount", "sale", "revenue", "cost", "quantity", "piece", "profit", "total", "turnover"];
/// Words of fields whose single values are of no interest.
const FLOWS: &[&str] = &["sale", "revenue", "turnover", "profit"];

/// Whether single values of a field are of no interest.
pub fn flows(field: &Field) -> bool {
    words_of(&field.name).iter().any(|word| FLOWS.contains(&concept(word).as_str()))
}

/// Whether only sums of a field are asked for: of sales and of pieces.
pub fn is_of_no_row(field: &Field) -> bool {
    let is_quantity = |word: &String| matches!(concept(word).as_str(), "quantity" | "piece");
    flows(field) || words_of(&field.name).iter().any(is_quantity)
}

/// Whether values of a field add up.
pub fn adds_up(field: &Field) -> bool {
    let is_summed = |word: &String| SUMMED.contains(&concept(word).as_str());
    field.is_number() && (flows(field) || words_of(&field.name).last().is_some_and(is_summed))
}
