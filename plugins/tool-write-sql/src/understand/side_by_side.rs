//! Numbers of different tables that one question asks for: `How many customers and products are there?`

use std::ops::Range;

use super::Read;
use super::link::{Chunk, Piece};
use super::meaning::{Filter, Meaning, Measure, Test};
use super::names::Named;
use crate::plan::query::{Expr, Query};
use crate::schema::{Kind, Place, Schema};
use crate::words::phrases::Op;

/// The most numbers side by side.
pub const NUMBERS_MAX: usize = 5;
/// Words for one number of several things, and not for a number of each.
const SUMS: [&str; 6] = ["sum", "total number", "combined", "altogether", "总数", "之和"];

/// One of the numbers.
struct Number {
    /// The places of the pieces before its thing: `how many`, `total`.
    leads: Range<usize>,
    /// The places of its thing, and of what counts it: `订单数`.
    thing: Range<usize>,
    /// The place after the words that end it: `do we have`.
    end: usize,
}

impl Read {
    /// A question for each of the numbers, with the days and conditions that are said of all. Empty without two numbers.
    pub fn side_by_side(&self, schema: &Schema) -> Vec<Read> {
        let numbers = self.numbers();
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return Vec::new() };
        let text = self.pieces.iter().map(|piece| piece.text.to_lowercase()).collect::<Vec<_>>().join(" ");
        if !(2..=NUMBERS_MAX).contains(&numbers.len()) || SUMS.iter().any(|sum| text.contains(sum)) {
            return Vec::new();
        }
        let head = &self.pieces[..first.leads.start];
        // `cancelled orders and customers`: of the orders, or of both.
        if head.last().is_some_and(|piece| !matches!(piece.chunk, Chunk::Op(_) | Chunk::Range(_))) {
            return Vec::new();
        }
        let between = numbers.iter().flat_map(|number| &self.pieces[number.thing.end..number.end]);
        let days: Vec<Piece> =
            between.filter(|piece| matches!(piece.chunk, Chunk::Range(_))).cloned().collect();
        let tail = &self.pieces[last.end..];
        let all_days =
            head.iter().chain(&days).chain(tail).filter(|piece| matches!(piece.chunk, Chunk::Range(_)));
        if !days.is_empty() && all_days.count() > 1 {
            return Vec::new();
        }
        let has_number =
            numbers.iter().any(|number| self.is_counted(number) || self.is_amount(number, schema));
        let of = |number: &Number| {
            let own = &self.pieces[number.leads.clone()];
            let says = own.iter().any(|piece| !matches!(piece.chunk, Chunk::Op(Op::Filler | Op::Of)));
            let is_alike = self.is_amount(number, schema) == self.is_amount(first, schema)
                && self.pieces[number.thing.start].counts.is_none();
            let leads = match (says, is_alike) {
                (true, _) => own,
                (false, true) => &self.pieces[first.leads.clone()],
                (false, false) => &[],
            };
            // `revenue, orders and new customers`: how many of these.
            let is_listed = !self.is_amount(number, schema)
                && !self.is_counted(number)
                && !leads.iter().any(makes_number);
            let count =
                if has_number && is_listed { vec![Piece::of(Chunk::Op(Op::Count))] } else { Vec::new() };
            let thing = &self.pieces[number.thing.clone()];
            Read { pieces: [head, &count, leads, thing, &days, tail].concat(), repaired: Vec::new() }
        };
        numbers.iter().map(of).collect()
    }

    /// Whether a query shows only a number of the thing that this one of the numbers names.
    pub fn is_of_number(&self, query: &Query, number: usize) -> bool {
        let Some(Number { thing, .. }) = self.numbers().into_iter().nth(number) else { return false };
        let piece = &self.pieces[thing.start];
        let Chunk::Named(named) = &piece.chunk else { return false };
        let [column] = &query.columns[..] else { return false };
        let counts = |table: usize| named.contains(&Named::Table(table)) || piece.counts == Some(table);
        let is_field = |place: Place| {
            named.iter().any(|named| matches!(named, Named::Field(known, _) if *known == place))
        };
        match column.expr {
            Expr::Rows => counts(query.from),
            Expr::Different(place) | Expr::Made(_, place) => is_field(place) || counts(place.table),
            _ => false,
        }
    }

    /// Whether a message names a number of its own, or one of these: `only the orders`.
    pub fn names_number(&self, schema: &Schema, measures: &[Measure]) -> bool {
        let after_group = |at: usize| {
            at > 0 && matches!(self.pieces[at - 1].chunk, Chunk::Op(Op::By | Op::Each | Op::Order))
        };
        let is_one = |piece: &Piece| {
            let Chunk::Named(named) = &piece.chunk else { return false };
            let table = named.iter().find_map(|named| match named {
                Named::Table(table) => Some(*table),
                _ => None,
            });
            match table {
                Some(table) => measures.contains(&Measure::Count(table)),
                None => piece.counts.is_some() || has_number_field(named, schema),
            }
        };
        (0..self.pieces.len()).any(|at| is_one(&self.pieces[at]) && !after_group(at))
    }

    /// Whether the words of a group are in it: `by city`, `per day`.
    pub fn says_groups(&self) -> bool {
        let is_group = |op: Op| {
            matches!(
                op,
                Op::By | Op::Each | Op::Each1(_) | Op::Unit(_) | Op::Cycle(..) | Op::AverageEach | Op::Order
            )
        };
        self.pieces.iter().any(|piece| matches!(piece.chunk, Chunk::Op(op) if is_group(op)))
    }

    /// Whether the first thing of the list is a number: `customers and number of orders` lists the customers.
    pub fn begins_with_number(&self, schema: &Schema) -> bool {
        let numbers = self.numbers();
        numbers.first().is_some_and(|first| self.is_counted(first) || self.is_amount(first, schema))
    }

    fn is_counted(&self, number: &Number) -> bool {
        let is_counted = self.pieces[number.thing.start].counts.is_some() || number.thing.len() > 1;
        is_counted || self.pieces[number.leads.clone()].iter().any(makes_number)
    }

    /// Whether it names a field of numbers, and no table.
    fn is_amount(&self, number: &Number, schema: &Schema) -> bool {
        let thing = &self.pieces[number.thing.start];
        let Chunk::Named(named) = &thing.chunk else { return false };
        let is_table = |named: &Named| matches!(named, Named::Table(_));
        thing.counts.is_none() && has_number_field(named, schema) && !named.iter().any(is_table)
    }

    /// The numbers that the words list, one after the other.
    fn numbers(&self) -> Vec<Number> {
        let joints = |at: usize| {
            let rest = self.pieces.get(at..).unwrap_or_default().iter();
            rest.take_while(|piece| matches!(piece.chunk, Chunk::Mark | Chunk::Op(Op::And))).count()
        };
        let next = |number: &Number| {
            let joints = joints(number.end);
            self.number(number.end + joints).filter(|_| joints > 0)
        };
        let first = (0..self.pieces.len()).filter_map(|at| self.number(at)).find(|one| next(one).is_some());
        let mut numbers: Vec<Number> = std::iter::successors(first, next).collect();
        // What follows the last one is said of all.
        if let Some(last) = numbers.last_mut() {
            last.end = last.thing.end;
        }
        numbers
    }

    /// The number whose words begin here.
    fn number(&self, at: usize) -> Option<Number> {
        let leads = self.count(at, |op| {
            matches!(op, Op::Filler | Op::Of | Op::Count | Op::Make(_) | Op::AmountOf | Op::New)
        });
        let thing = at + leads;
        let is_thing = self.pieces.get(thing).is_some_and(|piece| {
            let Chunk::Named(named) = &piece.chunk else { return false };
            piece.counts.is_some() || !piece.chunk.may_be_value() && !named.is_empty()
        });
        let counts = self.count(thing + 1, |op| matches!(op, Op::CountBefore | Op::MakeBefore(_)));
        let end = thing + 1 + counts;
        let more = self.pieces.get(end..).unwrap_or_default().iter().take_while(|piece| {
            matches!(piece.chunk, Chunk::Op(Op::Filler | Op::Is) | Chunk::Range(_)) && piece.text != "?"
        });
        is_thing.then(|| Number { leads: at..thing, thing: thing..end, end: end + more.count() })
    }

    /// How many operations of a kind stand here, one after the other.
    fn count(&self, at: usize, fits: impl Fn(Op) -> bool) -> usize {
        let here = self.pieces.get(at..).unwrap_or_default().iter();
        here.take_while(|piece| matches!(piece.chunk, Chunk::Op(op) if fits(op))).count()
    }
}

/// Whether the same is said of two numbers beside their days, and of what their tables have or refer to only once.
pub fn say_the_same(one: (&Meaning, &Query), other: (&Meaning, &Query)) -> bool {
    let is_plain = |query: &Query| {
        query.present.is_empty() && query.absent.is_none() && query.joins.iter().all(|step| step.up)
    };
    let conditions = |meaning: &Meaning| -> Vec<Filter> {
        let filters = meaning.filters.iter();
        filters.filter(|filter| !matches!(filter.test, Test::Days(_))).cloned().collect()
    };
    is_plain(one.1) && is_plain(other.1) && conditions(one.0) == conditions(other.0)
}

/// Whether one of the things of a name is a field of numbers.
fn has_number_field(named: &[Named], schema: &Schema) -> bool {
    let is_number = |named: &Named| match named {
        Named::Field(place, _) => schema.field(*place).kind() == Kind::Number,
        _ => false,
    };
    named.iter().any(is_number)
}

/// Whether a number is made of what follows.
fn makes_number(piece: &Piece) -> bool {
    matches!(piece.chunk, Chunk::Op(Op::Count | Op::Make(_) | Op::AmountOf))
}
