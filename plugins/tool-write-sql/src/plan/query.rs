//! A query as data: [`super::plan`] decides it, [`crate::sql`] writes it.

use super::{FILE_ROWS_MAX, ROWS_MAX};
use crate::calendar::{Cycle, Range, Unit};
use crate::joins::Step;
use crate::schema::Place;
use crate::understand::meaning::{Filter, Test, Unclear};
use crate::words::phrases::Func;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expr {
    Field(Place),
    Rows,
    /// Rows with a value in this field.
    Present(Place),
    Different(Place),
    Made(Func, Place),
    /// The sum of a field, or without one the number of rows, for each value of another field: divided by the number of those.
    Per(Option<Place>, Place),
    /// The percentage of rows that fulfil the query's `share`.
    Share(Place),
    /// The percentage of a field's sum that those rows have.
    Part(Place),
    /// The first day of the calendar unit that contains a time.
    Start(Unit, Place),
    /// The weekday or the hour of a time, as a number.
    Cycle(Cycle, Place),
}

/// A number that follows from one of the query's columns, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derived {
    /// The same of the earlier days.
    Before(usize),
    /// How much more than then.
    Change(usize),
    /// The same as a percentage.
    Growth(usize),
    /// As a percentage of all groups together.
    OfTotal(usize),
    /// The growth since the calendar unit before, as a percentage.
    SinceLast(usize),
    /// Up to and with this calendar unit.
    Cumulative(usize),
}

impl Derived {
    /// The column from which it follows.
    pub fn column(self) -> usize {
        match self {
            Derived::Before(at)
            | Derived::Change(at)
            | Derived::Growth(at)
            | Derived::OfTotal(at)
            | Derived::SinceLast(at)
            | Derived::Cumulative(at) => at,
        }
    }
}

/// Days and earlier ones that are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Periods {
    pub now: Range,
    pub before: Range,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub expr: Expr,
    pub alias: String,
    pub measure: bool,
}

/// So many rows of each group are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstOfEach {
    /// What tells the groups apart.
    pub of: Vec<Expr>,
    pub rows: u64,
    /// The rows of each group before the first one that is shown.
    pub after: u64,
}

/// Rows of another table that must exist, or must not.
#[derive(Clone, Debug, PartialEq)]
pub struct Related {
    pub key: Place,
    /// The field that refers to the key, and the steps from its table.
    pub child: Place,
    pub steps: Vec<Step>,
    pub conditions: Vec<Filter>,
}

impl Expr {
    /// Whether it is a number of rows, and not what tells them apart.
    pub fn is_number(self) -> bool {
        !matches!(self, Expr::Field(_) | Expr::Start(..) | Expr::Cycle(..))
    }

    /// The field that it is of.
    pub fn place(self) -> Option<Place> {
        match self {
            Expr::Rows => None,
            Expr::Field(place)
            | Expr::Present(place)
            | Expr::Different(place)
            | Expr::Made(_, place)
            | Expr::Per(_, place)
            | Expr::Share(place)
            | Expr::Part(place)
            | Expr::Start(_, place)
            | Expr::Cycle(_, place) => Some(place),
        }
    }

    /// Whether it is 0 where there are no rows.
    pub fn is_zero_of_nothing(self) -> bool {
        self.adds_up() || matches!(self, Expr::Different(_))
    }

    /// Whether the values of groups add up to the overall value.
    pub fn adds_up(self) -> bool {
        matches!(self, Expr::Rows | Expr::Present(_) | Expr::Made(Func::Sum, _))
    }
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Value,
    Series,
    Ranking,
    Comparison,
    Table,
}

impl Shape {
    pub fn word(self) -> &'static str {
        match self {
            Shape::Value => "value",
            Shape::Series => "series",
            Shape::Ranking => "ranking",
            Shape::Comparison => "comparison",
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
    pub absent: Option<Related>,
    pub present: Vec<Related>,
    pub groups: Vec<Expr>,
    /// The filters of a table joined by an outer join.
    pub outer: Option<Vec<Filter>>,
    pub having: Vec<(Expr, Test)>,
    /// Only groups whose number is not NULL.
    pub known: Option<Expr>,
    /// True: the greatest first.
    pub order: Vec<(Expr, bool)>,
    pub limit: u64,
    /// The rows before the first one that is shown.
    pub offset: u64,
    /// Whether the question gives a number.
    pub limit_asked: bool,
    /// The first unit begins before the range.
    pub begins_within: bool,
    /// The last unit ends after the range.
    pub ends_within: bool,
    /// The range was widened to whole ones of these units.
    pub widened: Option<Unit>,
    /// The condition of a percentage.
    pub share: Option<Filter>,
    /// The condition of the rows to which those of `share` are in a ratio; without it they are a percentage of all.
    pub whole: Option<Filter>,
    /// Counts the groups instead of showing them.
    pub of_groups: bool,
    /// Averages this number of the groups, or of the calendar units, instead of showing them.
    pub averaged: Option<Expr>,
    /// Shows which percentage of the groups has more of `averaged` than this.
    pub above: Option<f64>,
    /// Numbers after the columns.
    pub derived: Vec<(Derived, String)>,
    /// Each number is that of `now`.
    pub periods: Option<Periods>,
    pub first_of_each: Option<FirstOfEach>,
    pub different: bool,
    /// Each calendar unit of this range has a row; without a range, all units from the first to the last.
    pub calendar: Option<(Unit, Option<Range>)>,
    /// The unit of a series.
    pub unit: Option<Unit>,
    /// Quarters are those of fiscal years that begin in this month, which begins a quarter.
    pub fiscal: Option<i64>,
    /// The cycle of its first column, in its order.
    pub cycle: Option<Cycle>,
    /// The time field of ranges and trends.
    pub time: Option<Place>,
    pub shape: Shape,
}

impl Query {
    /// All expressions.
    pub fn exprs(&self) -> impl Iterator<Item = Expr> {
        let columns = self.columns.iter().map(|column| column.expr);
        let order = self.order.iter().map(|(expr, _)| *expr);
        let having = self.having.iter().map(|(expr, _)| *expr);
        let all = columns.chain(self.groups.iter().copied()).chain(order).chain(having);
        let first = self.first_of_each.iter().flat_map(|first| first.of.iter().copied());
        all.chain(self.known).chain(self.averaged).chain(first)
    }

