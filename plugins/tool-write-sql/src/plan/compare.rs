//! Numbers beside others: of the period before, of all together, up to a day, and rankings in each group.

use super::query::{Column, Derived, Expr, FirstOfEach, Periods, Query, Shape};
use super::{Planner, ROWS_MAX};
use crate::calendar::{Range, Unit};
use crate::schema::Place;
use crate::understand::meaning::{Against, By, Filter, Group, Measure, Test, Unclear};
use crate::words::phrases::{Earlier, Func};

impl Planner<'_> {
    /// `the 3 best selling products in each category`: ranks products, in each category by itself.
    pub(super) fn rank_in_each(&mut self) {
        // `the most popular category in each city`
        if let ([one, other], Some(common)) = (&self.meaning.groups[..], self.meaning.common) {
            let common = Group::Field(common);
            let each = if *one == common { *other } else { *one };
            if self.meaning.unit.is_none() && !self.meaning.trend && (*one == common) != (*other == common) {
                self.meaning.groups = vec![common];
                self.each = Some(each);
            }
            return;
        }
        let meaning = &self.meaning;
        let ([group], Some((by, greatest))) = (&meaning.groups[..], meaning.rank) else { return };
        let group = *group;
        // `the most popular channel among gold members`
        if self.meaning.common.map(Group::Field) == Some(group) {
            return;
        }
        // `orders per customer` is a number.
        let is_number = meaning.per && matches!(group, Group::Table(_));
        let plain = meaning.unit.is_none()
            && !meaning.trend
            && meaning.order.is_none()
            && meaning.having.is_empty()
            && !meaning.averages_groups;
        if is_number || !plain {
            return;
        }
        let counted = if let By::Measure(measure) = by { Some(measure.table()) } else { None };
        // `best selling product of silver members`: the members are not what is ranked.
        let has_condition = |table: usize| meaning.filters.iter().any(|filter| filter.place.table == table);
        let is_condition = |table: usize| matches!(group, Group::Table(_)) && has_condition(table);
        let is_thing =
            |table: &usize| Group::Table(*table) != group && Some(*table) != counted && !is_condition(*table);
        let kind = meaning
            .items
            .iter()
            .find(|item| Group::Field(**item) != group && !self.schema.field(**item).is_number());
        let thing = meaning.tables.iter().copied().find(is_thing);
        let of_thing = |place: &Place| Some(place.table) == thing;
        match by {
            _ if kind.is_none() && thing.is_none() => return,
            // `the most expensive product in each category`
            By::Field(place) if of_thing(&place) && kind.is_none() && meaning.measures.is_empty() => {
                let func = if greatest { Func::Greatest } else { Func::Least };
                let measure = Measure::Made(func, place);
                self.meaning.rank = Some((By::Measure(measure), greatest));
                self.meaning.measures.push(measure);
                self.meaning.groups = vec![Group::Table(place.table)];
            }
            _ => self.meaning.groups.clear(),
        }
        self.each = Some(group);
    }

    /// Keeps the first rows of each group of what a ranking is made for.
    pub(super) fn first_of_each(&self, query: &mut Query) -> Result<(), Unclear> {
        let Some(each) = self.each else { return Ok(()) };
        let first: Vec<Expr> = match each {
            Group::Field(place) => vec![Expr::Field(place)],
            Group::Table(table) => query
                .groups
                .iter()
                .copied()
                .filter(|expr| matches!(expr, Expr::Field(place) if place.table == table))
                .collect(),
        };
        let is_first = |column: &Column| first.contains(&column.expr);
        if query.shape != Shape::Ranking || !query.columns.iter().any(is_first) || !query.derived.is_empty() {
            return Err(Unclear::Shape);
        }
        query.first_of_each = Some(FirstOfEach { of: first, rows: query.limit, after: 0 });
        query.shape = Shape::Table;
        query.limit = ROWS_MAX;
        query.limit_asked = false;
        Ok(())
    }

    /// The numbers beside those of the columns.
    pub(super) fn derive(&self, query: &mut Query) -> Result<(), Unclear> {
        let meaning = &self.meaning;
        let asks = usize::from(query.periods.is_some() || meaning.growth)
            + usize::from(meaning.cumulative)
            + usize::from(meaning.of_total);
        let measures: Vec<usize> = (0..query.columns.len()).filter(|at| query.columns[*at].measure).collect();
        match (asks, &measures[..]) {
            (0, _) => return Ok(()),
            // `the city that grew most`: by the growth, and not by the number.
            (1, _) if meaning.growth && meaning.rank.is_some() => return Err(Unclear::Shape),
            (1, [_]) => {}
            _ => return Err(Unclear::Shape),
        }
        let at = measures[0];
        let expr = query.columns[at].expr;
        let is_percentage = matches!(expr, Expr::Share(_) | Expr::Part(_));
        let is_of_no_parts = matches!(expr, Expr::Made(Func::Median, _)) || query.whole.is_some();
        let kinds: Vec<Derived> = if query.periods.is_some() {
            query.shape = Shape::Comparison;
            let growth = (!is_percentage).then_some(Derived::Growth(at));
            [Derived::Before(at), Derived::Change(at)].into_iter().chain(growth).collect()
        } else if meaning.growth && query.calendar.is_some_and(has_several) && !is_percentage {
            vec![Derived::SinceLast(at)]
        } else if meaning.cumulative && query.calendar.is_some() && expr.adds_up() {
            vec![Derived::Cumulative(at)]
        } else if meaning.of_total && !query.groups.is_empty() && query.calendar.is_none() && expr.adds_up() {
            vec![Derived::OfTotal(at)]
        } else {
            return Err(Unclear::Shape);
        };
        let is_whole = !query.of_groups && query.outer.is_none() && query.having.is_empty();
        if is_of_no_parts || !is_whole {
            return Err(Unclear::Shape);
        }
        let name = query.columns[at].alias.clone();
        query.derived = kinds.into_iter().map(|kind| (kind, self.labels.derived(kind, &name))).collect();
        Ok(())
    }

    /// The days of the question, and those with which it compares them.
    pub(super) fn periods(&self, unit: Option<Unit>) -> Result<Option<Periods>, Unclear> {
        let meaning = &self.meaning;
        let against = match (meaning.against, unit) {
            (None, None) if meaning.growth => Against::Earlier(Earlier::Period),
            // Each unit of a series is compared with the one before.
            (None | Some(Against::Earlier(Earlier::Period)), Some(_)) if meaning.growth => return Ok(None),
            (None, _) => return Ok(None),
            (Some(against), None) => against,
            (Some(_), Some(_)) => return Err(Unclear::Shape),
        };
        let range = meaning.range.ok_or(Unclear::NoDays)?;
        let periods = match against {
            Against::Days(before) => Some(Periods { now: range, before }),
            Against::Now => {
                let unit = range.unit().ok_or(Unclear::Shape)?;
                let start = unit.start(self.today);
                (range.from < Some(start))
                    .then(|| Periods { now: Range::days(start, unit.later(start, 1)), before: range })
            }
            Against::Earlier(earlier) => before(range, earlier).map(|before| Periods { now: range, before }),
        };
        let is_closed = |range: &Range| range.from.is_some() && range.before.is_some();
        periods
            .filter(|periods| is_closed(&periods.now) && is_closed(&periods.before))
            .ok_or(Unclear::Shape)
            .map(Some)
    }

    /// Reads only the rows of either period.
    pub(super) fn compare(&self, query: &mut Query, place: Place, periods: Periods) -> Result<(), Unclear> {
        // Of what did not happen there are no days.
        if query.time.is_none() || self.meaning.without.is_some() {
            return Err(Unclear::Shape);
        }
        query.periods = Some(periods);
        let test = if periods.before.before == periods.now.from {
            Test::Days(Range::of(periods.before.from, periods.now.before))
        } else {
            Test::AnyOf(vec![Test::Days(periods.before), Test::Days(periods.now)])
        };
        query.conditions.push(Filter { place, test });
        Ok(())
    }
}

/// Whether a calendar has more than one unit.
fn has_several((unit, range): (Unit, Option<Range>)) -> bool {
    match range.map(|range| (range.from, range.before)) {
        Some((Some(from), Some(before))) => unit.later(from, 1) < before,
        _ => true,
    }
}

/// Earlier days of the same length.
pub fn before(range: Range, earlier: Earlier) -> Option<Range> {
    match earlier {
        Earlier::Period => range.previous(),
        Earlier::Year => range.year_before(),
        Earlier::Unit(unit) if range.unit() == Some(unit) || range.begun == Some(unit) => range.previous(),
        // `the last 30 days compared to the week before`
        Earlier::Unit(unit) => Some(Range::days(unit.moved(range.from?, -1), unit.moved(range.before?, -1))),
    }
}
