//! A query as data: [`super::plan`] decides it, [`crate::sql`] writes it down.

use crate::calendar::{Range, Unit};
use crate::joins::Step;
use crate::schema::Place;
use crate::understand::meaning::Filter;
use crate::words::phrases::{Compare, Func};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expr {
    Field(Place),
    Rows,
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
    pub having: Vec<(Expr, Compare, f64)>,
    /// True: the greatest first.
    pub order: Vec<(Expr, bool)>,
    pub limit: u64,
    pub different: bool,
    /// Every part of the calendar in this range has a row; without a range all from the first to the last.
    pub calendar: Option<(Unit, Option<Range>)>,
    /// The time field that ranges and trends go by.
    pub time: Option<Place>,
    pub shape: Shape,
}
