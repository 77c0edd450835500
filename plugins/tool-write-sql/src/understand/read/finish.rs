//! The end of a question: what still waits is completed, or the question is refused.

use super::{Piece, Reader, Waiting, Whole};
use crate::understand::link::Chunk;
use crate::understand::meaning::{Against, By, Filter, Meaning, Measure, Test, Unclear};
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
        if let Some(whole) = self.share.take() {
            self.share_of(whole)?;
        }
        self.compared_days()?;
        // `our best customers`
        if self.waiting == [Waiting::Top] {
            self.waiting.clear();
            self.meaning.top = true;
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
                || matches!(
                    &piece.chunk,
                    Chunk::Op(
                        Op::Of | Op::ComparedWith | Op::Earlier(_) | Op::Over(_) | Op::Growth | Op::Chart(_)
                    )
                )
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

impl Reader<'_> {
    /// `share of`: of a number in each group, of a number's sum, or of rows.
    fn share_of(&mut self, whole: Whole) -> Result<(), Unclear> {
        let amount = match (&self.meaning.measures[..], &self.meaning.items[..]) {
            ([], [place]) if self.schema.field(*place).is_number() => Some(*place),
            ([Measure::Made(Func::Sum, place)], []) => Some(*place),
            _ => None,
        };
        let has_value = self.meaning.filters.iter().any(|filter| matches!(filter.test, Test::Among(_, true)));
        let grouped = !self.meaning.groups.is_empty();
        // `as a share of the total`
        if whole == Whole::Numbers
            && amount.is_none()
            && !has_value
            && self.meaning.tables.is_empty()
            && !grouped
        {
            self.meaning.of_total = true;
            return Ok(());
        }
        if whole == Whole::Numbers && grouped && (amount.is_some() || !has_value) {
            self.meaning.of_total = true;
            if let Some(place) = amount {
                self.meaning.items.clear();
                self.meaning.measures = vec![Measure::Made(Func::Sum, place)];
            } else if self.meaning.measures.is_empty() {
                let table = self.meaning.tables.first().ok_or(Unclear::Shape)?;
                self.meaning.measures.push(Measure::Count(*table));
            }
            return Ok(());
        }
        let Some(place) = amount.filter(|_| !grouped) else { return self.rate() };
        let is_value = |filter: &Filter| matches!(filter.test, Test::Among(_, true));
        let at = self.meaning.filters.iter().rposition(is_value).ok_or(Unclear::Shape)?;
        self.meaning.share = Some(self.meaning.filters.remove(at));
        self.meaning.items.clear();
        self.meaning.measures = vec![Measure::Part(place)];
        Ok(())
    }

    /// The days with which the question compares.
    fn compared_days(&mut self) -> Result<(), Unclear> {
        if !std::mem::take(&mut self.compared) {
            return Ok(());
        }
        let meaning = &mut self.meaning;
        meaning.against = match (meaning.against, meaning.earlier.take(), meaning.range) {
            (against @ Some(_), None, _) => against,
            (None, Some(earlier), _) => Some(Against::Earlier(earlier)),
            (None, None, Some(_)) => Some(Against::Now),
            _ => return Err(Unclear::Shape),
        };
        Ok(())
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
