//! A query as data: [`super::plan`] decides it, [`crate::sql`] writes it down.

use super::ROWS_MAX;
use crate::calendar::{Range, Unit};
use crate::joins::Step;
use crate::schema::Place;
use crate::understand::meaning::Filter;
use crate::words::phrases::{Compare, Func};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expr {
    Field(Place),
    Rows,
    /// Rows that have a value there.
    Present(Place),
    Different(Place),
    Made(Func, Place),
    /// The first day of the part of the calendar that a time is in.
    Start(Unit, Place),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub expr: Expr,
    pub alias: String,
    pub measure: bool,
}

/// Rows that must not be there.
#[derive(Clone, Debug, PartialEq)]
pub struct Absent {
    pub key: Place,
    /// The field that refers to the key, and the steps from its table on.
    pub child: Place,
    pub steps: Vec<Step>,
    pub conditions: Vec<Filter>,
}

impl Expr {
    /// Whether its values over several groups add up to its value over all of them.
    pub fn adds_up(self) -> bool {
        matches!(self, Expr::Rows | Expr::Present(_) | Expr::Made(Func::Sum, _))
    }
}

/// What the answer looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Value,
    Series,
    Ranking,
    Table,
}

impl Shape {
    pub fn word(self) -> &'static str {
        match self {
            Shape::Value => "value",
            Shape::Series => "series",
            Shape::Ranking => "ranking",
            Shape::Table => "table",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub from: usize,
    pub joins: Vec<Step>,
    pub columns: Vec<Column>,
    pub conditions: Vec<Filter>,
    pub absent: Option<Absent>,
    pub groups: Vec<Expr>,
    /// What the rows of a table fit that is joined whether it has any or not.
    pub outer: Option<Vec<Filter>>,
    pub having: Vec<(Expr, Compare, f64)>,
    /// Only groups whose number is there.
    pub known: Option<Expr>,
    /// True: the greatest first.
    pub order: Vec<(Expr, bool)>,
    pub limit: u64,
    /// Whether the question says how many.
    pub limit_asked: bool,
    /// The first part of the calendar begins before the range.
    pub begins_within: bool,
    /// Its groups are counted, and not shown.
    pub of_groups: bool,
    pub different: bool,
    /// Every part of the calendar in this range has a row; without a range all from the first to the last.
    pub calendar: Option<(Unit, Option<Range>)>,
    /// What a series counts by.
    pub unit: Option<Unit>,
    /// The time field that ranges and trends go by.
    pub time: Option<Place>,
    pub shape: Shape,
}

impl Query {
    /// Counts its groups instead of showing them.
    pub fn count_groups(&mut self, alias: String) {
        self.of_groups = true;
        self.columns = vec![Column { expr: Expr::Rows, alias, measure: true }];
        self.order.clear();
        self.shape = Shape::Value;
    }

    /// Rows that are told at most; none where there is one row, or one for each part of a known range.
    pub fn rows_told(&self) -> Option<u64> {
        match self.calendar {
            Some((_, Some(_))) => None,
            Some((_, None)) => Some(ROWS_MAX),
            None if self.columns.iter().all(|column| column.measure) => None,
            None => Some(self.limit),
        }
    }

    /// One row more than are told, so that it shows whether there are more; as many as a question asks for.
    pub fn rows_read(&self) -> u64 {
        if self.limit_asked || self.limit < ROWS_MAX { self.limit } else { self.limit + 1 }
    }
}
