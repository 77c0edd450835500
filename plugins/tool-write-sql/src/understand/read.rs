//! Reads the pieces of a question from left to right. Each is used for something or the question is not
//! understood: nothing is passed over but words that say nothing.

use super::choose::Focus;
use super::link::{Chunk, Piece};
use super::meaning::{By, Filter, Meaning, Measure, Test, Unclear};
use super::names::{Fit, Named};
use crate::schema::{Kind, Place, Schema};
use crate::words::phrases::{Compare, Func, Op};

/// The largest number of rows that can be asked for.
const LIMIT_MAX: f64 = 1_000.0;

/// Ends of words that are done by someone.
const PARTICIPLES: &[&str] = &["ed", "ought", "old", "ken", "ven"];

/// What waits for the next thing.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Waiting {
    Count,
    Make(Vec<Func>),
    Each,
    By,
    Order(Option<bool>),
    Top,
    Most(bool),
    Extreme(bool),
    Compare(Compare),
    /// A comparison with its number, for the field or table that follows.
    Compared(Compare, f64),
    Days(Compare),
    Between(Place, Option<f64>),
}

/// What was read last, for words that come after what they are about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Last {
    Nothing,
    Table(usize),
    Field(Place),
    Measure(Measure),
    Value,
    Group,
}

pub(super) struct Reader<'a> {
    pub schema: &'a Schema,
    pub pieces: &'a [Piece],
    pub focus: Focus,
    pub at: usize,
    pub meaning: Meaning,
    pub waiting: Vec<Waiting>,
    pub last: Last,
    /// Whether the last value, or field to compare, was joined by `or`.
    or: bool,
    not: bool,
    pub ascending: Option<bool>,
    /// A number that stands before what it counts: `5 workflows`.
    pub number: Option<f64>,
    /// Whether the things that are asked for stand in the plural.
    pub several: bool,
}

/// What pieces mean.
pub fn meaning(schema: &Schema, pieces: &[Piece]) -> Result<Meaning, Unclear> {
    let focus = Focus::of(pieces);
    let mut reader = Reader {
        schema,
        pieces,
        focus,
        at: 0,
        meaning: Meaning::default(),
        waiting: Vec::new(),
        last: Last::Nothing,
        or: false,
        not: false,
        ascending: None,
        number: None,
        several: false,
    };
    while reader.at < pieces.len() {
        reader.piece()?;
        reader.at += 1;
    }
    reader.finish()
}

