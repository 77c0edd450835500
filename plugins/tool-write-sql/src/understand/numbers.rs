//! How the reader handles numbers: as operands of comparisons, as limits, as row identifiers.
//!
//! A number with no such use refuses the question.

use super::link::{Chunk, Piece};
use super::meaning::{Measure, Test, Unclear};
use super::names::{Fit, Named};
use super::read::{Last, Reader, Waiting};
use crate::schema::{Kind, Place};
use crate::sums;
use crate::words::english::name_words;
use crate::words::phrases::{Compare, DURATION, Func, Op};
use crate::words::short::{UNITS, words_of};

/// Words of units with their abbreviations in names, `|` between them.
const MEASURES: &[(&str, &str)] = &[
    ("meter|meters|metre|metres|m", "m|meter|metre"),
    ("kilometer|kilometers|kilometre|kilometres|km", "km"),
    ("centimeter|centimeters|centimetre|centimetres|cm", "cm"),
    ("millimeter|millimeters|millimetre|millimetres|mm", "mm"),
    ("foot|feet|ft", "ft"),
    ("mile|miles", "mile"),
    ("kilogram|kilograms|kilo|kilos|kg", "kg"),
    ("gram|grams|g", "g"),
    ("pound|pounds|lbs", "lb|lbs|gbp"),
    ("litre|litres|liter|liters|l", "l"),
    ("ml|millilitre|millilitres|milliliters", "ml"),
    ("minute|minutes|min|mins", "min|mins|minute|minutes"),
    ("hour|hours", "hour|hours|hrs"),
    ("dollar|dollars", "usd"),
    ("euro|euros", "eur"),
];

/// Comparisons of durations.
const LENGTHS: &[&str] = &["longer than", "shorter than", "longer", "shorter"];

impl Compare {
    /// The same of the other side: `less than 3 days ago` is after that day.
    pub(super) fn mirrored(self) -> Compare {
        match self {
            Compare::More => Compare::Less,
            Compare::AtLeast => Compare::AtMost,
            Compare::Less => Compare::More,
            Compare::AtMost => Compare::AtLeast,
            same => same,
        }
    }

    /// Whether 0 compares so with a number: `fewer than 5`.
    pub fn fits_zero(self, number: f64) -> bool {
        match self {
            Compare::Less => number > 0.0,
            Compare::AtMost => number >= 0.0,
            Compare::Equal => number == 0.0,
            Compare::NotEqual => number != 0.0,
            Compare::More => number < 0.0,
            Compare::AtLeast => number <= 0.0,
        }
    }

    /// `not over 500`.
    fn turned(self) -> Compare {
        match self {
            Compare::Equal => Compare::NotEqual,
            Compare::NotEqual => Compare::Equal,
            Compare::More => Compare::AtMost,
            Compare::AtLeast => Compare::Less,
            Compare::Less => Compare::AtLeast,
            Compare::AtMost => Compare::More,
        }
    }
}

