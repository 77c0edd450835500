//! Queries whose answer is one number, or one per group.

use super::Planner;
use super::query::{Column, Expr, FirstOfEach, Query, Shape};
use crate::calendar::{Cycle, Unit};
use crate::joins::Step;
use crate::schema::Place;
use crate::understand::meaning::{By, Filter, Group, Measure, Test, Unclear};
use crate::words::english::name_words;
use crate::words::phrases::{Compare, Func};

impl Planner<'_> {
    /// Numbers, for each group if there are any.
    pub(super) fn numbers(&mut self) -> Result<Query, Unclear> {
        let base = self.base();
        let all = self
            .meaning
            .measures
            .iter()
            .copied()
            .chain(self.meaning.having.iter().map(|(measure, ..)| *measure));
        if all.clone().any(|measure| measure.table() != base && self.of_parts(measure).is_none()) {
            return Err(Unclear::Shape);
        }
        let median = |measure: Measure| matches!(measure, Measure::Made(Func::Median, _));
        if all.clone().any(median) && all.count() > 1 {
            return Err(Unclear::Shape);
        }
        self.limits(&self.grouped_tables())?;
        self.compares_rows(base)?;
        let present = self.each_value(base)?;
        self.turn_not(base)?;
        self.look_beyond(base)?;
        let mut query = self.start(base, Shape::Value);
        query.present = present;
        self.find_time(&mut query)?;
        let by_events = self.count_by_events(&mut query);
        let mut needed = self.group(&mut query)?;
        needed.extend(self.group_by_cycle(&mut query)?);
        needed.push(if by_events.is_some() { query.from } else { base });
        self.join(&mut query, needed)?;
        let multiplied = query.joins.iter().any(|step| !step.up) && !self.counts_pairs(&query);
        // A trend of events counts each event: a workflow published twice on a day counts twice.
        let each_time = by_events.is_some() && self.meaning.passive && query.calendar.is_some();
        let counted = by_events.filter(|_| !each_time);
        for measure in self.meaning.measures.clone() {
            let mut expr = self.expr(measure, counted, multiplied)?;
            if let Some((_, each)) = self.per_each {
                expr = match expr {
                    Expr::Made(Func::Sum, place) => Expr::Per(Some(place), each),
                    Expr::Rows => Expr::Per(None, each),
                    _ => return Err(Unclear::Shape),
                };
            }
            let named = if each_time { Measure::Count(query.from) } else { measure };
            let alias = match (&query.share, &query.whole, named) {
                (Some(share), Some(whole), Measure::Share(_) | Measure::Part(_)) => {
                    self.labels.ratio(share, whole)
                }
                (Some(share), None, Measure::Share(_) | Measure::Part(_)) => self.labels.share(share),
                _ if let Some((thing, _)) = self.per_each => self.labels.average(measure, &[thing]),
                _ => self.name(named),
            };
            query.columns.push(Column { expr, alias, measure: true });
        }
        for (measure, compare, number) in self.meaning.having.clone() {
            query.having.push((self.expr(measure, counted, multiplied)?, Test::Number(compare, number)));
        }
        self.absent(&mut query, base)?;
        self.finish_numbers(&mut query, counted, multiplied)?;
        self.keep_those_without(&mut query)?;
        self.hide(&mut query);
        self.labels.tell_apart(&mut query.columns);
        self.derive(&mut query)?;
        self.first_of_each(&mut query)?;
        Ok(query)
    }

    /// Groups by weekdays or hours; returns the table of the time.
    fn group_by_cycle(&self, query: &mut Query) -> Result<Option<usize>, Unclear> {
        let Some(cycle) = self.meaning.cycle else { return Ok(None) };
        if query.calendar.is_some() || query.periods.is_some() {
            return Err(Unclear::Shape);
        }
        let time = match query.time {
            Some(time) => time,
            None => self.time(query.from)?,
        };
        if cycle == Cycle::Hour && !self.has_hours(time) {
            return Err(Unclear::NoTime(self.schema.table(time.table).name.clone()));
        }
        if query.time.replace(time).is_none() {
            query.conditions.push(Filter { place: time, test: Test::Present });
        }
        let expr = Expr::Cycle(cycle, time);
        query.groups.insert(0, expr);
        let alias = self.labels.cycle(cycle).to_owned();
        query.columns.insert(0, Column { expr, alias, measure: false });
        Ok(Some(time.table))
    }

    /// Whether a time's values have more than days.
    fn has_hours(&self, time: Place) -> bool {
        let field = self.schema.field(time);
        match &field.values[..] {
            [] => {
                let last = name_words(&field.name).pop();
                field.type_text.to_uppercase().contains("TIME")
                    || last.is_some_and(|last| matches!(last.as_str(), "at" | "time"))
            }
            values => values.iter().any(|value| value.contains(':')),
        }
    }

    /// The table whose rows the numbers are of: that of an amount, or else of the first one.
    fn base(&self) -> usize {
        let is_count = |measure: &&Measure| matches!(measure, Measure::Count(_));
        let measures = &self.meaning.measures;
        measures.iter().find(|measure| !is_count(measure)).unwrap_or(&measures[0]).table()
    }

    fn name(&self, measure: Measure) -> String {
        match (self.of_parts(measure), measure) {
            (Some(child), Measure::Count(table)) => self.labels.of_parts(table, child.table),
            _ => self.labels.measure(measure),
        }
    }

    /// The number of orders beside an amount of their parts: the field by which the parts name them.
    fn of_parts(&self, measure: Measure) -> Option<Place> {
        match measure {
            Measure::Count(table) => self.links.to_whole(self.schema, self.base(), table),
            _ => None,
        }
    }

    /// Whether the rows of a table that only links two others are counted for each row of the one: each names another row
    /// of the other.
    fn counts_pairs(&self, query: &Query) -> bool {
        let mut down = query.joins.iter().filter(|step| !step.up);
        let (Some(step), None) = (down.next(), down.next()) else { return false };
        let pairs = step.to();
        let is_link = |place: Place| self.links.is_child(place);
        let far: Vec<usize> =
            self.schema.places(pairs).filter_map(|place| self.links.parent_of(place)).collect();
        let is_grouped =
            |table: &usize| *table != query.from && self.meaning.groups.contains(&Group::Table(*table));
        step.from() == query.from
            && self.schema.tables[pairs].fields.len() == 2
            && self.schema.places(pairs).all(is_link)
            && far.iter().any(is_grouped)
            && query.joins.iter().all(|step| step.to() == pairs || far.contains(&step.to()))
    }

    /// Leaves out the numbers that only conditions and orders need, beside what the question says to show.
    fn hide(&self, query: &mut Query) {
        let hidden: Vec<String> = self.meaning.hidden.iter().map(|measure| self.name(*measure)).collect();
        if query.columns.iter().any(|column| !column.measure) {
            query.columns.retain(|column| !(column.measure && hidden.contains(&column.alias)));
        }
        if query.columns.iter().all(|column| !column.measure) {
            query.shape = Shape::Table;
        }
    }

    /// `which month`: ranks months; months without rows cannot be first.
    fn rank_parts(&self, query: &mut Query) -> Result<(), Unclear> {
        let (Some((unit, _)), Some(time)) = (query.calendar.take(), query.time) else {
            return Err(Unclear::Shape);
        };
        if matches!(self.meaning.rank, Some((_, false))) {
            return Err(Unclear::Shape);
        }
        self.group_by_unit(query, unit, time);
        Ok(())
    }

    /// Groups by calendar units before all else.
    fn group_by_unit(&self, query: &mut Query, unit: Unit, time: Place) {
        let start = Expr::Start(unit, time);
        query.groups.insert(0, start);
        let alias = self.labels.unit(unit).to_owned();
        query.columns.insert(0, Column { expr: start, alias, measure: false });
    }

    /// `days with more than 85 orders`: the calendar units whose number fits; those without rows do not.
    fn units_with(&self, query: &mut Query) -> Result<(), Unclear> {
        let fits_none = |(expr, test): &(Expr, Test)| match test {
            Test::Number(compare, number) => expr.is_zero_of_nothing() && compare.fits_zero(*number),
            _ => expr.is_zero_of_nothing(),
        };
        let (Some((unit, _)), Some(time)) = (query.calendar.take(), query.time) else {
            return Err(Unclear::Shape);
        };
        if query.having.iter().any(fits_none) || self.meaning.order.is_some() {
            return Err(Unclear::Shape);
        }
        self.group_by_unit(query, unit, time);
        query.order = vec![(Expr::Start(unit, time), false)];
        query.limit = self.limit();
        query.shape = Shape::Table;
        Ok(())
    }

    /// Whether the least calendar units are asked for: also those without rows.
    fn is_least_of_units(&self, query: &Query) -> bool {
        matches!(self.meaning.rank, Some((By::Measure(_), false)))
            && query.calendar.is_some()
            && self.meaning.having.is_empty()
            && self.meaning.place.is_none()
    }

    /// `orders per day`, then `bottom 2`: orders the calendar by its number.
    fn least_units(
        &self,
        query: &mut Query,
        counted: Option<Place>,
        multiplied: bool,
    ) -> Result<(), Unclear> {
        let (Some((By::Measure(measure), greatest)), [column]) = (self.meaning.rank, &query.columns[..])
        else {
            return Err(Unclear::Shape);
        };
        let by = self.expr(measure, counted, multiplied)?;
        // Of no rows there is no average.
        if column.expr != by || !by.is_zero_of_nothing() {
            return Err(Unclear::Shape);
        }
        query.order = vec![(by, greatest)];
        query.limit = self.limit();
        query.shape = Shape::Ranking;
        Ok(())
    }

    pub(super) fn grouped_tables(&self) -> Vec<usize> {
        self.meaning.groups.iter().map(|group| group.table()).collect()
    }

    /// `fewer than 5 orders`, `the fewest orders`: includes customers without any order.
    pub(super) fn keep_those_without(&self, query: &mut Query) -> Result<(), Unclear> {
        let counts = |by: &By| matches!(by, By::Measure(Measure::Count(_)));
        let fewest = [&self.meaning.rank, &self.meaning.order]
            .into_iter()
            .flatten()
            .any(|(by, greatest)| counts(by) && !greatest);
        let fits_none = |(measure, compare, number): &(Measure, Compare, f64)| {
            matches!(measure, Measure::Count(_)) && compare.fits_zero(*number)
        };
        let groups = self.grouped_tables();
        let Some(&owner) = groups.first() else { return Ok(()) };
        if !(fewest || self.meaning.having.iter().any(fits_none))
            || owner == query.from && query.joins.is_empty()
        {
            return Ok(());
        }
        let [step] = query.joins[..] else { return Err(Unclear::Shape) };
        let is_simple = step.up
            && groups.iter().all(|table| *table == owner)
            && step.to() == owner
            && query.calendar.is_none()
            && query.absent.is_none()
            && query.columns.iter().all(|column| !column.measure || column.expr == Expr::Rows);
        if !is_simple {
            return Err(Unclear::Shape);
        }
        let (inside, outside) =
            query.conditions.drain(..).partition(|filter| filter.place.table == query.from);
        query.conditions = outside;
        query.outer = Some(inside);
        query.from = owner;
        query.joins = vec![Step { up: false, ..step }];
        let counted = |expr: &mut Expr| {
            if *expr == Expr::Rows {
                *expr = Expr::Present(step.link.child);
            }
        };
        query.columns.iter_mut().for_each(|column| counted(&mut column.expr));
        query.having.iter_mut().for_each(|(expr, ..)| counted(expr));
        query.order.iter_mut().for_each(|(expr, _)| counted(expr));
        Ok(())
    }

    pub(super) fn finish_numbers(
        &self,
        query: &mut Query,
        counted: Option<Place>,
        multiplied: bool,
    ) -> Result<(), Unclear> {
        let meaning = &self.meaning;
        if meaning.which && self.is_least_of_units(query) {
            return self.least_units(query, counted, multiplied);
        }
        if meaning.which && meaning.rank.is_none() {
            return self.units_with(query);
        }
        if meaning.which {
            self.rank_parts(query)?;
        } else if let Some(unit) = query.calendar.map(|(unit, _)| unit) {
            let time = query.time.ok_or(Unclear::Shape)?;
            query.shape = Shape::Series;
            query.unit = Some(unit);
            let is_median = |column: &Column| matches!(column.expr, Expr::Made(Func::Median, _));
            let has_some_days = unit == Unit::Day && !meaning.weekdays.is_empty();
            if !meaning.groups.is_empty() || has_some_days || query.columns.iter().any(is_median) {
                // A calendar per group, or of weekends, would be mostly empty: shows only days with rows.
                query.calendar = None;
                self.group_by_unit(query, unit, time);
                query.order = query.groups.iter().map(|expr| (*expr, false)).collect();
                if let Some((By::Measure(measure), greatest)) = meaning.rank {
                    let by = self.expr(measure, counted, multiplied)?;
                    return self.first_of_each_unit(query, by, greatest);
                }
            } else if meaning.rank.is_some() || !query.having.is_empty() || meaning.order.is_some() {
                return Err(Unclear::Shape);
            }
            return if meaning.rank.is_some() { Err(Unclear::Shape) } else { Ok(()) };
        }
        if query.groups.is_empty() {
            return if meaning.rank.is_some() || meaning.order.is_some() {
                Err(Unclear::Shape)
            } else {
                Ok(())
            };
        }
        query.shape = Shape::Ranking;
        query.limit = self.limit();
        let first = query.columns.iter().find(|column| column.measure).map(|column| column.expr);
        let (by, greatest) = match meaning.rank.or(meaning.order) {
            Some((By::Measure(measure), greatest)) => {
                (Some(self.expr(measure, counted, multiplied)?), greatest)
            }
            Some((By::Field(place), greatest)) => {
                if !query.groups.contains(&Expr::Field(place)) {
                    return Err(Unclear::Shape);
                }
                (Some(Expr::Field(place)), greatest)
            }
            // From Monday to Sunday.
            None if let Some(first @ Expr::Cycle(cycle, _)) = query.groups.first().copied() => {
                query.shape = Shape::Series;
                query.cycle = Some(cycle);
                (Some(first), false)
            }
            // The least of each, the least one first.
            None => (first, !matches!(first, Some(Expr::Made(Func::Least, _)))),
        };
        // A missing number is not the least.
        query.known = by.filter(|by| !greatest && matches!(by, Expr::Made(..)));
        query.order = by.into_iter().map(|expr| (expr, greatest)).collect();
        // The one that is first, and an order that is asked for, go on in their direction where they are equal, as databases
        // do by themselves; of the first ten the first names come first.
        let turns = greatest && (meaning.order.is_some() || meaning.rank.is_some() && query.limit == 1);
        let turned = |expr: &Expr| turns && !matches!(expr, Expr::Cycle(..));
        let others = query.groups.iter().filter(|expr| Some(**expr) != by);
        let more: Vec<(Expr, bool)> = others.map(|expr| (*expr, turned(expr))).collect();
        query.order.extend(more);
        Ok(())
    }

    /// `the best selling product each month`: ranks the groups of each calendar unit.
    fn first_of_each_unit(&self, query: &mut Query, by: Expr, greatest: bool) -> Result<(), Unclear> {
        let has_median =
            query.columns.iter().any(|column| matches!(column.expr, Expr::Made(Func::Median, _)));
        // `the best product each month in each city`
        let is_told = |table: &usize| {
            let is_counted = self.meaning.measures.iter().any(|measure| measure.table() == *table);
            is_counted || self.meaning.groups.contains(&Group::Table(*table))
        };
        let is_plain = self.meaning.groups.len() == 1 && self.meaning.tables.iter().all(is_told);
        // `with revenue above 20000`: of single rows, or of what is ranked.
        let is_ranked = |filter: &Filter| matches!(by, Expr::Made(_, place) if place == filter.place);
        let has_condition = self.meaning.filters.iter().any(is_ranked) || !query.having.is_empty();
        if self.meaning.order.is_some() || !is_plain || has_condition || has_median {
            return Err(Unclear::Shape);
        }
        query.order.insert(1, (by, greatest));
        query.known = Some(by).filter(|by| !greatest && matches!(by, Expr::Made(..)));
        query.first_of_each = Some(FirstOfEach { of: vec![query.groups[0]], rows: self.limit(), after: 0 });
        query.limit_asked = false;
        query.shape = Shape::Table;
        query.unit = None;
        Ok(())
    }

    /// Adds groups and their columns; returns the tables that they need.
    pub(super) fn group(&self, query: &mut Query) -> Result<Vec<usize>, Unclear> {
        let mut needed = Vec::new();
        for group in &self.meaning.groups {
            let fields = match group {
                Group::Field(place) => vec![*place],
                Group::Table(table) => {
                    let key = self.schema.key(*table);
                    query.groups.extend(key.map(Expr::Field));
                    let items: Vec<Place> =
                        self.meaning.items.iter().copied().filter(|item| item.table == *table).collect();
                    let title = self.schema.title(*table).or(key);
                    if items.is_empty() { title.into_iter().collect() } else { items }
                }
            };
            if fields.is_empty() {
                return Err(Unclear::Shape);
            }
            needed.extend(fields.iter().map(|place| place.table));
            query.columns.extend(match group {
                Group::Table(table) if self.meaning.items.is_empty() && fields.len() == 1 => {
                    vec![Column {
                        expr: Expr::Field(fields[0]),
                        alias: self.labels.one(*table),
                        measure: false,
                    }]
                }
                _ => self.labels.columns(&fields),
            });
            for place in fields {
                if !query.groups.contains(&Expr::Field(place)) {
                    query.groups.push(Expr::Field(place));
                }
            }
        }
        Ok(needed)
    }

    pub(super) fn expr(
        &self,
        measure: Measure,
        counted: Option<Place>,
        multiplied: bool,
    ) -> Result<Expr, Unclear> {
        match measure {
            Measure::Count(table) if table != self.base() => {
                let child = self.of_parts(measure).filter(|_| counted.is_none() && !multiplied);
                child.map(Expr::Different).ok_or(Unclear::Shape)
            }
            Measure::Count(table) => match counted {
                Some(place) => Ok(Expr::Different(place)),
                None if multiplied => self.schema.key(table).map(Expr::Different).ok_or(Unclear::Shape),
                None => Ok(Expr::Rows),
            },
            Measure::Different(place) => Ok(Expr::Different(place)),
            Measure::Share(_) | Measure::Part(_) if multiplied => Err(Unclear::Shape),
            Measure::Share(place) => Ok(Expr::Share(place)),
            Measure::Part(place) => Ok(Expr::Part(place)),
            Measure::Made(Func::Sum | Func::Average | Func::Median, _) if multiplied => Err(Unclear::Shape),
            Measure::Made(Func::Sum | Func::Average | Func::Median, place)
                if self.schema.field(place).names_identity() || !self.schema.field(place).is_number() =>
            {
                Err(Unclear::Shape)
            }
            Measure::Made(func, place) => Ok(Expr::Made(func, place)),
        }
    }
}
