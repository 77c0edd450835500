//! The end of a question: what still waits is completed, or the question is refused.

use super::{Piece, Reader, Waiting};
use crate::understand::link::Chunk;
use crate::understand::meaning::{By, Filter, Meaning, Measure, Test, Unclear};
use crate::words::phrases::{Compare, Func, Op};

impl Reader<'_> {
    pub(super) fn finish(mut self) -> Result<Meaning, Unclear> {
        // `in ascending order of count`
        if let [Waiting::Order(_), Waiting::Count] = self.waiting[..] {
            self.waiting.pop();
            self.frequency()?;
        }
        let mut shown = Vec::new();
        self.meaning.items.retain(|item| {
            let is_new = !shown.contains(item);
            shown.push(*item);
            is_new
        });
        if let Some(Waiting::Make(funcs)) = self.take_last(|waiting| matches!(waiting, Waiting::Make(_))) {
            // `total orders` counts; every other function needs a field.
            let [Func::Sum] = funcs[..] else { return Err(Unclear::Shape) };
            let (Some(&table), true) = (self.meaning.tables.first(), self.meaning.measures.is_empty()) else {
                return Err(Unclear::Shape);
            };
            self.meaning.measures.push(Measure::Count(table));
        }
        if std::mem::take(&mut self.share) {
            self.rate()?;
        }
        if self.waiting == [Waiting::People] {
            self.waiting.clear();
            let table = self.meaning.groups.first().map(|group| group.table());
            let table = table.or(self.meaning.filters.first().map(|filter| filter.place.table));
            self.measure(Measure::Count(table.ok_or(Unclear::Shape)?))?;
        }
        if let ([Waiting::Times], [verb]) = (&self.waiting[..], &self.meaning.verbs[..]) {
            let events = Measure::Count(verb.table);
            self.waiting.clear();
            self.measure(events)?;
        }
        if let [Waiting::Extreme(greatest)] = self.waiting[..] {
            self.waiting.pop();
            let place = self.size_of_entity()?;
            self.rank(By::Field(place), greatest)?;
        }
        // `Who makes the most money?` asks for something that nothing names.
        let asks_who = self.pieces.first().is_some_and(|piece| piece.text.eq_ignore_ascii_case("who"));
        if asks_who && self.meaning.tables.is_empty() && self.meaning.items.is_empty() {
            return Err(Unclear::Shape);
        }
        if let Some(ascending) =
            self.ascending.filter(|_| self.meaning.order.is_none() && self.meaning.rank.is_none())
        {
            let title = self.meaning.tables.first().and_then(|table| self.schema.title(*table));
            let place = self.meaning.items.first().copied().or(title).ok_or(Unclear::Shape)?;
            self.meaning.order = Some((By::Field(place), !ascending));
        }
        if !self.waiting.is_empty() || self.not || self.or || self.new || self.number.is_some() {
            return Err(Unclear::Shape);
        }
        let is_bare = |piece: &Piece| {
            matches!(&piece.chunk, Chunk::Named(_) | Chunk::Range(_) | Chunk::Mark)
                || matches!(&piece.chunk, Chunk::Op(Op::Of))
                || piece.text.eq_ignore_ascii_case("in")
                || piece.text.eq_ignore_ascii_case("from")
        };
        self.meaning.bare = self.pieces.iter().all(is_bare);
        if contradicts(&self.meaning.filters) {
            return Err(Unclear::Shape);
        }
        self.meaning.one = self.single || !self.several;
        Ok(self.meaning)
    }
}

/// Whether no row can pass: `founded before 2003 and after 2003` asks for two kinds of rows.
fn contradicts(filters: &[Filter]) -> bool {
    let ends = |filter: &Filter| match filter.test {
        Test::Number(Compare::More | Compare::AtLeast, number) => Some((number, f64::INFINITY)),
        Test::Number(Compare::Less | Compare::AtMost, number) => Some((f64::NEG_INFINITY, number)),
        Test::Number(Compare::Equal, number) => Some((number, number)),
        _ => None,
    };
    filters.iter().enumerate().any(|(at, one)| {
        filters[at + 1..].iter().filter(|other| other.place == one.place).any(|other| {
            ends(one).zip(ends(other)).is_some_and(|(one, other)| one.0.max(other.0) >= one.1.min(other.1))
        })
    })
}
