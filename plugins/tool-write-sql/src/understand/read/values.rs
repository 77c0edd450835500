//! How the reader handles conditions: values, texts within values, and what negates and joins them.

use super::{Last, Reader, Waiting, finish};
use crate::schema::{Kind, Place};
use crate::understand::link::{Chunk, Piece};
use crate::understand::meaning::{Filter, Group, Measure, Test, Unclear};
use crate::understand::names::Named;
use crate::words::chinese::is_han;
use crate::words::phrases::{Compare, Op, Part};

impl Reader<'_> {
    /// A quoted value for the field right before it.
    pub(super) fn quoted(&mut self) -> Result<(), Unclear> {
        let text = self.pieces[self.at].text.clone();
        match self.last {
            Last::Field(place)
                if self.schema.field(place).kind() == Kind::Text
                    && self.meaning.items.last() == Some(&place) =>
            {
                if !self.is_shown_too() {
                    self.meaning.items.pop();
                }
                match self.take_last(|waiting| matches!(waiting, Waiting::Has(_))) {
                    Some(Waiting::Has(part)) => self.has(place, part, text),
                    _ => self.value(place, text),
                }
            }
            // `the play "Night"`, and not `customers in "Berlin"`
            Last::Table(table)
                if self.names_table_before(table)
                    && let Some(title) = self.schema.title(table) =>
            {
                self.value(title, text)
            }
            _ => self.unclear(),
        }
    }

    /// `customers whose name is "web"`, where another field has that value.
    pub(super) fn is_of_other_field(&self, named: &[Named]) -> bool {
        let Last::Field(place) = self.last else { return false };
        let is_here = |named: &Named| matches!(named, Named::Value(known, _) if *known == place);
        let between = self.pieces[..self.at].iter().rev();
        let mut between = between.take_while(|piece| !matches!(piece.chunk, Chunk::Named(_)));
        let is_said =
            between.all(|piece| matches!(piece.chunk, Chunk::Op(Op::Is | Op::Filler | Op::Compare(_))));
        is_said
            && self.schema.field(place).kind() == Kind::Text
            && self.meaning.items.last() == Some(&place)
            && named.iter().all(|named| matches!(named, Named::Value(..)))
            && !named.iter().any(is_here)
    }

    /// A field's value has a text in it.
    pub(super) fn has(&mut self, place: Place, part: Part, text: String) -> Result<(), Unclear> {
        let place = if text.chars().any(is_han) { self.in_chinese(place) } else { place };
        self.filter(place, Test::Has(part, text))
    }

    /// The field of the same table and a longer name that has Chinese values, if this one has none: `product_name_zh`.
    fn in_chinese(&self, place: Place) -> Place {
        let is_chinese =
            |place: Place| self.schema.field(place).values.iter().any(|value| value.chars().any(is_han));
        let name = self.schema.field(place).name.to_lowercase();
        let has_name = |other: &Place| self.schema.field(*other).name.to_lowercase().starts_with(&name);
        let mut others =
            self.schema.places(place.table).filter(|other| has_name(other) && is_chinese(*other));
        match (is_chinese(place), others.next(), others.next()) {
            (false, Some(only), None) => only,
            _ => place,
        }
    }

    /// `plate numbers that begin with AB`, and not `whose plate number begins with AB`: asked for, too.
    pub(super) fn is_shown_too(&self) -> bool {
        let before = &self.pieces[..self.at];
        let Some(has) = before.iter().rposition(|piece| matches!(piece.chunk, Chunk::Op(Op::Has(_)))) else {
            return false;
        };
        let says_that = has > 0 && matches!(before[has - 1].text.to_lowercase().as_str(), "that" | "which");
        let is_alone = self.meaning.items.len() == 1 && self.meaning.measures.is_empty();
        says_that && is_alone && !before.iter().any(|piece| piece.text == "whose")
    }

    pub(super) fn is_title_here(&self, part: Part) -> bool {
        let Last::Table(table) = self.last else { return false };
        // What a thing contains may be something else.
        let begins = part != Part::Inside && self.next() == Some(&Chunk::Unknown);
        self.schema.title(table).is_some() && (begins || self.is_quoted_next())
    }

    /// Whether a field of texts precedes, and a quoted text follows.
    pub(super) fn is_text_here(&self) -> bool {
        let Last::Field(place) = self.last else { return false };
        self.schema.field(place).kind() == Kind::Text
            && self.meaning.items.last() == Some(&place)
            && (self.is_quoted_next() || self.next() == Some(&Chunk::Unknown))
    }

    /// Whether the piece right before names the table.
    fn names_table_before(&self, table: usize) -> bool {
        let before = self.at.checked_sub(1).map(|at| &self.pieces[at].chunk);
        matches!(before, Some(Chunk::Named(named)) if named.contains(&Named::Table(table)))
    }

    /// `orders that contain Longjing`: a value of another table.
    pub(super) fn is_value_of_other_next(&self) -> bool {
        let (Last::Table(table) | Last::Measure(Measure::Count(table))) = self.last else { return false };
        let other = |named: &Named| matches!(named, Named::Value(place, _) if place.table != table);
        matches!(self.next(), Some(Chunk::Named(named)) if named.iter().all(other))
    }

    pub(super) fn is_quoted_next(&self) -> bool {
        let is_quoted = |piece: &Piece| matches!(piece.chunk, Chunk::Quoted) || piece.chunk.may_be_value();
        let next = self.pieces[self.at + 1..]
            .iter()
            .find(|piece| !matches!(piece.chunk, Chunk::Op(Op::Filler | Op::Of)));
        next.is_some_and(is_quoted)
    }

    pub(in crate::understand) fn filter(&mut self, place: Place, test: Test) -> Result<(), Unclear> {
        if std::mem::take(&mut self.not) {
            return self.unclear();
        }
        // `after 2013 or before 2008`
        if std::mem::take(&mut self.or) {
            let compares = |test: &Test| matches!(test, Test::Number(..) | Test::Between(..) | Test::Days(_));
            let Some(known) = self.meaning.filters.last_mut().filter(|known| known.place == place) else {
                return self.unclear();
            };
            if !compares(&known.test) || !compares(&test) {
                return self.unclear();
            }
            known.test = Test::AnyOf(vec![known.test.clone(), test]);
            self.last = Last::Nothing;
            self.recent = Some((place, self.at));
            return Ok(());
        }
        self.meaning.filters.push(Filter { place, test });
        self.last = Last::Nothing;
        self.recent = Some((place, self.at));
        Ok(())
    }

    /// Adds a required or excluded value of a field.
    pub(in crate::understand) fn value(&mut self, place: Place, value: String) -> Result<(), Unclear> {
        if let (Some(Waiting::Has(part)), Last::Field(field)) = (self.waiting.last().cloned(), self.last) {
            self.waiting.pop();
            if self.meaning.items.last() == Some(&field) && !self.is_shown_too() {
                self.meaning.items.pop();
            }
            return self.has(field, part, self.pieces[self.at].text.clone());
        }
        // `not paid by gold members`
        if self.not && matches!(self.next_piece(), Some(Chunk::Op(Op::By))) {
            return self.unclear();
        }
        let joined =
            self.ratio || self.is_joined() && self.last == Last::Value || self.is_joined_by_both(place);
        let (or, mut not) = (std::mem::take(&mut self.or), std::mem::take(&mut self.not));
        let is_denied =
            |filter: &Filter| filter.place == place && matches!(filter.test, Test::Among(_, true));
        if not && self.never && !self.meaning.filters.last().is_some_and(is_denied) {
            return self.unclear();
        }
        match self
            .take_last(|waiting| matches!(waiting, Waiting::Compare(Compare::Equal | Compare::NotEqual)))
        {
            Some(Waiting::Compare(Compare::NotEqual)) => not = !not,
            Some(_) => {}
            None if matches!(self.waiting.last(), Some(Waiting::Compare(_))) => return self.unclear(),
            None => {}
        }
        // `English is not the official language`: no row has both.
        if not
            && self.last == Last::Value
            && self.is_value_said_not()
            && let Some(Filter { place: other, test: Test::Among(_, among @ true) }) =
                self.meaning.filters.last_mut()
            && other.table == place.table
            && *other != place
            && !or
        {
            *among = false;
            self.meaning.turned.push(*other);
            self.meaning.filters.push(Filter { place, test: Test::Among(vec![value], true) });
            return Ok(());
        }
        // `orders by gold customers` are their orders, not grouped by them.
        if !matches!(self.next_piece(), Some(Chunk::Op(Op::Rate))) {
            self.take_last(|waiting| *waiting == Waiting::By);
        }
        self.last = Last::Value;
        let is_known = self.meaning.filters.iter().any(|filter| filter.place == place);
        let known = self.meaning.filters.last_mut().filter(|filter| filter.place == place);
        match known.map(|filter| &mut filter.test) {
            // `not in Beijing or Shanghai`: in neither of them.
            Some(Test::Among(values, _)) if !not && (or || joined) => {
                if !values.contains(&value) {
                    values.push(value);
                }
                let versus = self.is_versus();
                if versus && !self.meaning.groups.contains(&Group::Field(place)) {
                    self.meaning.groups.push(Group::Field(place));
                } else if !or && !versus {
                    self.meaning.joined.push(place);
                }
                return Ok(());
            }
            // `a dog, but no cat`
            Some(Test::Among(_, true)) if not && !or && !self.meaning.turned.contains(&place) => {
                self.meaning.turned.push(place);
                self.meaning.joined.push(place);
                self.meaning.filters.push(Filter { place, test: Test::Among(vec![value], false) });
                return Ok(());
            }
            Some(_) => return Err(Unclear::Shape),
            None if or || is_known => return Err(Unclear::Shape),
            None => {}
        }
        if not && (self.is_lacking() || !self.meaning.tables.contains(&place.table)) {
            self.meaning.turned.push(place);
        }
        self.meaning.filters.push(Filter { place, test: Test::Among(vec![value], !not) });
        Ok(())
    }

    /// `both a site with woods and a site with bogs`, `sites with woods, but no sites with bogs`: the thing is named again.
    pub(super) fn is_joined_by_both(&self, place: Place) -> bool {
        let before = &self.pieces[..self.at];
        let last = before.iter().rposition(|piece| piece.chunk.may_be_value());
        let (Some(last), Some(filter)) = (last, self.meaning.filters.last()) else { return false };
        let between = &before[last + 1..];
        let is_same = |named: &Named| match named {
            Named::Table(table) => *table == place.table,
            Named::Field(field, _) => *field == place,
            _ => false,
        };
        let holds_together = |piece: &Piece| match &piece.chunk {
            Chunk::Named(named) => named.iter().any(is_same),
            chunk => matches!(chunk, Chunk::Op(Op::And | Op::Filler | Op::Not | Op::Of | Op::Link)),
        };
        let is_joint = |piece: &Piece| piece.chunk == Chunk::Op(Op::And);
        (self.meaning.both.is_some() || self.keeps_not())
            && filter.place == place
            && matches!(filter.test, Test::Among(_, true))
            && between.iter().any(is_joint)
            && between.iter().all(holds_together)
    }

    /// Whether the last negation is a `without`.
    pub(in crate::understand) fn is_lacking(&self) -> bool {
        let not = self.pieces[..self.at].iter().rev().find(|piece| piece.chunk == Chunk::Op(Op::Not));
        not.is_some_and(|not| finish::LACKING.contains(&not.text.to_lowercase().as_str()))
    }

    /// `English is not the official language`: a value is said not to be what follows; not `in Wuhan are not basic`.
    pub(super) fn is_value_said_not(&self) -> bool {
        let mut before = self.pieces[..self.at].iter().rev();
        let said = before.by_ref().take_while(|piece| !piece.chunk.may_be_value());
        let is_said = said.into_iter().any(|piece| piece.text.eq_ignore_ascii_case("is"));
        let lead = before.next().map(|piece| piece.text.to_lowercase());
        is_said && !lead.is_some_and(|lead| matches!(lead.as_str(), "in" | "from" | "of" | "at" | "on"))
    }

    /// Whether `and`, `versus` or a comma precedes directly.
    pub(in crate::understand) fn is_joined(&self) -> bool {
        let before = self.before(|chunk| matches!(chunk, Chunk::Op(Op::Filler | Op::All)));
        matches!(before, Some(Chunk::Op(Op::And | Op::ComparedWith) | Chunk::Mark))
    }

    /// Whether `versus` precedes directly: each side is told apart.
    pub(super) fn is_versus(&self) -> bool {
        let before = self.before(|chunk| matches!(chunk, Chunk::Op(Op::Filler | Op::All)));
        matches!(before, Some(Chunk::Op(Op::ComparedWith)))
    }

    pub(in crate::understand) fn takes_or(&mut self) -> bool {
        std::mem::take(&mut self.or)
    }

    /// Whether a negation waits, which goes on waiting.
    pub(in crate::understand) fn keeps_not(&self) -> bool {
        self.not
    }

    pub(in crate::understand) fn takes_not(&mut self) -> bool {
        std::mem::take(&mut self.not)
    }
}
