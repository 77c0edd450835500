//! Searches tables by a text in English, Chinese or both, in the index that the catalogue keeps: a word weighs more the
//! fewer tables have it.

use std::sync::LazyLock;

use lakeport_bindings::tool::catalog::Hit;
use lakeport_catalog::Index;
use lakeport_catalog::terms::{Needles, Terms, Where, scores};

use super::catalog::Seen;
use super::own;
use super::sources::Sources;

/// Fields in a hit.
const FIELDS_MAX: usize = 20;

/// A table that fits a text.
pub struct Found<'i> {
    pub table: Seen<'i>,
    score: f32,
}

/// The words of the server's own views.
static OWN: LazyLock<Terms> = LazyLock::new(|| {
    let mut terms = Terms::default();
    for (place, table) in own::TABLES.iter().enumerate() {
        let whole = table.whole();
        let fields = whole.fields.iter().flat_map(|field| {
            [(Where::FieldName, field.name.as_str()), (Where::FieldText, field.comment.as_str())]
        });
        let about = [(Where::Name, table.name), (Where::Text, whole.head.comment.as_str())];
        terms.put(place as u32, about.into_iter().chain(fields));
    }
    terms
});

/// The tables that fit, best first. `keeps` tells which are searched.
pub fn found<'i>(index: &'i Index, needles: &Needles, keeps: impl Fn(&Seen<'i>) -> bool) -> Vec<Found<'i>> {
    let table = |set: usize, place: u32| match set {
        0 => own::TABLES.get(place as usize).map(Seen::Own),
        _ => index.at(place).map(Seen::Entry),
    };
    let sees = |set: usize, place: u32| table(set, place).is_some_and(|table| keeps(&table));
    let scores = scores(&[&OWN, index.terms()], needles, sees);
    let of_set = |(set, scores): (usize, Vec<(u32, f32)>)| {
        scores.into_iter().filter_map(move |(place, score)| Some(Found { table: table(set, place)?, score }))
    };
    let mut found: Vec<Found<'i>> = scores.into_iter().enumerate().flat_map(of_set).collect();
    found.sort_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score.then_with(|| other.table.standing().cmp(&one.table.standing()))
    });
    found
}

impl Found<'_> {
    pub fn hit(&self, index: &Index, needles: &Needles, sources: &Sources) -> Hit {
        let fields = match self.table {
            Seen::Own(table) => {
                let fits = |name: &str, comment: &str| needles.are_in(name, comment);
                let fields =
                    table.whole().fields.into_iter().filter(|field| fits(&field.name, &field.comment));
                fields.take(FIELDS_MAX).map(|field| field.name).collect()
            }
            Seen::Entry(entry) => index.fields_about(entry.id, needles, FIELDS_MAX),
        };
        Hit { table: self.table.head(sources), score: self.score, fields }
    }
}
