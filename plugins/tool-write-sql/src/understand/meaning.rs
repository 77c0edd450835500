//! The meaning of a question, independent of SQL.

use crate::calendar::{Cycle, Range, Unit};
use crate::schema::Place;
use crate::words::phrases::{Chart, Compare, Earlier, Func, Part};

/// A requested number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The number of a table's rows.
    Count(usize),
    /// The number of a field's distinct values.
    Different(Place),
    Made(Func, Place),
    /// The percentage of rows with the value of [`Meaning::share`].
    Share(Place),
    /// The percentage of a field's sum that those rows have.
    Part(Place),
}

/// The days with which those of the question are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Against {
    Earlier(Earlier),
    Days(Range),
    /// The question's days are the earlier ones: compared with the unit that contains today.
    Now,
}

/// What happened to the counted things, how often before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    First,
    /// At least once before.
    Again,
    /// More than once, as a percentage of those to whom it happened.
    Repeated,
}

impl Measure {
    /// Whether the numbers of several periods add up.
    pub fn adds_up(self) -> bool {
        matches!(self, Measure::Count(_) | Measure::Made(Func::Sum, _))
    }

    pub fn table(self) -> usize {
        match self {
            Measure::Count(table) => table,
            Measure::Different(place)
            | Measure::Made(_, place)
            | Measure::Share(place)
            | Measure::Part(place) => place.table,
        }
    }
}

/// A grouping of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// One group per row of a table.
    Table(usize),
    Field(Place),
}

impl Group {
    pub fn table(self) -> usize {
        match self {
            Group::Table(table) => table,
            Group::Field(place) => place.table,
        }
    }
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    pub place: Place,
    pub test: Test,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// One of these values; false: none of them.
    Among(Vec<String>, bool),
    Number(Compare, f64),
    /// One of these numbers.
    Numbers(Vec<f64>),
    Between(f64, f64),
    Days(Range),
    /// On one of these weekdays: Monday is 1.
    Weekdays(Vec<u8>),
    /// One of these at least.
    AnyOf(Vec<Test>),
    /// Has this text in it, begins or ends with it, ignoring case.
    Has(Part, String),
    /// Against this of all rows: `above the average`.
    Versus(Compare, Func),
    Present,
}

/// The criterion of a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Measure(Measure),
    Field(Place),
}

/// The meaning of a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meaning {
    /// Tables in the order of the question.
    pub tables: Vec<usize>,
    pub measures: Vec<Measure>,
    /// Fields to show.
    pub items: Vec<Place>,
    /// Whether the first of them precedes all numbers.
    pub item_leads: bool,
    pub groups: Vec<Group>,
    pub unit: Option<Unit>,
    /// A grouping by weekdays or hours.
    pub cycle: Option<Cycle>,
    /// The weekdays that count: Monday is 1.
    pub weekdays: &'static [u8],
    pub trend: bool,
    /// Whether it asks for the calendar unit that a ranking puts first.
    pub which: bool,
    /// `how many days had …`: only the number of the calendar units.
    pub counts_units: bool,
    pub filters: Vec<Filter>,
    pub range: Option<Range>,
    /// `but not in October`: days in which it must not have happened.
    pub never_in: Option<Range>,
    /// Tables that only say whose field follows: `task` of `task types`.
    pub owners: Vec<usize>,
    /// Time fields that a verb of the question names: one of them is meant.
    pub verbs: Vec<Place>,
    /// `were published`: counts events of the counted thing.
    pub passive: bool,
    /// The criterion, and whether the greatest comes first.
    pub rank: Option<(By, bool)>,
    pub limit: Option<u64>,
    /// The table that a number limits, if the number precedes it.
    pub limited: Option<usize>,
    /// `top`, `first`: needs a criterion.
    pub top: bool,
    /// `bottom`: the least come first.
    pub least: bool,
    /// `first`, which is not by what is usual.
    pub first: bool,
    /// `per`, and not `for each`: counts the preceding thing.
    pub per: bool,
    /// `each day`, `every day`: possibly on each of them.
    pub every: bool,
    /// The table whose rows are asked for, if it is not the first one.
    pub entity: Option<usize>,
    /// Fields whose value is negated before their table is named: `without cancelled orders`.
    pub turned: Vec<Place>,
    /// Fields whose values are joined by `and`.
    pub joined: Vec<Place>,
    /// Only a thing and a time are named: `orders last month`.
    pub bare: bool,
    /// The condition of a share.
    pub share: Option<Filter>,
    /// `ratio of app orders to web orders`: the condition of the latter.
    pub whole: Option<Filter>,
    /// `new customers`: the table, whose rows count by the time of their beginning.
    pub new: Option<usize>,
    /// Of each group's number, or of each calendar unit's, the average: `average orders per customer`, `日均订单数`.
    pub averages_groups: bool,
    /// `share of orders on weekends`: those of `weekdays` among all days.
    pub shares_weekdays: bool,
    /// `FY2027 by quarter`: quarters are those of fiscal years.
    pub fiscal: bool,
    /// `the second`: only this one of a ranking.
    pub place: Option<u64>,
    /// `商品有哪些类别`: asks for kinds, each once.
    pub asks_kinds: bool,
    /// `both`, and the number of fields to show before it: several values must follow, or two fields.
    pub both: Option<usize>,
    /// Measures of conditions and orders that are not part of the answer.
    pub hidden: Vec<Measure>,
    /// Whether the question asks for a list: `which`, a plural.
    pub listed: bool,
    /// `What is the year that had …`: asks for nothing else.
    pub says_what: bool,
    /// Whether a ranking without a number asks for a single row.
    pub one: bool,
    pub order: Option<(By, bool)>,
    pub having: Vec<(Measure, Compare, f64)>,
    pub different: bool,
    /// The table whose rows must not exist.
    pub without: Option<usize>,
    pub against: Option<Against>,
    /// `the month before`, of the days of an earlier question.
    pub earlier: Option<Earlier>,
    /// `in total`
    pub in_total: bool,
    /// How much more than before.
    pub growth: bool,
    pub cumulative: bool,
    /// Each number as a percentage of all together.
    pub of_total: bool,
    /// The field of which the most common value is asked for.
    pub common: Option<Place>,
    pub occasion: Option<Occasion>,
    pub chart: Option<Chart>,
}

/// Why a question has no meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// A word that fits nowhere.
    Word(String),
    /// Unknown words.
    Words(Vec<String>),
    /// An ambiguous word.
    Ambiguous(String),
    /// Known words in an unknown combination.
    Shape,
    /// These tables are not related.
    Apart(String, String),
    /// There is no time field.
    NoTime(String),
    /// `top 5` without a criterion.
    NoRank,
    /// Days without what to count or to add up in them.
    NoNumber,
    /// A comparison without the days that it compares.
    NoDays,
    /// A written date that no calendar has.
    NoDay(String),
    /// A message that changes the question before it, in a way that is not understood.
    Change(String),
    /// These data sources all have an answer.
    Sources(Vec<String>),
}