impl Reader<'_> {
    pub(super) fn compare(&mut self, compare: Compare) {
        let not_here =
            self.before(|chunk| matches!(chunk, Chunk::Op(Op::Filler))) == Some(&Chunk::Op(Op::Not));
        let compare = if not_here && self.takes_not() { compare.turned() } else { compare };
        self.waiting.push(Waiting::Compare(compare));
    }

    pub(super) fn compare_before(&mut self, compare: Compare) -> Result<(), Unclear> {
        let Some((number, _)) = self.number.take() else { return self.unclear() };
        self.compared(compare, number)
    }

    /// A comparison that lacks only its subject.
    pub(super) fn compared(&mut self, compare: Compare, number: f64) -> Result<(), Unclear> {
        let has_units = self.meaning.unit.is_some() || self.meaning.cycle.is_some();
        match self.last {
            // `orders per day with more than 85 orders`: the days, or some of the orders.
            Last::Measure(Measure::Count(table)) | Last::Table(table)
                if has_units && self.is_table_next(table) =>
            {
                self.unclear()
            }
            // `orders per day over 500`: those of the day, or their amounts.
            Last::Measure(Measure::Count(_)) | Last::Table(_)
                if has_units && !self.meaning.which && !self.is_chinese_here() && !self.says_money() =>
            {
                self.unclear()
            }
            // `How many customers have more than 30 orders?`
            Last::Measure(Measure::Count(table))
                if !self.is_chinese_here() && self.is_followed_by_other(table) =>
            {
                self.waiting.push(Waiting::Compared(compare, number));
                Ok(())
            }
            // `How many roles have fewer than 100 lines?`
            Last::Measure(_) if !self.is_chinese_here() && self.is_number_field_next() => {
                self.waiting.push(Waiting::Compared(compare, number));
                Ok(())
            }
            // `orders above 100` compares something of the orders, not how many there are.
            Last::Measure(Measure::Count(table))
                if !self.is_chinese_here()
                    && !self.is_of_others(table)
                    && (!self.says_is() || self.amount_of(table).is_ok()) =>
            {
                let place = self.amount_of(table)?;
                self.test(place, Test::Number(compare, number))
            }
            Last::Measure(measure) => {
                // `哪天订单数超过85`: the days with their numbers.
                if !self.meaning.which {
                    self.not_shown(measure);
                }
                self.meaning.having.push((measure, compare, number));
                self.last = Last::Nothing;
                Ok(())
            }
            // `订单超过30个的客户`
            Last::Table(table) if self.is_chinese_here() && self.other_table_follows() => {
                self.meaning.having.push((Measure::Count(table), compare, number));
                self.meaning.tables.retain(|known| *known != table);
                self.last = Last::Nothing;
                Ok(())
            }
            // `which month had revenue over 500000`: the sum of each.
            Last::Field(place)
                if self.meaning.which
                    && self.meaning.items.last() == Some(&place)
                    && let Some(measure) = self.sum_of_units(place) =>
            {
                self.meaning.items.pop();
                self.meaning.measures.push(measure);
                self.meaning.having.push((measure, compare, number));
                self.last = Last::Nothing;
                Ok(())
            }
            Last::Field(place)
                if self.meaning.items.last() == Some(&place) && self.schema.field(place).is_number() =>
            {
                self.meaning.items.pop();
                self.test(place, Test::Number(compare, number))
            }
            // `orders with more than two products`
            Last::Table(table) if !self.is_chinese_here() && self.is_followed_by_other(table) => {
                self.waiting.push(Waiting::Compared(compare, number));
                Ok(())
            }
            // `orders over 500`
            Last::Table(table)
                if !self.is_chinese_here() && !self.is_of_others(table) && self.amount_of(table).is_ok() =>
            {
                let place = self.amount_of(table)?;
                self.test(place, Test::Number(compare, number))
            }
            // `ran longer than 10 minutes`
            _ if self.at > 0
                && !self.is_number_field_next()
                && LENGTHS.iter().any(|word| self.pieces[self.at - 1].text.eq_ignore_ascii_case(word)) =>
            {
                let place = self.field_called(DURATION).or_else(|_| self.field_called(&["length"]))?;
                self.test(place, Test::Number(compare, number))
            }
            _ if let Some(place) = self.tested_just_before() => {
                self.test(place, Test::Number(compare, number))
            }
            _ => {
                self.waiting.push(Waiting::Compared(compare, number));
                Ok(())
            }
        }
    }

    /// Whether something else is asked for, which has rows of the table: `cities with number of orders over 500`.
    fn is_of_others(&self, table: usize) -> bool {
        !self.meaning.items.is_empty()
            || !self.meaning.groups.is_empty()
            || self.meaning.tables.iter().any(|other| *other != table)
    }

    fn test(&mut self, place: Place, test: Test) -> Result<(), Unclear> {
        self.tested = Some((place, self.at));
        self.filter(place, test)
    }

    /// `price over 100 and below 200`: the same field again.
    fn tested_just_before(&self) -> Option<Place> {
        let (place, tested) = self.tested?;
        let holds_together = |chunk: &Chunk| {
            matches!(
                chunk,
                Chunk::Mark
                    | Chunk::Op(
                        Op::And | Op::Or | Op::Filler | Op::Money | Op::Compare(_) | Op::CompareBefore(_)
                    )
            )
        };
        self.pieces[tested + 1..self.at].iter().all(|piece| holds_together(&piece.chunk)).then_some(place)
    }

    /// Whether `的` and a table follow.
    pub(super) fn other_table_follows(&self) -> bool {
        let rest = self.pieces[self.at + 1..].iter().map(|piece| &piece.chunk);
        let mut rest = rest.filter(|chunk| !matches!(chunk, Chunk::Op(Op::Piece) | Chunk::Number(_)));
        // `订单不超过10个的城市`
        let is_thing = |named: &Named| match named {
            Named::Table(_) => true,
            Named::Field(place, _) => self.schema.field(*place).kind() == Kind::Text,
            _ => false,
        };
        let names_table = |chunk: &Chunk| matches!(chunk, Chunk::Named(named) if named.iter().any(is_thing));
        let says = self.pieces[self.at].text.ends_with('的');
        (says || rest.next() == Some(&Chunk::Op(Op::Of))) && rest.next().is_some_and(names_table)
    }

    /// The number of a calendar unit that the last name means: rows, or the sum of what adds up.
    fn sum_of_units(&self, place: Place) -> Option<Measure> {
        let named =
            self.pieces[..self.at].iter().rev().find(|piece| matches!(piece.chunk, Chunk::Named(_)))?;
        match named.counts {
            Some(table) => Some(Measure::Count(table)),
            None => sums::flows(self.schema.field(place)).then_some(Measure::Made(Func::Sum, place)),
        }
    }

    /// Whether this table follows the number directly.
    fn is_table_next(&self, table: usize) -> bool {
        let is_table = |named: &Named| *named == Named::Table(table);
        matches!(self.next_piece(), Some(Chunk::Named(named)) if named.iter().any(is_table))
    }

    /// Whether another table follows the number directly, or after one of its values.
    fn is_followed_by_other(&self, table: usize) -> bool {
        let named = self.pieces[self.at + 1..].iter().map_while(|piece| match &piece.chunk {
            Chunk::Named(named) => Some(named),
            _ => None,
        });
        let other = |named: &Named| match named {
            Named::Table(other) => *other != table,
            // `with more than one category`
            Named::Field(place, fit) => *fit != Fit::Part && self.schema.field(*place).kind() == Kind::Text,
            _ => false,
        };
        named.take(2).any(|named| named.iter().any(other))
    }

    /// Whether a field of numbers follows the number directly.
    fn is_number_field_next(&self) -> bool {
        let is_number = |named: &Named| match named {
            Named::Field(place, fit) => *fit != Fit::Part && self.schema.field(*place).is_number(),
            _ => false,
        };
        matches!(self.next_piece(), Some(Chunk::Named(named)) if named.iter().any(is_number))
    }

    /// Whether an unknown word is the unit of the number before it, which a field was just compared with: `18 metres`. The
    /// unit of the field is no other one.
    pub(super) fn is_unit_of_number(&self) -> bool {
        let text = self.pieces[self.at].text.to_lowercase();
        let Some((_, short)) = MEASURES.iter().find(|(words, _)| words.split('|').any(|word| word == text))
        else {
            return false;
        };
        let after_number = self.at > 0 && matches!(self.pieces[self.at - 1].chunk, Chunk::Number(_));
        let Some((place, _)) = self.tested.filter(|_| after_number) else { return false };
        let field = self.schema.field(place);
        let words = name_words(&field.name);
        match words.last().filter(|last| UNITS.contains(&last.as_str())) {
            Some(unit) => short.split('|').any(|one| one == unit),
            // A comment may say another one.
            None => field.comment.is_empty(),
        }
    }

    /// Whether `is` precedes the comparison and its number.
    fn says_is(&self) -> bool {
        self.at >= 2 && self.pieces[self.at - 2].chunk == Chunk::Op(Op::Is)
    }

    pub(super) fn between(&mut self) -> Result<(), Unclear> {
        if self.among() {
            return Ok(());
        }
        // `orders between 9 and 12`: hours, or amounts.
        let is_hour = |piece: &Piece| matches!(piece.chunk, Chunk::Number(number) if number <= 24.0);
        let numbers: Vec<&Piece> = self.pieces[self.at + 1..].iter().take(3).collect();
        if matches!(self.last, Last::Table(_) | Last::Measure(Measure::Count(_)))
            && numbers.first().is_some_and(|piece| is_hour(piece))
            && numbers.last().is_some_and(|piece| is_hour(piece))
        {
            return self.unclear();
        }
        match self.last {
            Last::Field(place)
                if self.schema.field(place).is_number() && self.meaning.items.last() == Some(&place) =>
            {
                self.waiting.push(Waiting::Between);
                Ok(())
            }
            _ if matches!(self.next(), Some(Chunk::Range(_))) => {
                self.waiting.push(Waiting::Between);
                Ok(())
            }
            // `orders between 500 and 800`
            Last::Table(table) | Last::Measure(Measure::Count(table))
                if !self.is_chinese_here() && !self.is_of_others(table) && self.amount_of(table).is_ok() =>
            {
                let place = self.amount_of(table)?;
                self.meaning.items.push(place);
                self.last = Last::Field(place);
                self.waiting.push(Waiting::Between);
                Ok(())
            }
            _ => self.unclear(),
        }
    }

    /// `with between 5 and 10 years of experience`: the field follows.
    fn among(&mut self) -> bool {
        let rest: Vec<&Chunk> = self.pieces[self.at + 1..].iter().map(|piece| &piece.chunk).collect();
        let is_number = |named: &Named| match named {
            Named::Field(place, _) => self.schema.field(*place).is_number(),
            _ => false,
        };
        match rest[..] {
            [
                Chunk::Number(least),
                Chunk::Op(Op::And | Op::To),
                Chunk::Number(most),
                Chunk::Named(named),
                ..,
            ] if !self.is_chinese_here() && named.iter().any(is_number) => {
                self.waiting.push(Waiting::Among(*least, *most));
                self.at += 3;
                true
            }
            _ => false,
        }
    }

    pub(super) fn number(&mut self, number: f64) -> Result<(), Unclear> {
        match self.waiting.last().cloned() {
            Some(Waiting::Compare(compare)) => {
                self.waiting.pop();
                return match (compare, self.last, self.more_numbers()) {
                    (_, _, More::None) => self.compared(compare, number),
                    (Compare::Equal, Last::Field(place), more) => self.field_is(place, number, more),
                    // `over 100 and 200` makes no sense.
                    _ => self.unclear(),
                };
            }
            Some(Waiting::Top) => {
                self.waiting.pop();
                self.meaning.top = true;
                return if self.more_numbers() == More::None { self.limit(number) } else { self.unclear() };
            }
            _ => {}
        }
        match self.last {
            Last::Field(place) if self.is_value_of(place) => {
                let more = self.more_numbers();
                return self.field_is(place, number, more);
            }
            // `floor 3`, kept as text
            Last::Field(place)
                if self.meaning.items.last() == Some(&place)
                    && self.schema.field(place).kind() == Kind::Text
                    && self.schema.field(place).values.contains(&self.pieces[self.at].text) =>
            {
                self.meaning.items.pop();
                return self.value(place, self.pieces[self.at].text.clone());
            }
            // `line 7`, whose code is a text
            Last::Table(table)
                if self.names_row(table)
                    && let Some(place) = self.code_here(table) =>
            {
                return self.value(place, self.pieces[self.at].text.clone());
            }
            Last::Table(table) if self.names_row(table) => {
                let key = self.schema.key(table).filter(|key| self.schema.field(*key).is_number());
                let Some(key) = key.filter(|_| self.more_numbers() == More::None) else {
                    return self.unclear();
                };
                return self.filter(key, Test::Number(Compare::Equal, number));
            }
            _ => {}
        }
        if !self.counts_things() || self.takes_not() {
            return self.unclear();
        }
        self.number = Some((number, self.at));
        Ok(())
    }

    /// A field equals this number, or one of several, or is between two.
    fn field_is(&mut self, place: Place, number: f64, more: More) -> Result<(), Unclear> {
        if self.meaning.items.last() != Some(&place) || !self.schema.field(place).is_number() {
            return self.unclear();
        }
        let is_between = self.take_last(|waiting| *waiting == Waiting::Between).is_some();
        let test = match more {
            More::To(most, last) => {
                self.at = last;
                Test::Between(number, most)
            }
            _ if is_between => return self.unclear(),
            More::None => Test::Number(Compare::Equal, number),
            More::Also(others, last) => {
                self.at = last;
                Test::Numbers([vec![number], others].concat())
            }
        };
        self.meaning.items.pop();
        self.test(place, test)
    }

    /// Further numbers of the same list or range: `到200`, `、128和158`.
    fn more_numbers(&self) -> More {
        let chunk = |at: usize| self.pieces.get(at).map(|piece| &piece.chunk);
        let past = |mut at: usize| {
            while matches!(chunk(at), Some(Chunk::Op(Op::Money))) {
                at += 1;
            }
            at
        };
        let between = self.waiting.last() == Some(&Waiting::Between);
        let joint = past(self.at + 1);
        let first = match (chunk(joint), chunk(joint + 1)) {
            (Some(Chunk::Op(Op::To)), Some(Chunk::Number(most))) => {
                return More::To(*most, past(joint + 2) - 1);
            }
            (Some(Chunk::Op(Op::And | Op::Or) | Chunk::Mark), Some(Chunk::Number(number))) => *number,
            _ => return More::None,
        };
        let closes = |at: usize| matches!(chunk(at), Some(Chunk::Op(Op::Within)));
        if between || closes(past(joint + 2)) {
            return More::To(first, past(joint + 2) - 1);
        }
        // `customer 5, 10 orders`: a number that counts the next thing is not part of the list.
        let (mut numbers, mut last) = (Vec::new(), self.at);
        let mut at = joint;
        while let (Some(Chunk::Op(Op::And | Op::Or) | Chunk::Mark), Some(Chunk::Number(number))) =
            (chunk(at), chunk(at + 1))
        {
            if matches!(chunk(at + 2), Some(Chunk::Op(Op::Piece) | Chunk::Named(_))) {
                break;
            }
            numbers.push(*number);
            at = past(at + 2);
            last = at - 1;
        }
        if numbers.is_empty() { More::None } else { More::Also(numbers, last) }
    }

    /// `price 158`, and not `the price of 5 products` nor `价格最低的5个商品`.
    fn is_value_of(&self, place: Place) -> bool {
        let next = self.next_piece();
        let of = self.before(|chunk| *chunk == Chunk::Op(Op::Filler)) == Some(&Chunk::Op(Op::Of));
        // `the salary for the three players`
        let is_apart = self.at > 0 && matches!(self.pieces[self.at - 1].chunk, Chunk::Op(Op::Filler));
        let is_thing = |named: &Named| matches!(named, Named::Table(_));
        let thing_follows = matches!(next, Some(Chunk::Named(named)) if named.iter().any(is_thing));
        self.schema.field(place).is_number()
            && self.meaning.items.last() == Some(&place)
            && !(is_apart && thing_follows && !self.is_chinese_here())
            && !matches!(next, Some(Chunk::Op(Op::CompareBefore(_) | Op::Piece)))
            && !(of
                && matches!(
                    next,
                    Some(Chunk::Named(_) | Chunk::Op(Op::Extreme(_) | Op::ExtremeOf(..) | Op::Most(_)))
                ))
    }

    /// The only field of codes that has this number as a text.
    fn code_here(&self, table: usize) -> Option<Place> {
        let text = &self.pieces[self.at].text;
        let is_code = |place: &Place| {
            let field = self.schema.field(*place);
            let last = words_of(&field.name).pop().unwrap_or_default();
            let is_named = matches!(last.as_str(), "code" | "number" | "no" | "name");
            is_named && !field.is_number() && field.values.contains(text)
        };
        let mut codes = self.schema.places(table).filter(is_code);
        codes.next().filter(|_| codes.next().is_none())
    }

    /// `customer 5`, `客户5`: the number identifies the row.
    fn names_row(&self, table: usize) -> bool {
        let Some(before) = self.at.checked_sub(1).map(|at| &self.pieces[at]) else { return false };
        let named = matches!(&before.chunk, Chunk::Named(named) if named.contains(&Named::Table(table)));
        let word = before.text.rsplit(' ').next().unwrap_or_default().to_lowercase();
        let is_one = !word.is_ascii() || crate::words::english::singular(&word) == word;
        named
            && is_one
            && !matches!(self.next_piece(), Some(Chunk::Op(Op::Piece | Op::CompareBefore(_) | Op::To)))
    }

    /// Whether this number limits the next thing.
    fn counts_things(&self) -> bool {
        let rest = &self.pieces[self.at + 1..];
        let is_unit = |piece: &&Piece| matches!(piece.chunk, Chunk::Op(Op::Piece | Op::Money));
        let pieces = rest.iter().take_while(is_unit).count();
        matches!(
            rest.get(pieces).map(|piece| &piece.chunk),
            Some(
                Chunk::Named(_)
                    | Chunk::Op(
                        Op::Extreme(_)
                            | Op::ExtremeOf(..)
                            | Op::Most(_)
                            | Op::Distinct
                            | Op::CompareBefore(_)
                    )
            )
        ) || pieces > 0 && rest.get(pieces).is_some_and(|piece| piece.chunk == Chunk::Op(Op::Of))
    }

    /// A number directly before a thing limits it.
    pub(super) fn number_of_things(&mut self, table: usize) -> Result<(), Unclear> {
        let Some((number, at)) = self.number.take() else { return Ok(()) };
        let between = &self.pieces[at + 1..self.at];
        let of = between.first().is_some_and(|piece| piece.chunk == Chunk::Op(Op::Piece));
        let fits = |chunk: &Chunk| match chunk {
            Chunk::Named(_) => true,
            Chunk::Op(Op::Of) => of,
            Chunk::Op(op) => matches!(
                op,
                Op::Piece | Op::Filler | Op::Extreme(_) | Op::ExtremeOf(..) | Op::Most(_) | Op::Distinct
            ),
            _ => false,
        };
        if !between.iter().all(|piece| fits(&piece.chunk)) {
            return Err(Unclear::Word(self.pieces[at].text.clone()));
        }
        self.meaning.limited = Some(table);
        self.limit(number)
    }
}

/// Further numbers, and the position of their last piece.
#[derive(Clone, Debug, PartialEq)]
enum More {
    None,
    To(f64, usize),
    Also(Vec<f64>, usize),
}
