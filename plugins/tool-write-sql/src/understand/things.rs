//! How the reader handles names: tables, fields, values, verbs.

use super::link::{Chunk, Piece};
use super::meaning::{By, Filter, Group, Measure, Test, Unclear};
use super::names::{Fit, Named};
use super::read::{Last, Reader, Waiting, names_field};
use super::verbs::is_participle;
use crate::calendar::Unit;
use crate::schema::Place;
use crate::sums;
use crate::words::english::{name_words, singular};
use crate::words::phrases::{Func, Op};

impl Reader<'_> {
    pub(super) fn named(&mut self, named: &[Named]) -> Result<(), Unclear> {
        if self.is_unit(named) {
            return Ok(());
        }
        // `broken down by month`, where summaries have a field of that name
        let is_exact = named.iter().any(|named| match named {
            Named::Field(place, Fit::Whole) => {
                self.schema.field(*place).name.eq_ignore_ascii_case(&self.pieces[self.at].text)
            }
            _ => false,
        });
        if matches!(self.waiting.last(), Some(Waiting::Each | Waiting::By))
            && !is_exact
            && let Some(unit) = Unit::called(&self.pieces[self.at].text.to_lowercase())
        {
            self.waiting.pop();
            return self.unit(unit);
        }
        // `by category and month`, where summaries have a field of that name
        if self.is_second_group()
            && let Some(unit) = Unit::called(&self.pieces[self.at].text.to_lowercase())
        {
            return self.unit(unit);
        }
        let table = self.table_of(named);
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
        let by_name = self.is_a_fields_own_name(named);
        if let Some(table) =
            table.filter(|table| !has_field || !by_name && !self.field_is_meant(*table, named))
        {
            if self.is_ambiguous(named) {
                return Err(Unclear::Ambiguous(self.pieces[self.at].text.clone()));
            }
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

    /// The tables of a name: exact matches before partial ones.
    fn tables_of(&self, named: &[Named]) -> Vec<usize> {
        let tables: Vec<usize> = named
            .iter()
            .filter_map(|named| if let Named::Table(table) = named { Some(*table) } else { None })
            .collect();
        let plain =
            |text: &str| -> Vec<String> { name_words(text).iter().map(|word| singular(word)).collect() };
        let written = plain(&self.pieces[self.at].text);
        let exact: Vec<usize> = tables
            .iter()
            .copied()
            .filter(|table| plain(&self.schema.table(*table).name) == written)
            .collect();
        let named_elsewhere: Vec<usize> =
            tables.iter().copied().filter(|table| self.focus.has_elsewhere(*table, self.at)).collect();
        let preferred: Vec<usize> =
            tables.iter().copied().filter(|table| Some(*table) == self.preferred).collect();
        [exact, named_elsewhere, preferred].into_iter().find(|some| some.len() == 1).unwrap_or(tables)
    }

    /// `buyers` is the field of that name, though buyers are customers, which have a table.
    fn is_a_fields_own_name(&self, named: &[Named]) -> bool {
        let plain =
            |text: &str| -> Vec<String> { name_words(text).iter().map(|word| singular(word)).collect() };
        let written = plain(&self.pieces[self.at].text);
        let ends_so = |name: &str| plain(name).ends_with(&written);
        let field = |named: &Named| match named {
            Named::Field(place, Fit::Whole) => plain(&self.schema.field(*place).name) == written,
            _ => false,
        };
        let table =
            |named: &Named| matches!(named, Named::Table(table) if ends_so(&self.schema.table(*table).name));
        written.iter().all(|word| word.is_ascii()) && named.iter().any(field) && !named.iter().any(table)
    }

    fn table_of(&self, named: &[Named]) -> Option<usize> {
        self.tables_of(named).first().copied()
    }

    fn is_ambiguous(&self, named: &[Named]) -> bool {
        self.tables_of(named).len() > 1
    }

    /// Whether it is the unit of the number just compared: `100 seconds`.
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
            return text.ends_with("ed") || text == "bought" || table.is_none() && !has_field;
        }
        // `下单时间` is not a time of `订单`, though both are about orders.
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

    /// `never published`: no event of that kind exists for it.
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

    pub(super) fn table(&mut self, table: usize) -> Result<(), Unclear> {
        // `nights booked`, `has booked A, but never booked B`: said before.
        let is_verb = is_participle(&self.pieces[self.at].text.to_lowercase());
        let is_said = self.meaning.tables.contains(&table)
            || self.at > 0 && matches!(self.last, Last::Measure(measure) if measure.table() == table);
        let negates = matches!(self.next(), Some(chunk) if chunk.may_be_value());
        if is_verb && is_said && self.waiting.is_empty() && (!self.keeps_not() || negates) {
            return Ok(());
        }
        if !self.meaning.tables.contains(&table) {
            self.meaning.tables.push(table);
        }
        if std::mem::take(&mut self.new) && self.meaning.new.replace(table).is_some() {
            return self.unclear();
        }
        self.is_asked_for(table);
        let owner_of_next = |chunk: Option<&Chunk>| matches!(chunk, Some(Chunk::Named(named)) if named.iter().any(|named| matches!(named, Named::Field(place, _) if place.table == table)));
        let qualifies = owner_of_next(self.next_piece())
            || (matches!(self.next_piece(), Some(Chunk::Op(Op::Of)))
                && self.is_chinese()
                && owner_of_next(self.next()));
        // `workflow runs` are runs.
        let other = |named: &Named| matches!(named, Named::Table(other) if *other != table);
        let is_one = self.pieces[self.at].text.is_ascii() && !self.is_plural();
        let is_compound = is_one
            && !self.pieces[self.at].possessive
            && matches!(self.next_piece(), Some(Chunk::Named(named)) if named.iter().any(other));
        if is_compound || qualifies && !self.counts_here() {
            if is_compound || owner_of_next(self.next_piece()) {
                self.meaning.owners.push(table);
            }
            return Ok(());
        }
        // `except for stadiums having a concert`: the concerts must not exist.
        let is_listed = self.meaning.items.iter().any(|item| item.table == table);
        if is_listed && self.other_table_is_ahead(table) && self.keeps_not() {
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

    fn other_table_is_ahead(&self, table: usize) -> bool {
        let other = |piece: &Piece| {
            matches!(&piece.chunk, Chunk::Named(named)
            if named.iter().any(|named| matches!(named, Named::Table(other) if *other != table)))
        };
        !self.is_chinese_here() && self.pieces[self.at + 1..].iter().any(other)
    }

    /// The requested rows: in English the first table unless it owns the next one (`customers' orders`), in
    /// Chinese the last one unless a word names another (`哪些客户有订单`).
    fn is_asked_for(&mut self, table: usize) {
        if !self.is_chinese_here() {
            let owner = self.at.checked_sub(1).map(|at| &self.pieces[at]);
            if owner.is_some_and(|piece| piece.possessive && matches!(piece.chunk, Chunk::Named(_))) {
                self.meaning.entity = Some(table);
            }
            return;
        }
        let is_asked = matches!(
            self.before(|chunk| matches!(chunk, Chunk::Op(Op::Filler))),
            Some(Chunk::Op(Op::Which | Op::One))
        );
        if is_asked || !self.asked {
            self.meaning.entity = Some(table);
            self.asked |= is_asked;
        }
    }

    /// `how many orders amount to …` does not occur, `how many orders` with a field right after does.
    fn counts_here(&self) -> bool {
        matches!(self.waiting.last(), Some(Waiting::Count | Waiting::Most(_) | Waiting::Compared(..)))
    }

    fn table_for_what_waits(&mut self, table: usize) -> Result<(), Unclear> {
        let amount = std::mem::take(&mut self.amount).then(|| self.amount_of(table).ok()).flatten();
        match self.waiting.last().cloned() {
            Some(Waiting::Make(funcs)) if let Some(place) = amount => {
                self.waiting.pop();
                for func in funcs {
                    self.measure(Measure::Made(func, place))?;
                }
                Ok(())
            }
            // `average orders per day`
            Some(Waiting::Make(funcs)) if funcs == [Func::Average] && self.is_each_next() => {
                self.waiting.pop();
                self.meaning.averages_groups = true;
                self.measure(Measure::Count(table))
            }
            Some(Waiting::Count) => {
                self.waiting.pop();
                match self.waiting.last() {
                    // `average number of orders per customer`
                    Some(Waiting::Make(funcs)) if *funcs == [Func::Average] => {
                        self.meaning.averages_groups = true;
                    }
                    Some(Waiting::Make(funcs)) if *funcs != [Func::Sum] => return self.unclear(),
                    _ => {}
                }
                self.take_last(|waiting| matches!(waiting, Waiting::Make(_)));
                self.measure(Measure::Count(table))
            }
            // `top 5 tables by access`
            Some(Waiting::By) if self.meaning.top && self.meaning.measures.is_empty() => {
                self.waiting.pop();
                self.rank(By::Measure(Measure::Count(table)), !self.meaning.least)
            }
            Some(Waiting::Each | Waiting::By) if !self.is_counted_next() => {
                self.waiting.pop();
                self.meaning.groups.push(Group::Table(table));
                self.last = Last::Group;
                Ok(())
            }
            // `the most experienced adjuster` has no number of adjusters.
            Some(Waiting::Most(_))
                if self
                    .meaning
                    .items
                    .iter()
                    .any(|item| item.table == table && self.schema.title(table) == Some(*item)) =>
            {
                self.unclear()
            }
            Some(Waiting::Most(most)) => {
                self.waiting.pop();
                self.rank(By::Measure(Measure::Count(table)), most)
            }
            // `超过1000元的订单`
            Some(Waiting::Compared(compare, number)) if self.says_money() => {
                self.waiting.pop();
                let place = self.amount_of(table)?;
                self.filter(place, Test::Number(compare, number))?;
                self.last = Last::Table(table);
                // `有多少500元以上的订单`
                match self.waiting.last() {
                    Some(Waiting::Count) => self.table_for_what_waits(table),
                    _ => Ok(()),
                }
            }
            Some(Waiting::Compared(compare, number)) => {
                self.waiting.pop();
                self.meaning.having.push((Measure::Count(table), compare, number));
                Ok(())
            }
            _ => {
                let before = self.before(|chunk| matches!(chunk, Chunk::Op(Op::Filler | Op::All)));
                match before {
                    Some(Chunk::Op(Op::And)) => return self.one_more(table),
                    Some(Chunk::Mark) if self.is_beside_amounts(table) => {
                        return self.measure(Measure::Count(table));
                    }
                    _ => {}
                }
                // `revenue and cancelled orders`
                if self.has_value_after_and() {
                    return self.unclear();
                }
                let amounts = match self.joined() {
                    Some(Chunk::Named(named)) => Some(self.amounts(named)).filter(|some| !some.is_empty()),
                    // `customers and their total order amount`
                    Some(Chunk::Op(Op::Count | Op::Make(_) | Op::AverageOfUnits(_))) => {
                        self.meaning.items.is_empty().then(Vec::new)
                    }
                    _ => None,
                };
                if let Some(amounts) = amounts {
                    return self.beside_amounts(table, &amounts);
                }
                // `the city with the highest share of cancelled orders`: one city.
                if self.share.is_none() {
                    self.several = self.is_plural();
                }
                self.last = Last::Table(table);
                self.number_of_things(table)
            }
        }
    }

    pub(super) fn says_money(&self) -> bool {
        self.pieces[..self.at].iter().any(|piece| piece.chunk == Chunk::Op(Op::Money))
    }

    fn is_each_next(&self) -> bool {
        self.is_plural() && matches!(self.next(), Some(Chunk::Op(Op::Each | Op::Each1(_))))
    }

    /// What `and` joins to this name.
    fn joined(&self) -> Option<&Chunk> {
        let mut rest = self.pieces[self.at + 1..].iter();
        let is_joined = rest.next().is_some_and(|piece| match piece.chunk {
            Chunk::Op(Op::And) => true,
            // No end of a sentence.
            Chunk::Mark => matches!(piece.text.as_str(), "," | "，" | "、"),
            _ => false,
        });
        let next = rest.map(|piece| &piece.chunk).find(|chunk| !matches!(chunk, Chunk::Op(Op::Filler)));
        next.filter(|_| is_joined)
    }

    /// The amounts that a name may be.
    fn amounts(&self, named: &[Named]) -> Vec<Place> {
        let amount = |named: &Named| match named {
            Named::Field(place, _) if sums::adds_up(self.schema.field(*place)) => Some(*place),
            _ => None,
        };
        named.iter().filter_map(amount).collect()
    }

    /// `orders and revenue per month`: their number; `products and their revenue`: that of each.
    fn beside_amounts(&mut self, table: usize, amounts: &[Place]) -> Result<(), Unclear> {
        match self.waiting[..] {
            [] => {}
            // `average orders and revenue`
            [.., Waiting::Make(_)] => return self.unclear(),
            _ => {
                self.last = Last::Table(table);
                return self.number_of_things(table);
            }
        }
        if amounts.iter().any(|place| self.is_amount_of(*place, table)) {
            return self.measure(Measure::Count(table));
        }
        let is_group = |piece: &Piece| {
            matches!(piece.chunk, Chunk::Op(Op::Each | Op::Each1(_) | Op::By | Op::Trend | Op::Unit(_)))
        };
        if self.pieces.iter().any(is_group)
            || !self.meaning.items.is_empty()
            || !self.meaning.measures.is_empty()
        {
            return self.unclear();
        }
        self.meaning.groups.push(Group::Table(table));
        self.last = Last::Group;
        Ok(())
    }

    /// Whether a field holds amounts of a table's rows, or of their parts.
    pub(super) fn is_amount_of(&self, place: Place, table: usize) -> bool {
        let is_part = place.table == table || self.links.to_whole(self.schema, place.table, table).is_some();
        is_part && sums::adds_up(self.schema.field(place))
    }

    /// Whether only amounts of a table, or of its parts, were named so far.
    fn is_beside_amounts(&self, table: usize) -> bool {
        let sums = self.meaning.measures.iter().filter_map(|measure| match measure {
            Measure::Made(Func::Sum, place) => Some(*place),
            _ => None,
        });
        let mut amounts = self.meaning.items.iter().copied().chain(sums).peekable();
        amounts.peek().is_some() && amounts.all(|place| self.is_amount_of(place, table))
    }

    /// Whether a value of this table stands between `and` and its name, after amounts.
    fn has_value_after_and(&self) -> bool {
        let is_amount = |place: &Place| sums::adds_up(self.schema.field(*place));
        let has_amounts = self.meaning.items.iter().any(is_amount)
            || self.meaning.measures.iter().any(|measure| matches!(measure, Measure::Made(..)));
        let valued = self.at > 0 && self.pieces[self.at - 1].chunk.may_be_value();
        let before = self.before(|chunk| chunk.may_be_value() || matches!(chunk, Chunk::Op(Op::Filler)));
        valued && has_amounts && matches!(before, Some(Chunk::Op(Op::And) | Chunk::Mark))
    }

    /// `names of conductors and the orchestras`: shows those, too.
    fn one_more(&mut self, table: usize) -> Result<(), Unclear> {
        // `revenue and orders per month`
        if self.is_beside_amounts(table) {
            return self.measure(Measure::Count(table));
        }
        // `both a campaign for schools and a campaign for parks`
        let is_named_again = self.meaning.both.is_some() && self.meaning.tables.contains(&table);
        let names = |piece: &Piece| matches!(&piece.chunk, Chunk::Named(named) if named.contains(&Named::Table(table)));
        if is_named_again && self.pieces[..self.at].iter().any(names) {
            return Ok(());
        }
        match self.schema.title(table) {
            Some(title) if !self.meaning.items.is_empty() && self.meaning.measures.is_empty() => {
                self.item(title)
            }
            _ => self.unclear(),
        }
    }

    /// In Chinese only a word like `哪些` marks a plural.
    pub(super) fn is_plural(&self) -> bool {
        let last = self.pieces[self.at].text.rsplit(' ').next().unwrap_or_default().to_lowercase();
        if last.is_ascii() { crate::words::english::singular(&last) != last } else { self.several }
    }

    /// `按订单数`: the next word makes it a measure.
    fn is_counted_next(&self) -> bool {
        matches!(self.next_piece(), Some(Chunk::Op(Op::CountBefore)))
    }

    /// Without values that differ only in their letters' case from another one of the field, which is written so.
    fn as_written(&self, named: &[Named]) -> Vec<Named> {
        let text = &self.pieces[self.at].text;
        let is_written = |place: Place| named.contains(&Named::Value(place, text.clone()));
        let stays = |named: &&Named| match named {
            Named::Value(place, value) => value == text || !is_written(*place),
            _ => true,
        };
        named.iter().filter(stays).cloned().collect()
    }

    /// `revenue by store`, where `store` is a channel: a value is no kind; `songs by Adele` are hers.
    fn is_kind_after_by(&self, named: &[Named]) -> bool {
        let is_kind = |named: &Named| match named {
            Named::Value(place, _) => self.schema.title(place.table) != Some(*place),
            _ => false,
        };
        let before = self.at.checked_sub(2).map(|at| self.pieces[at].text.to_lowercase());
        let acts = before.is_some_and(|text| is_participle(text.rsplit(' ').next().unwrap_or_default()));
        // `by cancellation rate`
        let is_last = matches!(self.next_piece(), None | Some(Chunk::Mark | Chunk::Range(_)));
        let is_by = self.at > 0 && self.pieces[self.at - 1].text.eq_ignore_ascii_case("by");
        is_by && is_last && !acts && named.iter().all(is_kind)
    }

    fn value_named(&mut self, named: &[Named]) -> Result<(), Unclear> {
        if self.is_kind_after_by(named) {
            return self.unclear();
        }
        let named = &self.as_written(named)[..];
        let value = self.focus.value(self.at, self.pieces, self.schema, named);
        let Some((place, value)) = value.or_else(|| self.nearest_value(named)) else {
            return Err(Unclear::Ambiguous(self.pieces[self.at].text.clone()));
        };
        // `status failed`: the field only introduced its value.
        let ties = |chunk: &Chunk| {
            matches!(
                chunk,
                Chunk::Op(
                    Op::Filler
                        | Op::Is
                        | Op::Of
                        | Op::Not
                        | Op::Compare(_)
                        | Op::Link
                        | Op::Both
                        | Op::Distinct
                        | Op::All
                )
            )
        };
        let names_it = |chunk: &Chunk| {
            matches!(chunk, Chunk::Named(named)
                if named.iter().any(|named| matches!(named, Named::Field(field, _) if *field == place)))
        };
        let is_introduced = self.last == Last::Field(place)
            && self.meaning.items.last() == Some(&place)
            && self.before(ties).is_some_and(names_it);
        if is_introduced {
            self.meaning.items.pop();
        }
        self.value(place, value)?;
        // `languages other than English`: there is another one; not `tasks without the status failed`.
        if is_introduced && !self.is_lacking() {
            self.meaning.turned.retain(|turned| *turned != place);
        }
        Ok(())
    }
}