    /// All conditions of the rows themselves.
    pub fn filters(&self) -> impl Iterator<Item = &Filter> {
        self.conditions.iter().chain(self.outer.iter().flatten()).chain(&self.share).chain(&self.whole)
    }

    /// All fields that `from` or a join must have.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        let keys = self.present.iter().chain(&self.absent).map(|related| related.key);
        let divided = self.exprs().filter_map(|expr| match expr {
            Expr::Per(sum, _) => sum,
            _ => None,
        });
        let places = self
            .exprs()
            .filter_map(Expr::place)
            .chain(divided)
            .chain(self.filters().map(|filter| filter.place));
        places.chain(self.time).chain(keys)
    }

    /// Whether rows are shown, of which there may be too many: not only numbers of all rows.
    pub fn shows_rows(&self) -> bool {
        let has_groups = !self.groups.is_empty() && !self.of_groups && self.averaged.is_none();
        has_groups || !self.columns.iter().all(|column| column.measure)
    }

    /// Whether it has exactly one row.
    pub fn is_one_row(&self) -> bool {
        let has_conditions = !self.having.is_empty() || self.known.is_some();
        let is_of_groups = self.of_groups || self.averaged.is_some();
        let is_alone = self.groups.is_empty() && !has_conditions || is_of_groups;
        self.shape == Shape::Value && !self.shows_rows() && is_alone && self.calendar.is_none()
    }

    /// Whether all that it names is in `from` or joined.
    pub fn reads_only_its_tables(&self) -> bool {
        let is_read =
            |place: Place| place.table == self.from || self.joins.iter().any(|step| step.to() == place.table);
        self.places().all(is_read)
    }

    /// Shows only this one of a ranking, or of each of several rankings.
    pub fn begin_at(&mut self, place: u64) -> Result<(), Unclear> {
        let rows = self.first_of_each.as_ref().map_or(self.limit, |first| first.rows);
        let is_ranking = !self.order.is_empty() && rows == 1 && self.shows_rows() && self.calendar.is_none();
        if !is_ranking {
            return Err(Unclear::NoRank);
        }
        let before = place.saturating_sub(1);
        match &mut self.first_of_each {
            Some(first) => first.after = before,
            None => self.offset = before,
        }
        // It is not the first one.
        self.shape = Shape::Table;
        Ok(())
    }

    /// Whether it has a column of quarters.
    pub fn names_quarters(&self) -> bool {
        let is_quarter = |column: &Column| matches!(column.expr, Expr::Start(Unit::Quarter, _));
        let of_calendar = self.calendar.filter(|_| self.averaged.is_none());
        of_calendar.is_some_and(|(unit, _)| unit == Unit::Quarter) || self.columns.iter().any(is_quarter)
    }

    /// Counts its groups instead of showing them.
    pub fn count_groups(&mut self, alias: String) {
        self.of_groups = true;
        self.columns = vec![Column { expr: Expr::Rows, alias, measure: true }];
        self.order.clear();
        self.shape = Shape::Value;
    }

    /// Averages the number of its groups instead of showing them.
    pub fn average_groups(&mut self, alias: String) -> bool {
        let mut measures = self.columns.iter().filter(|column| column.measure);
        let (Some(only), None) = (measures.next(), measures.next()) else { return false };
        self.averaged = Some(only.expr);
        self.columns = vec![Column { expr: only.expr, alias, measure: true }];
        self.order.clear();
        self.shape = Shape::Value;
        self.unit = None;
        true
    }

    /// The most rows that are shown; `None` for one row, or one per unit of a known range.
    pub fn rows_told(&self) -> Option<u64> {
        match self.calendar {
            _ if self.averaged.is_some() => None,
            Some(_) if !self.order.is_empty() => Some(self.limit),
            Some((_, Some(_))) => None,
            Some((_, None)) => Some(ROWS_MAX),
            None if !self.shows_rows() => None,
            None => Some(self.limit),
        }
    }

    /// As many as a file of the result holds, and one more to detect further ones: `run_sql` reads only those that are
    /// shown. For a number in the question, exactly as many.
    pub fn rows_read(&self) -> u64 {
        if self.limit_asked || self.limit < ROWS_MAX { self.limit } else { FILE_ROWS_MAX + 1 }
    }
}