impl Reader<'_> {
    fn piece(&mut self) -> Result<(), Unclear> {
        let piece = &self.pieces[self.at];
        match &piece.chunk {
            Chunk::Op(op) => self.op(*op),
            Chunk::Named(named) => self.named(named),
            Chunk::Number(number) => self.number(*number),
            Chunk::Range(range) => self.range(*range),
            Chunk::Quoted => self.quoted(),
            Chunk::Mark => Ok(()),
            Chunk::Unknown => Err(Unclear::Word(piece.text.clone())),
        }
    }

    fn op(&mut self, op: Op) -> Result<(), Unclear> {
        match op {
            Op::Filler | Op::Of | Op::Is | Op::All => {}
            Op::Which => self.several |= self.is_chinese(),
            Op::One => self.meaning.limit = self.meaning.limit.or(Some(1)),
            Op::Count => self.count()?,
            Op::CountBefore => self.count_before()?,
            Op::Make(func) => self.make(func),
            Op::MakeBefore(func) => self.make_before(func)?,
            Op::Distinct => self.meaning.different = true,
            Op::Top => self.top()?,
            Op::Most(most) => self.most(most)?,
            Op::Extreme(greatest) => self.extreme(greatest)?,
            Op::ExtremeOf(greatest, names) => {
                let place = self.field_called(names)?;
                self.rank(By::Field(place), greatest)?;
            }
            Op::Each => self.waiting.push(Waiting::Each),
            // `owned by` says who did it, not what to group by.
            Op::By if self.follows_participle() => {}
            Op::By => self.waiting.push(Waiting::By),
            Op::Order => self.order_here()?,
            Op::Ascending => self.direction(false)?,
            Op::Descending => self.direction(true)?,
            Op::Compare(compare) => self.waiting.push(Waiting::Compare(compare)),
            Op::CompareOf(compare, names) => {
                let place = self.field_called(names)?;
                self.last = Last::Field(place);
                self.waiting.push(Waiting::Compare(compare));
                self.meaning.items.push(place);
            }
            Op::CompareBefore(compare) => self.compare_before(compare)?,
            Op::After => self.days(Compare::More)?,
            Op::Before => self.days(Compare::Less)?,
            Op::Since => self.days(Compare::AtLeast)?,
            Op::Between => self.between()?,
            Op::Not => self.not = true,
            Op::And => {}
            Op::Or => self.or = true,
            Op::Each1(unit) => self.unit(unit)?,
            Op::Unit(unit) => {
                let each = self.take(|waiting| matches!(waiting, Waiting::Each | Waiting::By));
                if each.is_none() {
                    return self.unclear();
                }
                self.unit(unit)?;
            }
            Op::Trend => self.meaning.trend = true,
        }
        Ok(())
    }

    fn follows_participle(&self) -> bool {
        let before = self.at.checked_sub(1).map(|at| &self.pieces[at]);
        before.is_some_and(|piece| {
            piece.chunk == Chunk::Op(Op::Filler) && PARTICIPLES.iter().any(|end| piece.text.ends_with(end))
        })
    }

    fn unit(&mut self, unit: crate::calendar::Unit) -> Result<(), Unclear> {
        if self.meaning.unit.replace(unit).is_some_and(|before| before != unit) {
            return Err(Unclear::Shape);
        }
        Ok(())
    }

    pub(super) fn is_chinese(&self) -> bool {
        self.pieces[self.at].text.chars().any(crate::words::chinese::is_han)
    }

    pub(super) fn unclear<T>(&self) -> Result<T, Unclear> {
        let piece = self.pieces.get(self.at);
        Err(piece.map_or(Unclear::Shape, |piece| Unclear::Word(piece.text.clone())))
    }

    /// The next piece that says something, and how far it is.
    pub(super) fn next(&self) -> Option<&Chunk> {
        let rest = self.pieces.get(self.at + 1..)?;
        rest.iter()
            .map(|piece| &piece.chunk)
            .find(|chunk| !matches!(chunk, Chunk::Op(Op::Filler | Op::Of | Op::Is)))
    }

    pub(super) fn next_piece(&self) -> Option<&Chunk> {
        self.pieces.get(self.at + 1).map(|piece| &piece.chunk)
    }

    pub(super) fn take(&mut self, wanted: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
        let place = self.waiting.iter().rposition(wanted)?;
        Some(self.waiting.remove(place))
    }

    /// Only the latest, so that `average number of` is not taken for a count.
    pub(super) fn take_last(&mut self, wanted: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
        if self.waiting.last().is_some_and(wanted) { self.waiting.pop() } else { None }
    }

    fn make(&mut self, func: Func) {
        if let Some(Waiting::Make(funcs)) = self.waiting.last_mut() {
            funcs.push(func);
        } else {
            self.waiting.push(Waiting::Make(vec![func]));
        }
    }

    /// `how many orders`; in Chinese what is counted may stand before: `失败的执行有多少次`.
    fn count(&mut self) -> Result<(), Unclear> {
        let before = self.is_chinese() && !matches!(self.next(), Some(Chunk::Named(_)));
        let times = self.pieces[self.at].text.ends_with('次');
        match self.meaning.tables.last() {
            // `每天发布多少次` counts what happened, not what it happened to.
            Some(_) if before && times && !self.meaning.verbs.is_empty() => match self.meaning.verbs[..] {
                [only] => self.measure(Measure::Count(only.table)),
                _ => self.unclear(),
            },
            Some(table) if before => self.measure(Measure::Count(*table)),
            _ => {
                self.waiting.push(Waiting::Count);
                Ok(())
            }
        }
    }

    /// `订单数`, `失败次数`, `发布次数`.
    fn count_before(&mut self) -> Result<(), Unclear> {
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

    fn make_before(&mut self, func: Func) -> Result<(), Unclear> {
        match self.last {
            Last::Field(place)
                if self.schema.field(place).is_number() && self.meaning.items.last() == Some(&place) =>
            {
                self.meaning.items.pop();
                self.measure(Measure::Made(func, place))
            }
            Last::Table(table) if func == Func::Sum => self.measure(Measure::Count(table)),
            _ => self.unclear(),
        }
    }

    /// A measure goes to what waits for one, else into the answer.
    pub(super) fn measure(&mut self, measure: Measure) -> Result<(), Unclear> {
        self.last = Last::Measure(measure);
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
        if !self.meaning.measures.contains(&measure) {
            self.meaning.measures.push(measure);
        }
        Ok(())
    }

    pub(super) fn places_in_focus(&self) -> impl Iterator<Item = Place> {
        (0..self.schema.tables.len())
            .filter(|table| self.focus.has(*table))
            .flat_map(|table| self.schema.places(table))
    }

    fn field_called(&self, names: &[&str]) -> Result<Place, Unclear> {
        let fits = |place: &Place| {
            let field = self.schema.field(*place);
            let words = crate::words::english::name_words(&field.name);
            if names.is_empty() {
                field.kind() == Kind::Date
            } else {
                words.last().is_some_and(|last| names.contains(&last.as_str()))
            }
        };
        let mut found = self.places_in_focus().filter(fits);
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only),
            (Some(_), Some(_)) => Err(Unclear::Ambiguous(self.pieces[self.at].text.clone())),
            _ => self.unclear(),
        }
    }

    pub(super) fn limit(&mut self, number: f64) -> Result<(), Unclear> {
        if number.fract() != 0.0 || !(1.0..=LIMIT_MAX).contains(&number) {
            return self.unclear();
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and within LIMIT_MAX"
        )]
        let limit = number as u64;
        self.meaning.limit = Some(limit);
        Ok(())
    }

    /// A number before a thing says how many of it are wanted.
    pub(super) fn number_of_things(&mut self) -> Result<(), Unclear> {
        match self.number.take() {
            Some(number) => self.limit(number),
            None => Ok(()),
        }
    }

    /// A value in quotation marks, for the field right before it.
    fn quoted(&mut self) -> Result<(), Unclear> {
        let text = self.pieces[self.at].text.clone();
        match self.last {
            Last::Field(place)
                if self.schema.field(place).kind() == Kind::Text
                    && self.meaning.items.last() == Some(&place) =>
            {
                self.meaning.items.pop();
                self.value(place, text)
            }
            _ => self.unclear(),
        }
    }

    pub(super) fn filter(&mut self, place: Place, test: Test) -> Result<(), Unclear> {
        if std::mem::take(&mut self.not) || std::mem::take(&mut self.or) {
            return self.unclear();
        }
        self.meaning.filters.push(Filter { place, test });
        self.last = Last::Nothing;
        Ok(())
    }

    /// One more value that a field must have, or must not.
    pub(super) fn value(&mut self, place: Place, value: String) -> Result<(), Unclear> {
        let (or, not) = (std::mem::take(&mut self.or), std::mem::take(&mut self.not));
        self.last = Last::Value;
        let known = self.meaning.filters.iter_mut().rfind(|filter| filter.place == place);
        match known.map(|filter| &mut filter.test) {
            Some(Test::Among(values, among)) if or && *among && !not => values.push(value),
            // A field cannot have two values at once, whatever `and` was meant to say.
            Some(_) => return self.unclear(),
            None if or => return self.unclear(),
            None => self.meaning.filters.push(Filter { place, test: Test::Among(vec![value], !not) }),
        }
        Ok(())
    }

    pub(super) fn takes_not(&mut self) -> bool {
        std::mem::take(&mut self.not)
    }

    fn finish(mut self) -> Result<Meaning, Unclear> {
        if let Some(Waiting::Make(funcs)) = self.take_last(|waiting| matches!(waiting, Waiting::Make(_))) {
            // `total orders` counts; every other function needs a field.
            let [Func::Sum] = funcs[..] else { return Err(Unclear::Shape) };
            let (Some(&table), true) = (self.meaning.tables.first(), self.meaning.measures.is_empty()) else {
                return Err(Unclear::Shape);
            };
            self.meaning.measures.push(Measure::Count(table));
        }
        if !self.waiting.is_empty() || self.not || self.or || self.number.is_some() {
            return Err(Unclear::Shape);
        }
        self.meaning.one = !self.several;
        Ok(self.meaning)
    }
}

/// The fits of a field that are more than the end of its name.
pub(super) fn names_field(named: &[Named], place: Place) -> bool {
    named
        .iter()
        .any(|named| matches!(named, Named::Field(field, fit) if *field == place && *fit != Fit::Part))
}
