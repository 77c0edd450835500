//! Turns words into a meaning: [`link`] finds what the words name, [`read`] finds how they combine.

pub mod choose;
mod fields;
pub mod link;
pub mod meaning;
mod measures;
pub mod names;
mod near;
mod numbers;
mod ranges;
mod ranks;
pub mod read;
mod things;

use crate::calendar::Day;
use crate::known::Known;
use crate::words;
use meaning::{Meaning, Unclear};

/// The meaning of a question about a schema.
pub fn understand(question: &str, known: &Known<'_>, today: Day) -> Result<Meaning, Unclear> {
    let words = words::read(question, &known.names.dictionary);
    let pieces = link::pieces(&words, known.schema, &known.names, today);
    read::meaning(known, &pieces)
}

/// The tables that a question names, directly or by their fields: their values should be sampled.
pub fn named_tables(question: &str, known: &Known<'_>, today: Day) -> Vec<usize> {
    let words = words::read(question, &known.names.dictionary);
    let pieces = link::pieces(&words, known.schema, &known.names, today);
    let mut tables: Vec<usize> = pieces.iter().flat_map(link::Piece::tables).collect();
    tables.sort_unstable();
    tables.dedup();
    tables
}
