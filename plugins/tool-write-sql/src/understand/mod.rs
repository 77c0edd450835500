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
mod repair;
pub mod side_by_side;
mod things;
mod verbs;

use std::collections::HashSet;

use crate::answer::layer;
use crate::calendar::Day;
use crate::known::Known;
use crate::schema::{Kind, Place, Schema};
use crate::sums;
use crate::words;
use meaning::{Meaning, Unclear};

/// Unknown words that stand together and may be one value, and the most texts that may be values.
const RUN_MAX: usize = 4;
const UNKNOWN_MAX: usize = 20;

/// A question taken apart.
pub struct Read {
    pieces: Vec<link::Piece>,
    /// Words that were read as others: `countires` as `countries`.
    pub repaired: Vec<(String, String)>,
}

/// What a question names, of each name the thing that is nearest to what happened.
#[derive(Debug, Default)]
pub struct Parts {
    pub tables: Vec<usize>,
    /// Fields of amounts, with the question's word for each.
    pub numbers: Vec<(Place, Option<String>)>,
    /// Fields that tell rows apart, with the question's word for each.
    pub kinds: Vec<(Place, String)>,
    /// Its days, as written.
    pub days: Option<String>,
}

/// What several things of one name are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Several {
    Fields,
    Values,
}

/// Takes a question about a schema apart, without idioms whose words the schema does not have.
pub fn read(question: &str, known: &Known<'_>, today: Day) -> Read {
    let plain = words::idioms::plainer(question);
    let read = read_plainly(&plain, known, today);
    // An idiom whose words the tables do not have.
    let is_added = |word: &String| !question.to_lowercase().contains(&word.to_lowercase());
    if plain != question && read.unknown().iter().any(is_added) {
        return read_plainly(question, known, today);
    }
    read
}

fn read_plainly(text: &str, known: &Known<'_>, today: Day) -> Read {
    let mut words = words::read(text, &known.names.dictionary);
    let repaired = repair::repair(&mut words, known.schema, &known.names);
    let pieces = link::pieces(&words, known.schema, &known.names, today);
    Read { pieces, repaired }
}

impl Read {
    /// What it means. `preferred`: of several things of one name, that of this table.
    pub fn meaning(&self, known: &Known<'_>, preferred: Option<usize>) -> Result<Meaning, Unclear> {
        read::meaning(known, &self.pieces, preferred)
    }

    /// The same, with this of the things that a word may mean.
    pub fn with(mut self, word: &str, thing: &names::Named) -> Read {
        for piece in self.pieces.iter_mut().filter(|piece| piece.text == word) {
            piece.chunk = link::Chunk::Named(vec![thing.clone()]);
        }
        self
    }

    /// What it names.
    pub fn parts(&self, schema: &Schema) -> Parts {
        let mut parts = Parts::default();
        for piece in &self.pieces {
            match &piece.chunk {
                link::Chunk::Range(_) if parts.days.is_none() => parts.days = Some(piece.text.clone()),
                link::Chunk::Named(named) => {
                    let first = named.iter().min_by_key(|named| layer(&schema.table(named.table()).name));
                    match (piece.counts, first) {
                        (Some(table), _) => parts.tables.push(table),
                        (None, Some(names::Named::Table(table))) => parts.tables.push(*table),
                        (_, Some(names::Named::Field(place, _))) => {
                            let field = schema.field(*place);
                            match field.kind() {
                                Kind::Number if sums::adds_up(field) => {
                                    parts.numbers.push((*place, Some(piece.text.clone())));
                                }
                                Kind::Text => parts.kinds.push((*place, piece.text.clone())),
                                _ => {}
                            }
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        if parts.tables.is_empty() && parts.numbers.is_empty() {
            // What the kinds are of, and what is sold.
            parts.tables.extend(parts.kinds.iter().map(|(place, _)| place.table));
            let places = (0..schema.tables.len()).flat_map(|table| schema.places(table));
            let says = !parts.kinds.is_empty() || parts.days.is_some();
            let sold = places.filter(|place| says && sums::flows(schema.field(*place)));
            let sold = sold.min_by_key(|place| layer(&schema.table(place.table).name));
            parts.numbers.extend(sold.map(|place| (place, None)));
        }
        parts
    }

    /// The words that mean nothing here, as written.
    pub fn unknown(&self) -> Vec<String> {
        let mut unknown: Vec<String> = Vec::new();
        for piece in self.pieces.iter().filter(|piece| piece.chunk == link::Chunk::Unknown) {
            if !unknown.contains(&piece.text) && !read::ties(&piece.text) {
                unknown.push(piece.text.clone());
            }
        }
        unknown
    }

    /// Texts that may be values, which nothing here is called: quoted ones, and unknown words that stand together, the
    /// longest first.
    pub fn unknown_values(&self) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        let is_unknown =
            |piece: &link::Piece| matches!(piece.chunk, link::Chunk::Unknown | link::Chunk::Quoted);
        for run in self.pieces.chunk_by(|one, other| is_unknown(one) == is_unknown(other)) {
            if !is_unknown(&run[0]) {
                continue;
            }
            let words: Vec<&str> = run.iter().map(|piece| piece.text.as_str()).collect();
            for length in (1..=words.len().min(RUN_MAX)).rev() {
                texts.extend(words.windows(length).map(|words| words.join(" ")));
            }
        }
        let mut seen = HashSet::new();
        texts.retain(|text| seen.insert(text.clone()));
        texts.truncate(UNKNOWN_MAX);
        texts
    }

    /// The tables that it names, directly or by their fields.
    pub fn tables(&self) -> Vec<usize> {
        let mut tables: Vec<usize> = self.pieces.iter().flat_map(link::Piece::tables).collect();
        tables.sort_unstable();
        tables.dedup();
        tables
    }

    /// The kind of what a word of it may mean; `None`: tables, of which none is chosen by chance.
    pub fn ambiguous_kind(&self, word: &str, schema: &Schema) -> Option<Several> {
        let piece = self.pieces.iter().find(|piece| piece.text == word)?;
        let link::Chunk::Named(named) = &piece.chunk else { return Some(Several::Fields) };
        let is = |fits: fn(&names::Named) -> bool| named.iter().any(fits);
        if is(|named| matches!(named, names::Named::Table(_))) && piece.counts.is_none() {
            return None;
        }
        let mut fields: Vec<String> = named
            .iter()
            .filter_map(|named| match named {
                names::Named::Value(place, _) => Some(schema.field(*place).name.to_lowercase()),
                _ => None,
            })
            .collect();
        fields.dedup();
        // A category of products is the category of what was sold; a state of a thing is not one of its events.
        let is_one = matches!(&fields[..], [only] if !choose::is_state(only));
        Some(if fields.is_empty() || is_one { Several::Fields } else { Several::Values })
    }
}

/// The values that a word nearly is.
pub fn near_values(word: &str, known: &Known<'_>) -> Vec<String> {
    let values = known.schema.tables.iter().flat_map(|table| &table.fields).flat_map(|field| &field.values);
    repair::near(word, values)
}

/// What a word may mean.
pub fn things_called(word: &str, known: &Known<'_>) -> Vec<names::Named> {
    let read = read(word, known, Day::of(1970, 1, 1));
    match read.pieces.into_iter().next().map(|piece| piece.chunk) {
        Some(link::Chunk::Named(named)) => named,
        _ => Vec::new(),
    }
}

/// The tables that a question names, directly or by their fields: their values should be sampled.
pub fn named_tables(question: &str, known: &Known<'_>, today: Day) -> Vec<usize> {
    read(question, known, today).tables()
}
