//! The tables that a query reads, and their joins.

use super::Planner;
use super::query::{Absent, Expr, Query};
use crate::schema::Place;
use crate::understand::meaning::{Filter, Group, Measure, Test, Unclear};

impl Planner<'_> {
    /// Joins the needed tables. A table that is only mentioned is joined if that excludes rows; otherwise it
    /// changes nothing: every order has its customer.
    pub(super) fn join(&self, query: &mut Query, mut needed: Vec<usize>) -> Result<(), Unclear> {
        needed.extend(
            query
                .conditions
                .iter()
                .map(|filter| filter.place.table)
                .filter(|table| Some(*table) != self.meaning.without),
        );
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
            if joined.contains(&table) || self.is_counted_by_events(query, table) {
                continue;
            }
            let way = self.way(&joined, table)?;
            if !way.iter().all(|step| step.up) {
                self.add(query, &mut joined, table)?;
            }
        }
        Ok(())
    }

    /// Whether the table's rows are counted by rows that refer to them.
    fn is_counted_by_events(&self, query: &Query, table: usize) -> bool {
        self.meaning.measures == [Measure::Count(table)] && query.from != table
    }

    pub(super) fn way(&self, joined: &[usize], table: usize) -> Result<Vec<crate::joins::Step>, Unclear> {
        self.links.way(joined, table, self.schema.tables.len()).ok_or_else(|| {
            let name = |table: usize| self.schema.table(table).name.clone();
            Unclear::Apart(name(joined[0]), name(table))
        })
    }

    fn add(&self, query: &mut Query, joined: &mut Vec<usize>, table: usize) -> Result<(), Unclear> {
        if joined.contains(&table) {
            return Ok(());
        }
        for step in self.way(joined, table)? {
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
        if filtered || self.meaning.groups.iter().any(used) || self.meaning.without.is_some() {
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
            let test = Test::Among(values.clone(), true);
            if self.meaning.without.replace(table).is_some() {
                return Err(Unclear::Shape);
            }
            self.meaning.tables.retain(|known| *known != table);
            self.meaning.filters[at].test = test;
        }
        Ok(())
    }

    /// `without orders`: rows whose key no order refers to.
    pub(super) fn absent(&self, query: &mut Query, entity: usize) -> Result<(), Unclear> {
        let Some(without) = self.meaning.without else { return Ok(()) };
        let key = self.schema.key(entity).ok_or(Unclear::Shape)?;
        let way = self.way(&[entity], without)?;
        let Some((first, rest)) = way.split_first().filter(|(first, _)| !first.up) else {
            return Err(Unclear::Shape);
        };
        let (inside, outside): (Vec<Filter>, Vec<Filter>) =
            query.conditions.drain(..).partition(|filter| filter.place.table == without);
        query.conditions = outside;
        if query.time.is_some_and(|time| time.table != entity) {
            return Err(Unclear::Shape);
        }
        let mut steps = rest.to_vec();
        while steps.last().is_some_and(|step| step.up && inside.is_empty()) {
            steps.pop();
        }
        query.absent = Some(Absent { key, child: first.link.child, steps, conditions: inside });
        Ok(())
    }
}
