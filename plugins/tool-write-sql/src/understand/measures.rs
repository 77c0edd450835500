//! How the reader handles requested numbers: counts, sums, averages.

use super::link::{Chunk, Piece};
use super::meaning::{By, Measure, Test, Unclear};
use super::names::Named;
use super::read::{Last, Reader, Waiting};
use crate::schema::Place;
use crate::words::concept;
use crate::words::english::name_words;
use crate::words::phrases::{Compare, Func, Op};
use crate::words::short::words_of;

impl Reader<'_> {
    pub(super) fn make(&mut self, func: Func) -> Result<(), Unclear> {
        let follows_than = self.at.checked_sub(1).is_some_and(|at| self.pieces[at].text.ends_with("than"));
        match self.waiting.last().cloned() {
            Some(Waiting::Compare(compare)) if func != Func::Sum => {
                self.waiting.pop();
                return self.versus(compare, func);
            }
            // `more staff than the least of those …`
            _ if follows_than => return self.unclear(),
            _ => {}
        }
        if let Some(Waiting::Make(funcs)) = self.waiting.last_mut() {
            funcs.push(func);
        } else {
            self.waiting.push(Waiting::Make(vec![func]));
        }
        Ok(())
    }

    /// `above the average`: of the field before it, or of the next one.
    fn versus(&mut self, compare: Compare, func: Func) -> Result<(), Unclear> {
        match self.last {
            Last::Field(place)
                if self.schema.field(place).is_number() && self.meaning.items.last() == Some(&place) =>
            {
                self.meaning.items.pop();
                self.against_all(place, compare, func)
            }
            Last::Measure(_) => self.unclear(),
            _ => {
                self.waiting.push(Waiting::Versus(compare, func));
                Ok(())
            }
        }
    }

    /// Compares a field with this of all rows. What is said of the table later may be said of those rows: refused.
    pub(super) fn against_all(&mut self, place: Place, compare: Compare, func: Func) -> Result<(), Unclear> {
        let is_said = |named: &Named| matches!(named, Named::Value(other, _) | Named::Verb(other) if other.table == place.table);
        let narrows = |piece: &Piece| match &piece.chunk {
            Chunk::Named(named) => named.iter().any(is_said),
            Chunk::Range(_) | Chunk::Number(_) => true,
            _ => false,
        };
        // `above the average of their category`
        let rest: Vec<&Chunk> = self.pieces[self.at + 1..]
            .iter()
            .map(|piece| &piece.chunk)
            .filter(|chunk| !matches!(chunk, Chunk::Op(Op::Filler)))
            .collect();
        // `the average population of cities` is that of all of them.
        let is_own = |named: &[Named]| named.contains(&Named::Table(place.table));
        let of_group = rest.windows(2).any(|pair| match pair {
            [Chunk::Op(Op::Of), Chunk::Named(named)] => !is_own(named),
            [Chunk::Op(Op::Each), Chunk::Named(_)] => true,
            _ => false,
        });
        if of_group || self.pieces[self.at + 1..].iter().any(narrows) {
            return self.unclear();
        }
        self.filter(place, Test::Versus(compare, func))
    }

    /// Whether `people` are what a field of populations counts.
    pub(super) fn counts_people(&self) -> bool {
        matches!(self.pieces[self.at].text.to_lowercase().as_str(), "people" | "inhabitants" | "residents")
            && matches!(self.waiting.last(), Some(Waiting::Count | Waiting::Most(_)))
    }

    pub(super) fn people(&mut self) -> Result<(), Unclear> {
        let Ok(place) = self.field_called(&["population"]) else {
            return match self.waiting.pop() {
                Some(Waiting::Count) => {
                    self.waiting.push(Waiting::People);
                    Ok(())
                }
                _ => self.unclear(),
            };
        };
        match self.waiting.pop() {
            Some(Waiting::Most(most)) => self.rank(By::Field(place), most),
            _ => self.measure(Measure::Made(Func::Sum, place)),
        }
    }

    /// `countries where people speak French`: the subject of a verb.
    pub(super) fn are_people_who(&self) -> bool {
        self.pieces[self.at].text.eq_ignore_ascii_case("people")
            && matches!(self.next_piece(), Some(Chunk::Op(Op::Link)))
    }

    /// `how many orders`; in Chinese the counted thing may come first: `失败的执行有多少次`.
    pub(super) fn count(&mut self) -> Result<(), Unclear> {
        // `the numbers of the policies`, which have one
        if let Some(place) = self.number_called() {
            return self.item(place);
        }
        let before = self.is_chinese() && !matches!(self.next(), Some(Chunk::Named(_)));
        let times = self.pieces[self.at].text.ends_with('次');
        match self.meaning.tables.last() {
            // `每天发布多少次` counts events, not their subjects.
            Some(_) if before && times && !self.meaning.verbs.is_empty() => match self.meaning.verbs[..] {
                [only] => self.measure(Measure::Count(only.table)),
                _ => self.unclear(),
            },
            // `运行了多少次工作流`
            Some(_) | None if self.is_chinese() && times && self.meaning.verbs.len() == 1 => {
                self.measure(Measure::Count(self.meaning.verbs[0].table))
            }
            Some(table) if self.is_chinese() && times && !self.is_event_next(*table) => {
                self.measure(Measure::Count(*table))
            }
            Some(table) if before => self.measure(Measure::Count(*table)),
            _ => {
                self.waiting.push(Waiting::Count);
                Ok(())
            }
        }
    }

    /// The field of numbers by which the rows of the next table are called.
    fn number_called(&self) -> Option<Place> {
        const ENDS: [&str; 4] = ["no", "number", "nbr", "num"];
        if !matches!(self.pieces[self.at].text.to_lowercase().as_str(), "numbers of" | "the numbers of") {
            return None;
        }
        let named = self.pieces[self.at + 1..].iter().find_map(|piece| match &piece.chunk {
            Chunk::Named(named) => Some(named),
            _ => None,
        })?;
        let table = named.iter().find_map(|named| match named {
            Named::Table(table) => Some(*table),
            _ => None,
        })?;
        let is_number = |place: &Place| {
            let last = name_words(&self.schema.field(*place).name).pop().unwrap_or_default();
            ENDS.contains(&last.as_str()) && !self.links.is_child(*place)
        };
        let mut numbers = self.schema.places(table).filter(is_number);
        numbers.next().filter(|_| numbers.next().is_none())
    }

    /// `任务有多少次执行`: what happens to the rows of a table follows.
    fn is_event_next(&self, table: usize) -> bool {
        let is_event = |named: &Named| match named {
            Named::Table(other) => *other != table && self.steps_up(*other, table).is_some(),
            _ => false,
        };
        matches!(self.next(), Some(Chunk::Named(named)) if named.iter().any(is_event))
    }

    /// `订单数`, `失败次数`, `发布次数`.
    pub(super) fn count_before(&mut self) -> Result<(), Unclear> {
        // `订单数和退款数`: the condition is of the latter only.
        let is_joint = |piece: &Piece| matches!(piece.chunk, Chunk::Op(Op::And) | Chunk::Mark);
        if self.last == Last::Value
            && !self.meaning.measures.is_empty()
            && self.pieces[..self.at].iter().any(is_joint)
        {
            return self.unclear();
        }
        let measure = match self.last {
            Last::Table(table) => Measure::Count(table),
            Last::Field(place)
                if !self.schema.field(place).is_number() && self.meaning.items.last() == Some(&place) =>
            {
                self.meaning.items.pop();
                Measure::Different(place)
            }
            Last::Value => match self.meaning.filters.last() {
                Some(filter) => Measure::Count(filter.place.table),
                None => return self.unclear(),
            },
            _ => return self.unclear(),
        };
        self.measure(measure)
    }

    pub(super) fn make_before(&mut self, func: Func) -> Result<(), Unclear> {
        match self.last {
            Last::Field(place)
                if self.schema.field(place).is_number() && self.meaning.items.last() == Some(&place) =>
            {
                self.meaning.items.pop();
                self.measure(Measure::Made(func, place))
            }
            // `订单总额` is an amount, and no number of orders.
            Last::Table(table) if self.pieces[self.at].text == "总额" => {
                let place = self.amount_of(table)?;
                self.measure(Measure::Made(Func::Sum, place))
            }
            Last::Table(table) if func == Func::Sum => self.measure(Measure::Count(table)),
            _ => self.unclear(),
        }
    }

    /// The only amount of a table.
    pub(super) fn amount_of(&self, table: usize) -> Result<Place, Unclear> {
        let is_amount = |place: &Place| {
            let field = self.schema.field(*place);
            let words = words_of(&field.name);
            field.is_number() && words.last().is_some_and(|last| concept(last) == "amount")
        };
        let mut amounts = self.schema.places(table).filter(is_amount);
        match (amounts.next(), amounts.next()) {
            (Some(only), None) => Ok(only),
            _ => self.unclear(),
        }
    }

    /// A waiting operation takes a measure, or else it is part of the answer.
    pub(super) fn measure(&mut self, measure: Measure) -> Result<(), Unclear> {
        // `average GMV`: a sum, of which an average would be one of single orders.
        let says_sum = self.pieces.get(self.at).is_some_and(|piece| piece.text.eq_ignore_ascii_case("gmv"));
        if says_sum && !matches!(measure, Measure::Made(Func::Sum, _)) {
            return self.unclear();
        }
        // `500元以上的订单数`
        if let Measure::Count(table) = measure
            && self.says_money()
            && let Some(Waiting::Compared(compare, number)) =
                self.take_last(|waiting| matches!(waiting, Waiting::Compared(..)))
        {
            let place = self.amount_of(table)?;
            self.filter(place, Test::Number(compare, number))?;
        }
        self.last = Last::Measure(measure);
        if let Measure::Different(place) | Measure::Made(_, place) = measure {
            self.recent = Some((place, self.at));
        }
        let ranks =
            |waiting: &Waiting| matches!(waiting, Waiting::Extreme(_) | Waiting::By | Waiting::Order(_));
        match self.take(ranks) {
            Some(Waiting::Extreme(greatest)) => return self.rank(By::Measure(measure), greatest),
            Some(Waiting::By | Waiting::Order(None)) if self.meaning.rank.is_none() => {
                return self.ordered(By::Measure(measure));
            }
            Some(Waiting::Order(Some(descending))) => {
                self.meaning.order = Some((By::Measure(measure), descending));
                return Ok(());
            }
            Some(_) => return self.unclear(),
            None => {}
        }
        if self.meaning.measures.contains(&measure) {
            self.repeated = Some(measure);
        } else {
            self.meaning.measures.push(measure);
        }
        Ok(())
    }

    /// A measure of a comparison or ranking is shown only if it was also named before.
    pub(super) fn not_shown(&mut self, measure: Measure) {
        if self.repeated != Some(measure) {
            self.meaning.measures.retain(|known| *known != measure);
        }
    }
}
