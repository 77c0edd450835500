//! What the reader does with names: tables, fields, values, verbs.

use super::link::Chunk;
use super::meaning::{By, Filter, Group, Measure, Test, Unclear};
use super::names::{Fit, Named};
use super::read::{Last, Reader, Waiting, names_field};
use crate::schema::{Kind, Place};
use crate::words::phrases::{Func, Op};

impl Reader<'_> {
    pub(super) fn named(&mut self, named: &[Named]) -> Result<(), Unclear> {
        if self.is_unit(named) {
            return Ok(());
        }
        let table =
            named.iter().find_map(|named| if let Named::Table(table) = named { Some(*table) } else { None });
        let has_field = named.iter().any(|named| matches!(named, Named::Field(..)));
        let verbs: Vec<Place> = named
            .iter()
            .filter_map(|named| if let Named::Verb(place) = named { Some(*place) } else { None })
            .collect();
        let has_value = named.iter().any(|named| matches!(named, Named::Value(..)));
        if !verbs.is_empty() && self.is_verb(table, has_field, &verbs) {
            if self.takes_not() {
                return self.never(&verbs);
            }
            if self.meaning.range.is_some() || self.times_follow() || !has_value {
                return self.verb(&verbs);
            }
            return self.value_named(named);
        }
        if let Some(table) = table.filter(|table| !has_field || !self.field_is_meant(*table, named)) {
            return self.table(table);
        }
        if has_value && !self.field_fits_better(named) {
            return self.value_named(named);
        }
        if has_field {
            return self.field_named(named);
        }
        if !verbs.is_empty() {
            return self.verb(&verbs);
        }
        self.unclear()
    }

    /// After a number, what the field that was compared with it is measured in: `100 seconds`.
    fn is_unit(&self, named: &[Named]) -> bool {
        let after_number = self.at > 0 && matches!(self.pieces[self.at - 1].chunk, Chunk::Number(_));
        after_number
            && self
                .meaning
                .filters
                .last()
                .is_some_and(|filter| named.contains(&Named::Field(filter.place, Fit::Part)))
    }

    /// `published` is a verb, `publications` are things, `发布` is either.
    fn is_verb(&self, table: Option<usize>, has_field: bool, verbs: &[Place]) -> bool {
        let text = self.pieces[self.at].text.to_lowercase();
        if text.is_ascii() {
            return text.ends_with("ed") || table.is_none() && !has_field;
        }
        // `下单时间` is no time of `订单`, though both are about orders.
        let says = |place: &Place| {
            let comment = &self.schema.field(*place).comment;
            comment.contains(&text) || !comment.chars().any(crate::words::chinese::is_han)
        };
        if !verbs.iter().any(says) {
            return false;
        }
        let counted = matches!(self.next_piece(), Some(Chunk::Op(Op::CountBefore | Op::Trend | Op::Most(_))));
        let awaited = self.waiting.iter().any(|waiting| matches!(waiting, Waiting::Count | Waiting::Each));
        let other_table = |at: usize| {
            at != self.at
                && matches!(&self.pieces[at].chunk, Chunk::Named(named) if named.iter().any(|named| matches!(named, Named::Table(_))))
        };
        let others = (0..self.pieces.len()).any(other_table);
        if table.is_none() {
            !has_field
        } else {
            !counted
                && others
                && (!awaited || matches!(self.next(), Some(Chunk::Named(_) | Chunk::Op(Op::Count))))
        }
    }

    fn times_follow(&self) -> bool {
        self.meaning.unit.is_some()
            || self.meaning.trend
            || self
                .pieces
                .iter()
                .any(|piece| matches!(piece.chunk, Chunk::Range(_) | Chunk::Op(Op::Each1(_) | Op::Trend)))
    }

    /// After `customer`, `city` is the customer's.
    fn field_is_meant(&self, table: usize, named: &[Named]) -> bool {
        let own = self.at > 0
            && matches!(&self.pieces[self.at - 1].chunk, Chunk::Named(before) if before.iter().any(|before| {
                matches!(before, Named::Table(owner) if *owner != table && named.iter().any(|named| matches!(named, Named::Field(place, _) if place.table == *owner)))
            }));
        own || named.iter().any(|named| matches!(named, Named::Field(_, Fit::Own)))
    }

    fn field_fits_better(&self, named: &[Named]) -> bool {
        let Some(place) = self.focus.field(self.at, self.schema, named) else { return false };
        names_field(named, place)
            && self
                .waiting
                .iter()
                .any(|waiting| matches!(waiting, Waiting::Each | Waiting::Make(_) | Waiting::By))
    }

    /// `never published`: nothing that happened to it has such a time.
    fn never(&mut self, verbs: &[Place]) -> Result<(), Unclear> {
        let happened: Vec<Place> =
            verbs.iter().copied().filter(|place| !self.named_elsewhere(place.table)).collect();
        match happened[..] {
            [only] if happened.len() == verbs.len() && self.meaning.without.is_none() => {
                self.meaning.without = Some(only.table);
                self.meaning.filters.push(Filter { place: only, test: Test::Present });
                Ok(())
            }
            _ => self.unclear(),
        }
    }

    fn named_elsewhere(&self, table: usize) -> bool {
        let names =
            |chunk: &Chunk| matches!(chunk, Chunk::Named(named) if named.contains(&Named::Table(table)));
        self.pieces.iter().enumerate().any(|(at, piece)| at != self.at && names(&piece.chunk))
    }

    fn verb(&mut self, verbs: &[Place]) -> Result<(), Unclear> {
        let mut verbs = verbs.to_vec();
        let focused: Vec<Place> = verbs.iter().copied().filter(|place| self.focus.has(place.table)).collect();
        if !focused.is_empty() {
            verbs = focused;
        }
        if self.meaning.verbs.is_empty() || self.meaning.verbs == verbs {
            let before = self.at.checked_sub(1).map(|at| self.pieces[at].text.to_lowercase());
            self.meaning.passive |=
                before.is_some_and(|word| matches!(&*word, "were" | "was" | "are" | "is"));
            self.meaning.verbs = verbs;
            return Ok(());
        }
        self.unclear()
    }

    fn table(&mut self, table: usize) -> Result<(), Unclear> {
        if !self.meaning.tables.contains(&table) {
            self.meaning.tables.push(table);
        }
        let owner_of_next = |chunk: Option<&Chunk>| matches!(chunk, Some(Chunk::Named(named)) if named.iter().any(|named| matches!(named, Named::Field(place, _) if place.table == table)));
        let qualifies = owner_of_next(self.next_piece())
            || (matches!(self.next_piece(), Some(Chunk::Op(Op::Of)))
                && self.is_chinese()
                && owner_of_next(self.next()));
        if qualifies && !self.counts_here() {
            return Ok(());
        }
        if self.takes_not() {
            if self.meaning.without.replace(table).is_some() {
                return self.unclear();
            }
            self.meaning.tables.retain(|known| *known != table);
            return Ok(());
        }
        self.table_for_what_waits(table)
    }

    /// `how many orders amount to …` does not occur, `how many orders` with a field right after does.
    fn counts_here(&self) -> bool {
        matches!(self.waiting.last(), Some(Waiting::Count | Waiting::Most(_) | Waiting::Compared(..)))
    }

    fn table_for_what_waits(&mut self, table: usize) -> Result<(), Unclear> {
        match self.waiting.last().cloned() {
            Some(Waiting::Count) => {
                self.waiting.pop();
                if let Some(Waiting::Make(funcs)) = self.waiting.last()
                    && *funcs != [Func::Sum]
                {
                    return self.unclear();
                }
                self.take_last(|waiting| matches!(waiting, Waiting::Make(_)));
                self.measure(Measure::Count(table))
            }
            Some(Waiting::Each | Waiting::By) if !self.is_counted_next() => {
                self.waiting.pop();
                self.meaning.groups.push(Group::Table(table));
                self.last = Last::Group;
                Ok(())
            }
            Some(Waiting::Most(most)) => {
                self.waiting.pop();
                self.rank(By::Measure(Measure::Count(table)), most)
            }
            Some(Waiting::Compared(compare, number)) => {
                self.waiting.pop();
                self.meaning.having.push((Measure::Count(table), compare, number));
                Ok(())
            }
            _ => {
                if self.is_joined_by_and() {
                    return self.one_more(table);
                }
                self.several = self.is_plural();
                self.last = Last::Table(table);
                self.number_of_things()
            }
        }
    }

    fn is_joined_by_and(&self) -> bool {
        let before = self.pieces[..self.at].iter().rev().map(|piece| &piece.chunk);
        let mut words = before.skip_while(|chunk| matches!(chunk, Chunk::Op(Op::Filler | Op::All)));
        matches!(words.next(), Some(Chunk::Op(Op::And)))
    }

    /// `names of conductors and the orchestras`: those are shown, too.
    fn one_more(&mut self, table: usize) -> Result<(), Unclear> {
        match self.schema.title(table) {
            Some(title) if !self.meaning.items.is_empty() && self.meaning.measures.is_empty() => {
                self.item(title)
            }
            _ => self.unclear(),
        }
    }

    /// In Chinese only a word like `哪些` tells.
    fn is_plural(&self) -> bool {
        let last = self.pieces[self.at].text.rsplit(' ').next().unwrap_or_default().to_lowercase();
        if last.is_ascii() { crate::words::english::singular(&last) != last } else { self.several }
    }

    /// `按订单数`: what follows makes a measure of it.
    fn is_counted_next(&self) -> bool {
        matches!(self.next_piece(), Some(Chunk::Op(Op::CountBefore)))
    }

    fn value_named(&mut self, named: &[Named]) -> Result<(), Unclear> {
        let Some((place, value)) = self.focus.value(self.at, self.pieces, self.schema, named) else {
            return Err(Unclear::Ambiguous(self.pieces[self.at].text.clone()));
        };
        // `status failed`: the field only introduced its value.
        if self.last == Last::Field(place) && self.meaning.items.last() == Some(&place) {
            self.meaning.items.pop();
        }
        self.value(place, value)
    }

    fn field_named(&mut self, named: &[Named]) -> Result<(), Unclear> {
        let Some(place) = self.focus.field(self.at, self.schema, named) else {
            return Err(Unclear::Ambiguous(self.pieces[self.at].text.clone()));
        };
        let owned = |fit: Fit| named.contains(&Named::Field(place, fit));
        let number = self.schema.field(place).is_number();
        if owned(Fit::Own)
            && !number
            && !self.focus.has(place.table)
            && !self.meaning.tables.contains(&place.table)
        {
            self.meaning.tables.push(place.table);
        }
        // `Beijing city`, `failed status`: the value said it already.
        if self.last == Last::Value && self.meaning.filters.last().is_some_and(|filter| filter.place == place)
        {
            return Ok(());
        }
        self.field(place)
    }

    fn field(&mut self, place: Place) -> Result<(), Unclear> {
        let number = self.schema.field(place).is_number();
        match self.waiting.last().cloned() {
            Some(Waiting::Make(funcs)) if number => {
                self.waiting.pop();
                for func in funcs {
                    self.measure(Measure::Made(func, place))?;
                }
                Ok(())
            }
            Some(Waiting::Make(funcs))
                if self.schema.field(place).kind() == Kind::Date
                    && !funcs.iter().any(|func| matches!(func, Func::Sum | Func::Average)) =>
            {
                self.waiting.pop();
                funcs.into_iter().try_for_each(|func| self.measure(Measure::Made(func, place)))
            }
            Some(Waiting::Count) if !number || self.schema.field(place).names_identity() => {
                self.waiting.pop();
                self.meaning.different = false;
                self.measure(Measure::Different(place))
            }
            Some(Waiting::Each) => {
                self.waiting.pop();
                self.group(place)
            }
            Some(Waiting::By)
                if number && (self.meaning.limit.is_some() || self.meaning.measures.is_empty()) =>
            {
                self.waiting.pop();
                if self.meaning.limit.is_some() {
                    self.rank(By::Field(place), true)
                } else {
                    self.order(place, None)
                }
            }
            Some(Waiting::By) => {
                self.waiting.pop();
                self.group(place)
            }
            Some(Waiting::Order(descending)) => {
                self.waiting.pop();
                self.order(place, descending)
            }
            Some(Waiting::Extreme(greatest)) if self.comparable(place) => {
                self.waiting.pop();
                self.extreme_of(place, greatest)
            }
            Some(Waiting::Most(most)) if number && !self.schema.field(place).names_identity() => {
                self.waiting.pop();
                self.extreme_of(place, most)
            }
            Some(Waiting::Compared(compare, wanted)) if number => {
                self.waiting.pop();
                self.filter(place, Test::Number(compare, wanted))
            }
            // `a greater weight than 10`
            Some(Waiting::Compare(_)) if number => self.item(place),
            None | Some(Waiting::Top) => self.item(place),
            Some(_) => self.unclear(),
        }
    }

    fn group(&mut self, place: Place) -> Result<(), Unclear> {
        if self.schema.field(place).kind() == Kind::Date {
            return self.unclear();
        }
        self.meaning.groups.push(Group::Field(place));
        self.last = Last::Group;
        Ok(())
    }

    fn order(&mut self, place: Place, descending: Option<bool>) -> Result<(), Unclear> {
        if self.meaning.order.is_some() {
            return self.unclear();
        }
        self.meaning.order = Some((By::Field(place), descending.unwrap_or(false)));
        self.last = Last::Nothing;
        Ok(())
    }

    /// The row that has the greatest value, or the value itself.
    fn extreme_of(&mut self, place: Place, greatest: bool) -> Result<(), Unclear> {
        let rows_are_asked = !self.meaning.items.is_empty() || !self.focus.is_empty() || self.asks_which();
        if rows_are_asked && self.meaning.measures.is_empty() {
            return self.rank(By::Field(place), greatest);
        }
        self.measure(Measure::Made(if greatest { Func::Greatest } else { Func::Least }, place))
    }

    fn asks_which(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece.chunk, Chunk::Op(Op::Which | Op::One)))
    }

    fn item(&mut self, place: Place) -> Result<(), Unclear> {
        self.number_of_things()?;
        if self.meaning.items.is_empty() && self.meaning.tables.is_empty() {
            self.several = self.is_plural();
        }
        // A second field after `by city` and `and` is a second group.
        if self.last == Last::Group
            && self.at > 0
            && matches!(self.pieces[self.at - 1].chunk, Chunk::Op(Op::And))
            && !self.meaning.measures.is_empty()
        {
            return self.group(place);
        }
        if !self.meaning.items.contains(&place) {
            self.meaning.items.push(place);
        }
        self.last = Last::Field(place);
        Ok(())
    }
}
