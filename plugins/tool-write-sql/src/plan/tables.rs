//! The tables that a query reads, and their joins.

use super::Planner;
use super::query::{Expr, Query, Related};
use crate::answer::layer;
use crate::joins::{leads_astray, leads_beside};
use crate::schema::{Kind, Place};
use crate::understand::meaning::{Filter, Group, Measure, Test, Unclear};
use crate::words::phrases::{Compare, Func};

impl Planner<'_> {
    /// Joins the needed tables. A table that is only mentioned is joined if that excludes rows; otherwise it
    /// changes nothing: every order has its customer.
    pub(super) fn join(&self, query: &mut Query, mut needed: Vec<usize>) -> Result<(), Unclear> {
        needed.extend(
            query
                .conditions
                .iter()
                .map(|filter| filter.place.table)
                .filter(|table| Some(*table) != self.meaning.without && !self.beyond.contains(table)),
        );
        needed.extend(query.share.as_ref().map(|share| share.place.table));
        needed.extend(query.time.map(|place| place.table));
        needed.extend(
            query
                .order
                .iter()
                .filter_map(|(expr, _)| if let Expr::Field(place) = expr { Some(place.table) } else { None }),
        );
        needed.retain(|table| Some(*table) != self.meaning.without);
        let mut joined = vec![query.from];
        for table in needed {
            self.add(query, &mut joined, table)?;
        }
        for &table in &self.meaning.tables {
            if joined.contains(&table)
                || self.beyond.contains(&table)
                || self.is_counted_by_events(query, table)
                || self.is_counted_by_parts(query, table)
            {
                continue;
            }
            let way = self.way(&joined, table)?;
            // What happened to the workflow of an execution is not that of the execution.
            if leads_beside(&way) && !self.meaning.measures.is_empty() {
                return Err(Unclear::Shape);
            }
            if !way.iter().all(|step| step.up) {
                self.add(query, &mut joined, table)?;
            }
        }
        // `speak languages other than English`: a row without a language is none of these.
        let is_of_many = |table: usize| query.joins.iter().any(|step| !step.up && step.to() == table);
        let is_other =
            |filter: &&Filter| matches!(filter.test, Test::Among(_, false)) && is_of_many(filter.place.table);
        let others: Vec<Place> =
            query.conditions.iter().filter(is_other).map(|filter| filter.place).collect();
        query.conditions.extend(others.into_iter().map(|place| Filter { place, test: Test::Present }));
        Ok(())
    }

    /// Whether the table's rows are counted by rows that refer to them.
    fn is_counted_by_events(&self, query: &Query, table: usize) -> bool {
        self.meaning.measures == [Measure::Count(table)] && query.from != table
    }

    /// Whether the table's rows are counted by their parts, which name them.
    fn is_counted_by_parts(&self, query: &Query, table: usize) -> bool {
        self.meaning.measures.contains(&Measure::Count(table))
            && self.links.to_whole(self.schema, query.from, table).is_some()
    }

    pub(super) fn way(&self, joined: &[usize], table: usize) -> Result<Vec<crate::joins::Step>, Unclear> {
        self.links.way(joined, table, self.schema.tables.len()).ok_or_else(|| {
            let name = |table: usize| self.schema.table(table).name.clone();
            Unclear::Apart(name(joined[0]), name(table))
        })
    }

    /// Whether each row of a table has one row at most of the other: itself, or a parent's.
    pub(super) fn has_one(&self, table: usize, other: usize) -> bool {
        table == other || self.way(&[table], other).is_ok_and(|way| way.iter().all(|step| step.up))
    }

    fn add(&self, query: &mut Query, joined: &mut Vec<usize>, table: usize) -> Result<(), Unclear> {
        if joined.contains(&table) {
            return Ok(());
        }
        // The customer of a sale is its own, though its order names one, too.
        let own = self.links.direct(query.from, table).map(|_| self.way(&[query.from], table));
        let way = match self.way(joined, table) {
            Err(unclear) => own.and_then(Result::ok).ok_or(unclear)?,
            Ok(way) => way,
        };
        if leads_astray(&way) {
            let name = |table: usize| self.schema.table(table).name.clone();
            return Err(Unclear::Apart(name(joined[0]), name(table)));
        }
        for step in way {
            if !joined.contains(&step.to()) {
                joined.push(step.to());
                query.joins.push(step);
            }
        }
        Ok(())
    }

    /// Events are counted where they are recorded: `workflows published` in publications, each workflow once.
    /// The workflows need not be read, and deleted ones still count.
    pub(super) fn count_by_events(&self, query: &mut Query) -> Option<Place> {
        let [Measure::Count(table)] = self.meaning.measures[..] else { return None };
        let time = query.time.filter(|time| time.table != table)?;
        let link = self.links.direct(time.table, table)?;
        let used = |group: &Group| match group {
            Group::Table(group) => *group == table,
            Group::Field(place) => place.table == table,
        };
        let filtered = query.conditions.iter().any(|filter| filter.place.table == table);
        if filtered
            || !query.present.is_empty()
            || self.meaning.groups.iter().any(used)
            || self.meaning.without.is_some()
        {
            return None;
        }
        query.from = time.table;
        Some(link.child)
    }

    /// `students who do not have a cat`: students without any such pet, instead of students with another pet.
    pub(super) fn turn_not(&mut self, entity: usize) -> Result<(), Unclear> {
        for at in 0..self.meaning.filters.len() {
            let table = self.meaning.filters[at].place.table;
            let Test::Among(values, false) = &self.meaning.filters[at].test else { continue };
            // `orders that are not cancelled` are orders.
            if !self.meaning.turned.contains(&self.meaning.filters[at].place) {
                continue;
            }
            if table == entity || self.way(&[entity], table)?.iter().all(|step| step.up) {
                continue;
            }
            let (test, values) = (Test::Among(values.clone(), true), values.clone());
            let place = self.in_layer_of(entity, self.meaning.filters[at].place, &values);
            self.meaning.filters[at].place = place;
            let table = place.table;
            if self.meaning.without.replace(table).is_some() {
                return Err(Unclear::Shape);
            }
            self.meaning.tables.retain(|known| *known != table);
            self.meaning.filters[at].test = test;
        }
        Ok(())
    }

    /// `orders with more than one category`: of all their items, and not only of those that were paid.
    pub(super) fn kinds_of_things(&mut self) {
        let [thing] = self.meaning.tables[..] else { return };
        let having =
            self.meaning.having.clone().into_iter().map(|(measure, compare, number)| match measure {
                Measure::Different(place) if place.table != thing => {
                    (Measure::Different(self.in_layer_of(thing, place, &[])), compare, number)
                }
                other => (other, compare, number),
            });
        self.meaning.having = having.collect();
    }

    /// The same field in the layer of what lacks it: an order without tea lacks it among the items of all orders, and not only
    /// among those that were paid.
    fn in_layer_of(&self, entity: usize, place: Place, values: &[String]) -> Place {
        let layer_of = |table: usize| layer(&self.schema.table(table).name);
        let field = self.schema.field(place);
        if layer_of(entity) == layer_of(place.table) {
            return place;
        }
        let is_same = |other: &Place| {
            let known = self.schema.field(*other);
            known.name.eq_ignore_ascii_case(&field.name)
                && values.iter().all(|value| known.values.contains(value))
        };
        let tables = (0..self.schema.tables.len()).filter(|table| layer_of(*table) == layer_of(entity));
        let mut same = tables.flat_map(|table| self.schema.places(table)).filter(is_same);
        match (same.next(), same.next()) {
            (Some(only), None) if self.way(&[entity], only.table).is_ok() => only,
            _ => place,
        }
    }

    /// `above the average`: of the rows that are asked for, and not of the lines of something that they have.
    pub(super) fn compares_rows(&self, entity: usize) -> Result<(), Unclear> {
        let is_average = |test: &Test| matches!(test, Test::Versus(_, Func::Average));
        let is_kind = |item: &Place| {
            self.schema.title(entity) != Some(*item) && self.schema.field(*item).kind() == Kind::Text
        };
        let mut others = self.meaning.filters.iter().filter(|filter| {
            is_average(&filter.test)
                && (filter.place.table != entity
                    || self.sums(filter.place) && self.meaning.items.iter().any(is_kind))
        });
        if others.next().is_some() { Err(Unclear::Shape) } else { Ok(()) }
    }

    /// `speak English and French`: a row has both only in different rows of the other table, each of which must exist.
    /// So must a `dog` beside `no cat`.
    pub(super) fn each_value(&mut self, entity: usize) -> Result<Vec<Related>, Unclear> {
        let mut present = Vec::new();
        for place in std::mem::take(&mut self.meaning.joined) {
            if place.table == entity {
                continue;
            }
            let way = self.way(&[entity], place.table)?;
            if way.iter().all(|step| step.up) {
                continue;
            }
            let at = self.meaning.filters.iter().position(|filter| filter.place == place);
            let Some(at) = at else { continue };
            let tests: Vec<Test> = match self.meaning.filters.remove(at).test {
                Test::Among(values, true) => {
                    values.into_iter().map(|value| Test::Among(vec![value], true)).collect()
                }
                Test::Numbers(numbers) => {
                    numbers.into_iter().map(|number| Test::Number(Compare::Equal, number)).collect()
                }
                _ => return Err(Unclear::Shape),
            };
            // What else is said of those rows is said of each.
            let is_turned = |filter: &Filter| matches!(filter.test, Test::Among(_, false));
            let (others, outside): (Vec<Filter>, Vec<Filter>) = self
                .meaning
                .filters
                .drain(..)
                .partition(|filter| filter.place.table == place.table && !is_turned(filter));
            self.meaning.filters = outside;
            let key = self.schema.key(entity).ok_or(Unclear::Shape)?;
            let (first, steps) = way.split_first().filter(|(first, _)| !first.up).ok_or(Unclear::Shape)?;
            let counted = |measure: &Measure| measure.table() == place.table && place.table != entity;
            if self.meaning.measures.iter().any(counted) || self.meaning.range.is_some() {
                return Err(Unclear::Shape);
            }
            present.extend(tests.into_iter().map(|test| {
                let one = Filter { place, test };
                let conditions = std::iter::once(one).chain(others.iter().cloned()).collect();
                Related { key, child: first.link.child, steps: steps.to_vec(), conditions }
            }));
            let passed: Vec<usize> = way.iter().map(|step| step.to()).collect();
            self.meaning.tables.retain(|table| !passed.contains(table));
        }
        let shows_both = |before: usize| self.meaning.items.len() >= before + 2;
        if present.is_empty() && !self.meaning.both.is_none_or(shows_both) {
            return Err(Unclear::Shape);
        }
        Ok(present)
    }

    /// `no visit of a museum opened after 2010`: the museum is that of the visits that must not exist.
    pub(super) fn look_beyond(&mut self, entity: usize) -> Result<(), Unclear> {
        let Some(without) = self.meaning.without else { return Ok(()) };
        let filtered = self.meaning.filters.iter().map(|filter| filter.place.table);
        let others: Vec<usize> = self.meaning.tables.iter().copied().chain(filtered).collect();
        for table in others {
            if table == entity || table == without || self.beyond.contains(&table) {
                continue;
            }
            let way = self.way(&[entity], table)?;
            if way.iter().any(|step| step.to() == without) {
                self.beyond.push(table);
            }
        }
        Ok(())
    }

    /// `without orders`: rows whose key no order refers to.
    pub(super) fn absent(&self, query: &mut Query, entity: usize) -> Result<(), Unclear> {
        let Some(without) = self.meaning.without else { return Ok(()) };
        let key = self.schema.key(entity).ok_or(Unclear::Shape)?;
        let way = self.way(&[entity], without)?;
        if leads_astray(&way) {
            return Err(Unclear::Shape);
        }
        let Some((first, rest)) = way.split_first().filter(|(first, _)| !first.up) else {
            return Err(Unclear::Shape);
        };
        // What must not exist is not read beside.
        if query.joins.iter().any(|step| step.link.child == first.link.child) {
            return Err(Unclear::Shape);
        }
        let (inside, outside): (Vec<Filter>, Vec<Filter>) = query
            .conditions
            .drain(..)
            .partition(|filter| filter.place.table == without || self.beyond.contains(&filter.place.table));
        query.conditions = outside;
        // `没买过龙井`: which orders must not exist is open.
        let is_of_many =
            |filter: &Filter| filter.place.table != entity && !self.has_one(entity, filter.place.table);
        if query.conditions.iter().any(is_of_many) || query.time.is_some_and(|time| time.table != entity) {
            return Err(Unclear::Shape);
        }
        let mut steps = rest.to_vec();
        for filter in inside.iter().filter(|filter| filter.place.table != without) {
            let more = self.way(&[without], filter.place.table)?;
            steps.extend(more.into_iter().filter(|step| !rest.contains(step)));
        }
        steps.dedup();
        while steps.last().is_some_and(|step| step.up && inside.is_empty()) {
            steps.pop();
        }
        query.absent = Some(Related { key, child: first.link.child, steps, conditions: inside });
        Ok(())
    }
}
