//! From words to a meaning: [`link`] finds what the words name, [`read`] finds what is asked of it.

pub mod choose;
pub mod link;
pub mod meaning;
pub mod names;
mod numbers;
mod ranks;
pub mod read;
mod things;

use crate::calendar::Day;
use crate::schema::Schema;
use crate::words;
use meaning::{Meaning, Unclear};

/// What a question asks of a schema.
pub fn understand(question: &str, schema: &Schema, today: Day) -> Result<Meaning, Unclear> {
    let names = names::Names::of(schema);
    let words = words::read(question, &names.dictionary);
    let pieces = link::pieces(&words, schema, &names, today);
    read::meaning(schema, &pieces)
}

/// The tables that a question names, itself or by their fields: those whose values are worth looking at.
pub fn named_tables(question: &str, schema: &Schema, today: Day) -> Vec<usize> {
    let names = names::Names::of(schema);
    let words = words::read(question, &names.dictionary);
    let mut tables: Vec<usize> =
        link::pieces(&words, schema, &names, today).iter().flat_map(link::Piece::tables).collect();
    tables.sort_unstable();
    tables.dedup();
    tables
}
