//! How the reader handles a field: a waiting operation takes it, or else it is shown.

use super::link::{Chunk, Piece};
use super::meaning::{By, Filter, Group, Measure, Test, Unclear};
use super::names::{Fit, Named};
use super::read::{Last, Reader, Waiting};
use super::verbs::is_participle;
use crate::answer::layer;
use crate::plan::ACTORS;
use crate::schema::{Kind, Place};
use crate::sums;
use crate::words::concept;
use crate::words::english::{name_words, singular};
use crate::words::phrases::{Compare, Func, Op};
use crate::words::short::words_of;

/// Words of fields whose numbers are no amounts of things.
const NO_COUNTS: [&str; 10] =
    ["year", "age", "rating", "price", "rank", "level", "size", "salary", "rate", "percentage"];
/// Ends of names of times that are prepositions.
const TIMES_END: [&str; 2] = ["on", "at"];
/// The layer of summaries, whose numbers of different things do not add up.
const SUMMARIES: u8 = 2;

impl Reader<'_> {
    pub(super) fn field_named(&mut self, named: &[Named]) -> Result<(), Unclear> {
        // `500元以上的订单数`
        if let Some(table) = self.pieces[self.at].counts.filter(|_| self.says_money()) {
            return self.measure(Measure::Count(table));
        }
        let of_owner = self.field_of_owner(named);
        let place = of_owner
            .or_else(|| self.field_of_last_value(named))
            .or_else(|| self.focus.field(self.at, self.schema, named));
        // `names of jurors`, which have none, are not those of something else.
        let is_vague =
            matches!(concept(&self.pieces[self.at].text.to_lowercase()).as_str(), "name" | "title");
        let nearest = || self.nearest_field(named).filter(|_| !is_vague || self.focus.is_empty());
        let Some(place) = place.or_else(nearest) else {
            // `订单数` exists in several summaries or in none: counts orders.
            if let Some(table) = self.pieces[self.at].counts {
                return self.measure(Measure::Count(table));
            }
            return Err(Unclear::Ambiguous(self.pieces[self.at].text.clone()));
        };
        let owned = |fit: Fit| named.contains(&Named::Field(place, fit));
        let number = self.schema.field(place).is_number();
        // `销售明细数量`: how many there are, and no sum of their pieces.
        let is_count = self.is_chinese() && number && owned(Fit::Own) && !owned(Fit::Whole);
        if is_count && self.pieces[self.at].counts == Some(place.table) {
            return self.measure(Measure::Count(place.table));
        }
        if owned(Fit::Own)
            && !number
            && !self.focus.has(place.table)
            && !self.meaning.tables.contains(&place.table)
        {
            self.meaning.tables.push(place.table);
            self.meaning.owners.push(place.table);
        }
        // `the products that were sold in Nanjing`
        if self.pieces[self.at].text.eq_ignore_ascii_case("sold")
            && self.meaning.measures.is_empty()
            && self.waiting.is_empty()
            && let Last::Table(table) = self.last
            && self.steps_up(place.table, table) == Some(1)
        {
            self.meaning.tables.push(place.table);
            self.last = Last::Nothing;
            return Ok(());
        }
        // `plays written by Lindqvist`, which have a field `year_written`
        let text = self.pieces[self.at].text.to_lowercase();
        let is_part = named.iter().all(|named| !matches!(named, Named::Field(_, Fit::Whole | Fit::Own)));
        let is_verb = is_part && is_participle(&text) && self.waiting.is_empty();
        if is_verb && self.is_told_by_what_follows() {
            return Ok(());
        }
        // `claims filed on motor policies`, which have a field `filed_on`
        let happened =
            text.split_once(' ').is_some_and(|(verb, at)| is_participle(verb) && TIMES_END.contains(&at));
        let thing_follows = matches!(self.next_piece(), Some(Chunk::Named(_)));
        if happened && thing_follows && self.schema.field(place).kind() == Kind::Date {
            return Ok(());
        }
        // `parts supplied by Bosch`, which have a field `supplier`
        let value = self.pieces.get(self.at + 2).is_some_and(|piece| piece.chunk.may_be_value());
        if value
            && self.waiting.is_empty()
            && is_participle(&text)
            && matches!(self.next_piece(), Some(Chunk::Op(Op::By)))
        {
            return Ok(());
        }
        // `the plant`, where rows have a number of plants
        let counts = |named: &Named| match named {
            Named::Field(place, _) => {
                let words = words_of(&self.schema.field(*place).name);
                words.first().is_some_and(|first| matches!(first.as_str(), "number" | "num" | "count"))
            }
            _ => false,
        };
        let is_alone = self.waiting.is_empty() && text.is_ascii() && singular(&text) == text;
        if is_part && is_alone && named.iter().any(counts) {
            return self.unclear();
        }
        // `Beijing city`, `failed status`: the field repeats the value's.
        let is_valued = |filter: &Filter| filter.place == place && matches!(filter.test, Test::Among(..));
        // `Except for Beijing, which city …`: another one.
        let before = self.before(|chunk| matches!(chunk, Chunk::Op(Op::Filler)));
        let is_asked = matches!(before, Some(Chunk::Op(Op::Which | Op::One)));
        if !is_asked && self.last == Last::Value && self.meaning.filters.iter().any(is_valued) {
            return Ok(());
        }
        // `How many events were there?`, where they have an `event_type`: not its values.
        let said = concept(text.rsplit(' ').next().unwrap_or_default());
        let ends = words_of(&self.schema.field(place).name).pop().map(|last| concept(&last));
        let is_beginning = is_part && !number && ends.is_some_and(|last| last != said && last != "name");
        if is_beginning && !self.is_chinese_here() && self.waiting.last() == Some(&Waiting::Count) {
            return self.unclear();
        }
        // `ordered 3 times` says how often.
        if self.number.is_some() && text == "times" {
            return self.unclear();
        }
        if self.is_said_again(place) || self.is_its_name() {
            return Ok(());
        }
        self.field(place)
    }

    /// Whether what follows a participle is neither days, a number or a comparison, nor its end.
    fn is_told_by_what_follows(&self) -> bool {
        let days = |chunk: Option<&Chunk>| {
            matches!(
                chunk,
                Some(
                    Chunk::Range(_)
                        | Chunk::Number(_)
                        | Chunk::Quoted
                        | Chunk::Op(
                            Op::After
                                | Op::Before
                                | Op::Since
                                | Op::Until
                                | Op::Between
                                | Op::Compare(_)
                                | Op::Is
                                | Op::CompareOf(..)
                        )
                )
            )
        };
        match (self.next_piece(), self.pieces.get(self.at + 2).map(|piece| &piece.chunk)) {
            (Some(Chunk::Op(Op::By)), _) => true,
            (Some(Chunk::Op(Op::Filler)), next) => next.is_some() && !days(next),
            (Some(Chunk::Op(Op::Both | Op::Link | Op::All) | Chunk::Named(_)), _) => true,
            _ => false,
        }
    }

    /// `the government form name`: the form itself.
    fn is_its_name(&self) -> bool {
        let is_name = self.pieces[self.at].text.eq_ignore_ascii_case("name");
        let follows = self.at > 0 && matches!(self.pieces[self.at - 1].chunk, Chunk::Named(_));
        match self.last {
            Last::Field(place) if is_name && follows => {
                let field = self.schema.field(place);
                field.kind() == Kind::Text
                    && !field.names_identity()
                    && self.meaning.items.last() == Some(&place)
            }
            _ => false,
        }
    }

    /// `For each department, its name and the number of doctors`, `Who has the most books? Give the name.`: of what was asked
    /// for before.
    fn field_of_owner(&self, named: &[Named]) -> Option<Place> {
        const OWNERS: [&str; 4] = ["its", "their", "his", "her"];
        if self.is_chinese_here() {
            return None;
        }
        let before = self.at.checked_sub(1).map(|at| self.pieces[at].text.to_lowercase());
        let is_owned = before.is_some_and(|before| OWNERS.contains(&before.as_str()));
        let ends =
            |piece: &Piece| piece.chunk == Chunk::Mark && matches!(piece.text.as_str(), "?" | "." | ";");
        let begins = self.pieces[..self.at].iter().rposition(ends);
        let is_told_later = begins.is_some_and(|begins| {
            let names_table = |piece: &Piece| {
                matches!(&piece.chunk, Chunk::Named(named) if named.iter().any(|named| matches!(named, Named::Table(_))))
            };
            !self.pieces[begins..].iter().any(names_table)
        });
        let group = self.meaning.groups.iter().find_map(|group| match group {
            Group::Table(table) => Some(*table),
            Group::Field(_) => None,
        });
        let owner = group.or(self.meaning.tables.first().copied()).filter(|_| is_owned || is_told_later)?;
        let mut own = named.iter().filter_map(|named| match named {
            Named::Field(place, Fit::Whole | Fit::Own) if place.table == owner => Some(*place),
            _ => None,
        });
        own.next().filter(|place| own.all(|other| other == *place))
    }

    /// `a cat that is age 3`: of what has the value.
    fn field_of_last_value(&self, named: &[Named]) -> Option<Place> {
        let ties = |chunk: &Chunk| matches!(chunk, Chunk::Op(Op::Filler | Op::Is));
        let before = self.before(ties)?;
        let said = self.at > 0 && ties(&self.pieces[self.at - 1].chunk);
        let value = self
            .meaning
            .filters
            .last()
            .filter(|_| self.last == Last::Value && said && !self.is_chinese_here())?;
        let is_value = matches!(before, Chunk::Named(named) if named.iter().any(|named| matches!(named, Named::Value(place, _) if *place == value.place)));
        let mut own = named.iter().filter_map(|named| match named {
            Named::Field(place, _) if place.table == value.place.table && *place != value.place => {
                Some(*place)
            }
            _ => None,
        });
        own.next().filter(|place| is_value && own.all(|other| other == *place))
    }

    /// `in descending order of the years in which they were founded`: the second word for one field.
    fn is_said_again(&self, place: Place) -> bool {
        let Some((recent, at)) = self.recent else { return false };
        let says_nothing = |chunk: &Chunk| match chunk {
            Chunk::Op(op) => matches!(op, Op::Filler | Op::Of | Op::Is | Op::Link | Op::All | Op::Which),
            Chunk::Named(named) => named.iter().any(|named| matches!(named, Named::Table(_))),
            _ => false,
        };
        recent == place
            && self.waiting.is_empty()
            && self.pieces[at + 1..self.at].iter().all(|piece| says_nothing(&piece.chunk))
    }

    pub(super) fn field(&mut self, place: Place) -> Result<(), Unclear> {
        let number = self.schema.field(place).is_number();
        // `products with no sales`
        let is_lacking = self.at > 0 && matches!(self.pieces[self.at - 1].chunk, Chunk::Op(Op::Not));
        if is_lacking && self.waiting.is_empty() && sums::flows(self.schema.field(place)) && self.takes_not()
        {
            return match self.meaning.without.replace(place.table) {
                Some(_) => self.unclear(),
                None => Ok(()),
            };
        }
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
            // `for each number of beds`
            Some(Waiting::Count) if self.waiting.ends_with(&[Waiting::Each, Waiting::Count]) => {
                self.waiting.truncate(self.waiting.len() - 2);
                self.meaning.groups.push(Group::Field(place));
                self.last = Last::Group;
                Ok(())
            }
            // `How many nights were booked in each hut?`, `the total number of beds`
            Some(Waiting::Count) if self.counts_in_total(place) => {
                self.waiting.pop();
                self.measure(Measure::Made(Func::Sum, place))
            }
            // `sorted by the number of years`, `the average number of staff`: the field counts them.
            Some(Waiting::Count) if self.waiting.len() > 1 || !self.meaning.items.is_empty() => {
                self.waiting.pop();
                self.field(place)
            }
            Some(Waiting::Each) => {
                self.waiting.pop();
                self.group(place)
            }
            Some(Waiting::By)
                if number && (self.meaning.limit.is_some() || self.meaning.measures.is_empty()) =>
            {
                self.waiting.pop();
                // `the largest venue by seats`
                if let Some(Waiting::Extreme(greatest)) =
                    self.take_last(|waiting| matches!(waiting, Waiting::Extreme(_)))
                {
                    return self.rank(By::Field(place), greatest);
                }
                let top = self.take(|waiting| *waiting == Waiting::Top).is_some();
                self.meaning.top |= top;
                if top || self.meaning.limit.is_some() {
                    self.rank(By::Field(place), !self.meaning.least)
                } else {
                    // `cities by revenue`: the greatest first.
                    self.order(place, sums::adds_up(self.schema.field(place)).then_some(true))
                }
            }
            Some(Waiting::By) => {
                self.waiting.pop();
                self.group(place)
            }
            Some(Waiting::Order(descending)) => {
                self.waiting.pop();
                // `sort the cities by sales`: those that sell most come first.
                let is_sold = self.ascending.is_none() && sums::flows(self.schema.field(place));
                self.order(place, descending.or(is_sold.then_some(true)))
            }
            Some(Waiting::Extreme(greatest)) if self.comparable(place) => {
                self.waiting.pop();
                self.extreme_of(place, greatest)
            }
            Some(Waiting::Versus(compare, func)) if number => {
                self.waiting.pop();
                self.against_all(place, compare, func)
            }
            Some(Waiting::Common(most)) => {
                self.waiting.pop();
                self.most_common(place, most)
            }
            Some(Waiting::Most(most)) if number && !self.schema.field(place).names_identity() => {
                self.waiting.pop();
                // `who has worked the greatest number of years`
                if self.meaning.items.last() == Some(&place) {
                    self.meaning.items.pop();
                }
                self.extreme_of(place, most)
            }
            Some(Waiting::Compared(compare, wanted)) if number => {
                self.waiting.pop();
                self.filter(place, Test::Number(compare, wanted))
            }
            Some(Waiting::Among(least, most)) if number => {
                self.waiting.pop();
                self.filter(place, Test::Between(least, most))
            }
            // `more than 10 years of experience`, written as text: no number of different ones.
            Some(Waiting::Compared(..)) if !number && self.meaning.tables == [place.table] => self.unclear(),
            // `the most languages`, `more than 2 languages`
            Some(Waiting::Most(most)) if !number && !self.focus.is_empty() => {
                self.waiting.pop();
                self.rank(By::Measure(self.number_of(place)), most)
            }
            // `executed more than 3 times` says how often, and not how many different times.
            Some(Waiting::Compared(..))
                if !number && self.pieces[self.at].text.eq_ignore_ascii_case("times") =>
            {
                self.unclear()
            }
            Some(Waiting::Compared(compare, wanted)) if !number && !self.focus.is_empty() => {
                self.waiting.pop();
                self.meaning.having.push((self.number_of(place), compare, wanted));
                Ok(())
            }
            // `a greater weight than 10`
            Some(Waiting::Compare(_)) if number => self.item(place),
            None | Some(Waiting::Top) => self.item(place),
            Some(_) => self.unclear(),
        }
    }

    /// Whether a field's numbers are amounts and counts, which tell nothing apart: `per revenue`, `per buyers`.
    fn is_amount(&self, place: Place) -> bool {
        let field = self.schema.field(place);
        let words = name_words(&field.name);
        let Some(last) = words.last().filter(|_| field.is_number() && !field.names_identity()) else {
            return false;
        };
        singular(last) != *last
            || matches!(
                concept(last).as_str(),
                "amount" | "sale" | "revenue" | "quantity" | "profit" | "cost" | "count" | "cnt"
            )
    }

    /// Whether `how many` or `total number of` asks for the sum of a field that counts things.
    fn counts_in_total(&self, place: Place) -> bool {
        let field = self.schema.field(place);
        let last = self.pieces[self.at].text.rsplit(' ').next().unwrap_or_default().to_lowercase();
        let words: Vec<String> = words_of(&field.name).iter().map(|word| concept(word)).collect();
        let is_count = field.is_number()
            && !field.names_identity()
            && singular(&last) != last
            && !words.iter().any(|word| NO_COUNTS.contains(&word.as_str()));
        let asks =
            self.pieces[..self.at].iter().rev().find(|piece| matches!(piece.chunk, Chunk::Op(Op::Count)));
        let text = asks.map(|piece| piece.text.to_lowercase()).unwrap_or_default();
        let in_total = text.contains("total");
        // `how many nights`, and not `how many refunds` of a `refund_amount`
        let said: Vec<String> =
            self.pieces[self.at].text.split(' ').map(|word| concept(&word.to_lowercase())).collect();
        let is_whole = field.type_text.to_uppercase().contains("INT") && words.ends_with(&said) && {
            words[..words.len() - said.len()].iter().all(|word| matches!(word.as_str(), "number" | "total"))
        };
        // The buyers of two days may be the same ones.
        let adds_up = layer(&self.schema.table(place.table).name) < SUMMARIES
            && !ACTORS.contains(&concept(&last).as_str());
        is_count
            && adds_up
            && (in_total
                || text == "how many" && is_whole && self.meaning.items.is_empty() && self.waiting.len() == 1)
    }

    /// How many values there are: rows, if the field is a part of their key.
    fn number_of(&self, place: Place) -> Measure {
        if self.schema.field(place).key { Measure::Count(place.table) } else { Measure::Different(place) }
    }

    pub(super) fn group(&mut self, place: Place) -> Result<(), Unclear> {
        let counts = name_words(&self.schema.field(place).name)
            .iter()
            .any(|word| matches!(word.as_str(), "num" | "count" | "total" | "qty"));
        let is_count =
            counts && self.schema.field(place).is_number() && !self.schema.field(place).names_identity();
        if self.schema.field(place).kind() == Kind::Date || self.is_amount(place) || is_count {
            return self.unclear();
        }
        self.meaning.groups.push(Group::Field(place));
        self.last = Last::Group;
        Ok(())
    }

    pub(super) fn order(&mut self, place: Place, descending: Option<bool>) -> Result<(), Unclear> {
        // `from the largest city to the smallest`: by nothing that is named.
        let before = self.before(|chunk| matches!(chunk, Chunk::Op(Op::Filler | Op::Of))).cloned();
        let says_number =
            self.pieces[..self.at].iter().rev().take(3).any(|piece| piece.text.ends_with("numeric"));
        let is_direction = matches!(before, Some(Chunk::Op(Op::Ascending | Op::Descending)));
        if self.meaning.order.is_some() || is_direction && says_number && !self.comparable(place) {
            return self.unclear();
        }
        self.meaning.order = Some((By::Field(place), descending.unwrap_or(false)));
        self.last = Last::Nothing;
        self.recent = Some((place, self.at));
        Ok(())
    }

    /// The row with the greatest value, or the value itself.
    pub(super) fn extreme_of(&mut self, place: Place, greatest: bool) -> Result<(), Unclear> {
        if let Some((number, _)) = self.number.take() {
            self.limit(number)?;
        }
        // `the highest sales category`
        let thing_follows = matches!(self.next_piece(), Some(Chunk::Named(_))) && !self.is_chinese();
        let rows_are_asked = !self.meaning.items.is_empty()
            || !self.focus.is_empty()
            || self.meaning.which
            || self.meaning.cycle.is_some()
            || self.asks_which()
            || thing_follows;
        // `the number of concerts in the stadium with the highest capacity`
        let of_other = match self.meaning.measures[..] {
            [Measure::Count(table)] => {
                table != place.table
                    && self.meaning.tables.contains(&place.table)
                    && !self.is_joined_before(self.at)
            }
            _ => false,
        };
        if rows_are_asked && (self.meaning.measures.is_empty() || of_other) {
            return self.rank(By::Field(place), greatest);
        }
        self.measure(Measure::Made(if greatest { Func::Greatest } else { Func::Least }, place))
    }

    /// Whether `and` stands before what is compared, as in `the number of concerts and the highest capacity`.
    fn is_joined_before(&self, at: usize) -> bool {
        let passed =
            |chunk: &Chunk| matches!(chunk, Chunk::Op(Op::Extreme(_) | Op::ExtremeOf(..) | Op::Most(_)));
        let before = self.pieces[..at].iter().rev().map(|piece| &piece.chunk).find(|chunk| !passed(chunk));
        matches!(before, Some(Chunk::Op(Op::And) | Chunk::Mark))
    }

    pub(super) fn asks_which(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece.chunk, Chunk::Op(Op::Which | Op::One)))
    }

    pub(super) fn item(&mut self, place: Place) -> Result<(), Unclear> {
        // `recipes that make 4 servings`
        let verb = |at: usize| at.checked_sub(1).map(|at| self.pieces[at].text.to_lowercase());
        let has = ["have", "has", "had", "having", "with", "make", "makes", "made"];
        if let Some((number, at)) = self.number
            && at + 1 == self.at
            && verb(at).is_some_and(|verb| has.contains(&verb.as_str()))
            && self.schema.field(place).is_number()
            && !self.schema.field(place).names_identity()
        {
            self.number = None;
            return self.filter(place, Test::Number(Compare::Equal, number));
        }
        self.number_of_things(place.table)?;
        if self.meaning.items.is_empty() && self.meaning.tables.is_empty() {
            self.several = self.is_plural();
        }
        let word = self.pieces[self.at].text.rsplit(' ').next().unwrap_or_default().to_lowercase();
        self.meaning.listed |= word.is_ascii() && singular(&word) != word && !self.is_amount(place);
        // A second field after `by city` and `and` is a second group.
        let is_after = |at: usize, fits: fn(&Chunk) -> bool| {
            self.at.checked_sub(at).is_some_and(|at| fits(&self.pieces[at].chunk))
        };
        let joined = is_after(1, |chunk| matches!(chunk, Chunk::Op(Op::And)));
        let by_unit = is_after(2, |chunk| matches!(chunk, Chunk::Op(Op::Each1(_))));
        let is_group = self.last == Last::Group && !self.meaning.measures.is_empty() || by_unit;
        if joined && is_group && !self.schema.field(place).is_number() {
            return self.group(place);
        }
        // `orders per month and revenue`
        let has_numbers = !self.meaning.measures.is_empty() || !self.meaning.items.is_empty();
        if joined
            && by_unit
            && !has_numbers
            && let Some(table) = self.meaning.tables.last().copied()
        {
            if !self.is_amount_of(place, table) {
                return self.unclear();
            }
            self.meaning.measures.push(Measure::Count(table));
        }
        // `list all teaware with prices`: with their names.
        if let Some(title) = self.listed_beside(place) {
            self.meaning.items.push(title);
        }
        // A second time it may be for a condition, which takes it back.
        self.meaning.item_leads |= self.meaning.items.is_empty() && self.meaning.measures.is_empty();
        self.meaning.items.push(place);
        self.last = Last::Field(place);
        Ok(())
    }
    /// The name of what a value before `with` or `和` lists, beside a first field of it.
    fn listed_beside(&self, place: Place) -> Option<Place> {
        let [.., value, joint] = &self.pieces[..self.at] else { return None };
        let is_joint =
            matches!(joint.text.to_lowercase().as_str(), "with" | "和" | "及" | "及其" | "和它们的");
        let of_table = |named: &Named| matches!(named, Named::Value(of, _) if of.table == place.table);
        let is_value = matches!(&value.chunk, Chunk::Named(named) if named.iter().any(of_table));
        let nothing_else = self.meaning.items.is_empty() && self.meaning.measures.is_empty();
        let title = self.schema.title(place.table).filter(|title| *title != place)?;
        (is_joint && is_value && nothing_else && self.schema.field(place).is_number()).then_some(title)
    }
}
