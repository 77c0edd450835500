//! What a question asks, before anyone thinks of SQL.

use crate::calendar::{Range, Unit};
use crate::schema::Place;
use crate::words::phrases::{Compare, Func};

/// A number that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Rows of a table.
    Count(usize),
    /// Different values of a field.
    Different(Place),
    Made(Func, Place),
}

impl Measure {
    pub fn table(self) -> usize {
        match self {
            Measure::Count(table) => table,
            Measure::Different(place) | Measure::Made(_, place) => place.table,
        }
    }
}

/// What numbers are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// One for each row of a table.
    Table(usize),
    Field(Place),
}

/// What must hold.
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
    Present,
}

/// What a ranking goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Measure(Measure),
    Field(Place),
}

/// A meaning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meaning {
    /// Tables in the order in which they are named.
    pub tables: Vec<usize>,
    pub measures: Vec<Measure>,
    /// Fields to show.
    pub items: Vec<Place>,
    pub groups: Vec<Group>,
    pub unit: Option<Unit>,
    pub trend: bool,
    /// Which part of the calendar is asked for: the one that a ranking puts first.
    pub which: bool,
    pub filters: Vec<Filter>,
    pub range: Option<Range>,
    /// Time fields that a verb of the question names: one of them is meant.
    pub verbs: Vec<Place>,
    /// `were published`: it was done to what is counted, each time again.
    pub passive: bool,
    /// By what, and whether the greatest comes first.
    pub rank: Option<(By, bool)>,
    pub limit: Option<u64>,
    /// Of which table so many rows are wanted, where the number stands before it.
    pub limited: Option<usize>,
    /// `top`, `first`: by something.
    pub top: bool,
    /// `per`, and not `for each`: what stands before is counted.
    pub per: bool,
    /// `each day`, `every day`: perhaps on each of them.
    pub every: bool,
    /// The table whose rows are asked for, where it is not the first one.
    pub entity: Option<usize>,
    /// Fields whose value is excluded before their table is named: `without cancelled orders`.
    pub turned: Vec<Place>,
    /// Fields whose values are joined by `and`.
    pub joined: Vec<Place>,
    /// Whether the question is for a list: `which`, a plural.
    pub listed: bool,
    /// Whether a ranking without a number asks for one thing.
    pub one: bool,
    pub order: Option<(By, bool)>,
    pub having: Vec<(Measure, Compare, f64)>,
    pub different: bool,
    /// Rows of this table must not exist.
    pub without: Option<usize>,
}

/// Why there is no meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// A word that names nothing here.
    Word(String),
    /// A word that names several things.
    Ambiguous(String),
    /// Words that are understood, but not what is asked of them.
    Shape,
    /// These tables do not hang together.
    Apart(String, String),
    /// No time to go by.
    NoTime(String),
    /// `top 5`, and not by what.
    NoRank,
    /// These data sources all have an answer.
    Sources(Vec<String>),
}
