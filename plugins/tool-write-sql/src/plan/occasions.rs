//! Those to whom something happened for the first time, or once more: cohorts of buyers.

use super::Planner;
use super::query::{Column, Expr, Query, Shape};
use crate::calendar::{Range, Unit};
use crate::schema::Place;
use crate::understand::meaning::{Filter, Measure, Occasion, Test, Unclear};
use crate::understand::names::PREFIXES;
use crate::words::phrases::{Compare, Func};

/// Names of those who do something, the usual ones first.
pub const ACTORS: &[&str] = &["customer", "user", "member", "buyer", "client", "account"];

impl Planner<'_> {
    /// A number of things by when something happened to them.
    pub(super) fn occasions(&mut self) -> Result<Query, Unclear> {
        let meaning = &self.meaning;
        let occasion = meaning.occasion.ok_or(Unclear::Shape)?;
        let is_plain = meaning.groups.is_empty()
            && meaning.rank.is_none()
            && meaning.order.is_none()
            && meaning.limit.is_none()
            && meaning.having.is_empty()
            && meaning.items.is_empty()
            && meaning.without.is_none()
            && meaning.against.is_none()
            && meaning.earlier.is_none()
            && meaning.share.is_none()
            && meaning.weekdays.is_empty()
            && !(meaning.growth || meaning.cumulative || meaning.of_total)
            && !(meaning.averages_groups || meaning.different || meaning.top || meaning.which);
        let unit = meaning.unit.or_else(|| meaning.trend.then_some(Unit::Month));
        if !is_plain || unit.is_some() && (occasion != Occasion::First || meaning.listed) {
            return Err(Unclear::Shape);
        }
        let (actor, child) = self.those_who()?;
        // `orders from returning customers` are orders.
        let asked =
            meaning.measures.first().map(|measure| measure.table()).or(meaning.tables.first().copied());
        let is_other = asked.is_some_and(|table| table != actor && occasion != Occasion::Repeated);
        // Whether the first one of all is meant, or the first one of those, is open.
        let narrows = meaning.filters.iter().any(|filter| filter.place.table == child.table);
        if is_other || meaning.new.is_some() || narrows && occasion != Occasion::Repeated {
            return Err(Unclear::Shape);
        }
        let time = self.time_of(child.table)?;
        let mut query = self.start(child.table, Shape::Value);
        query.time = Some(time);
        query.groups = vec![Expr::Field(child)];
        query.conditions.push(Filter { place: child, test: Test::Present });
        let range = meaning.range;
        let first = Expr::Made(Func::Least, time);
        match (occasion, range) {
            (Occasion::First, Some(range)) => {
                query.conditions.push(Filter { place: time, test: Test::Present });
                query.having = vec![(first, Test::Days(self.whole_parts(range, unit)))];
            }
            // In each calendar unit.
            (Occasion::First, None) if unit.is_some() => {
                query.conditions.push(Filter { place: time, test: Test::Present });
            }
            (Occasion::Again, Some(Range { from: Some(from), before, .. })) => {
                let until = before.map_or(Test::Present, |before| Test::Days(Range::of(None, Some(before))));
                query.conditions.push(Filter { place: time, test: until });
                query.having = vec![
                    (first, Test::Days(Range::of(None, Some(from)))),
                    (Expr::Made(Func::Greatest, time), Test::Days(Range::of(Some(from), None))),
                ];
            }
            (Occasion::Again, None) => query.having = vec![(Expr::Rows, Test::Number(Compare::More, 1.0))],
            (Occasion::Repeated, range) => {
                query.conditions.extend(range.map(|range| Filter { place: time, test: Test::Days(range) }));
                query.averaged = Some(Expr::Rows);
                query.above = Some(1.0);
            }
            _ => return Err(Unclear::Shape),
        }
        self.join(&mut query, vec![child.table])?;
        if query.joins.iter().any(|step| !step.up) {
            return Err(Unclear::Shape);
        }
        if occasion == Occasion::Repeated {
            let alias = self.labels.repeated(actor);
            query.columns = vec![Column { expr: Expr::Rows, alias, measure: true }];
        } else {
            query.count_groups(self.labels.measure(Measure::Count(actor)));
        }
        if let Some(unit) = unit {
            let range = range.map(|range| self.whole_parts(range, Some(unit)));
            query.calendar = Some((unit, range.and_then(|range| self.until_today(range))));
            query.unit = Some(unit);
            query.shape = Shape::Series;
        }
        Ok(query)
    }

    /// The table of those who did it, and the field of what happened that refers to them.
    fn those_who(&self) -> Result<(usize, Place), Unclear> {
        let meaning = &self.meaning;
        let counted = match meaning.measures[..] {
            [Measure::Count(table)] => Some(table),
            [] => None,
            _ => return Err(Unclear::Shape),
        };
        let mut happened: Vec<usize> = meaning
            .verbs
            .iter()
            .map(|verb| verb.table)
            .chain(meaning.tables.iter().copied().filter(|table| Some(*table) != counted))
            .collect();
        // `the repeat purchase rate` is about orders.
        if meaning.occasion == Some(Occasion::Repeated)
            && happened.iter().all(|table| self.actor_of(*table).is_none())
        {
            happened = (0..self.schema.tables.len()).filter(|table| self.records_orders(*table)).collect();
        }
        let mut found: Vec<(usize, Place)> = Vec::new();
        for table in happened {
            let refers = |actor: usize| self.links.direct(table, actor).map(|link| (actor, link.child));
            let link = counted.or_else(|| self.actor_of(table)).and_then(refers);
            found.extend(link.filter(|link| !found.contains(link)));
        }
        match found[..] {
            [only] => Ok(only),
            _ => Err(Unclear::Shape),
        }
    }

    fn records_orders(&self, table: usize) -> bool {
        let words = crate::words::english::name_words(&self.schema.table(table).name);
        let words: Vec<&String> = words.iter().filter(|word| !PREFIXES.contains(&word.as_str())).collect();
        matches!(words[..], [only] if crate::words::concept(only) == "order")
    }

    /// The table of those who do what a table records.
    fn actor_of(&self, table: usize) -> Option<usize> {
        let parents = |actor: &&str| {
            (0..self.schema.tables.len()).find(|parent| {
                let words = crate::words::english::name_words(&self.schema.table(*parent).name);
                words.last().is_some_and(|last| crate::words::concept(last) == **actor)
                    && self.links.direct(table, *parent).is_some()
            })
        };
        ACTORS.iter().find_map(parents)
    }
}
