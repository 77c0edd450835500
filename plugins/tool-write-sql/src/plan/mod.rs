//! Turns a meaning into an equivalent query, or refuses it.
//!
//! The main risk is a join that multiplies rows: a measure uses the rows of its own table, and every other
//! table must be reached through parents, or else rows are counted by distinct keys.

pub mod algebra;
pub mod compare;
mod complete;
mod numbers;
mod occasions;
pub mod query;
mod refusals;
mod sets;
mod tables;
mod times;

use crate::calendar::{Day, Unit};
use crate::joins::{Links, leads_beside};
use crate::known::Known;
use crate::labels::Labels;
use crate::schema::{Place, Schema};
use crate::sums;
use crate::understand::meaning::{By, Filter, Group, Meaning, Measure, Test, Unclear};
pub use occasions::ACTORS;
use query::{Expr, Query, Shape};

/// Rows of an answer at most.
pub const ROWS_MAX: u64 = 1_000;
/// Rows of a file of its result at most.
const FILE_ROWS_MAX: u64 = 100_000;
/// Rows of a ranking without a number.
const RANKING_ROWS: u64 = 10;
/// Fields of a row if the question names none.
const FIELDS_SHOWN: usize = 12;

struct Planner<'a> {
    today: Day,
    schema: &'a Schema,
    links: &'a Links,
    labels: Labels<'a>,
    meaning: Meaning,
    /// Tables behind the one whose rows must not exist: what is said of them is said of those rows.
    beyond: Vec<usize>,
    /// What a ranking is made for each of.
    each: Option<Group>,
    /// A thing for each of which the number is meant, and the field by which the rows name it.
    per_each: Option<(usize, Place)>,
}

/// The query for a meaning.
pub fn plan(known: &Known<'_>, meaning: Meaning, labels: Labels<'_>, today: Day) -> Result<Query, Unclear> {
    let mut planner = Planner {
        today,
        schema: known.schema,
        links: &known.links,
        labels,
        meaning,
        beyond: Vec::new(),
        each: None,
        per_each: None,
    };
    planner.share_of_weekdays()?;
    planner.fiscal_quarters()?;
    planner.one_place()?;
    if planner.meaning.occasion.is_some() {
        return planner.occasions();
    }
    let set = planner.set_of_days()?;
    let kinds = planner.set_of_kinds();
    planner.kinds_of_things();
    planner.sums_of_things()?;
    planner.rank_of_sides();
    planner.rank_by_sales(&known.names);
    planner.first_in_time();
    planner.refuses_kinds()?;
    planner.order_by_sums();
    planner.rank_in_each();
    let counted = planner.count_of_groups();
    planner.number_per_thing();
    planner.average_of_groups();
    planner.count_what_is_named();
    planner.sum_what_sums();
    planner.groups_without_numbers()?;
    planner.complete_measures()?;
    planner.rank_of_a_parent()?;
    planner.nothing_is_left()?;
    planner.complete_groups()?;
    planner.meaning.groups.splice(..0, planner.each);
    let mut query = if planner.meaning.measures.is_empty() { planner.rows()? } else { planner.numbers()? };
    if let Some(kinds) = kinds {
        query.present.extend(kinds.present);
        query.absent = query.absent.or(kinds.absent);
    }
    if let Some(set) = set {
        query.present.push(set.present);
        query.absent = Some(set.absent);
    }
    if planner.meaning.averages_groups {
        let measure = planner.meaning.measures[0];
        let alias = match planner.meaning.unit {
            Some(unit) => planner.labels.average_of_units(measure, unit),
            None => planner.labels.average(measure, &planner.grouped_tables()),
        };
        if !query.average_groups(alias) {
            return Err(Unclear::Shape);
        }
    }
    if let (true, Some(unit)) = (planner.meaning.counts_units, planner.meaning.unit) {
        // Of days with a number: which there are, and not which is first.
        if planner.meaning.rank.is_some() || query.having.is_empty() {
            return Err(Unclear::Shape);
        }
        query.count_groups(planner.labels.number_of_units(unit));
    }
    if let Some(table) = counted {
        query.count_groups(planner.labels.measure(Measure::Count(table)));
    }
    if let Some(place) = planner.meaning.place {
        query.begin_at(place)?;
    }
    if planner.meaning.fiscal && query.names_quarters() {
        query.fiscal = Some(planner.schema.first_month()).filter(|month| *month > 1);
    }
    // `sold in Shanghai but not in Beijing`, of the same row.
    let is_among =
        |filter: &Filter, wanted: bool| matches!(&filter.test, Test::Among(_, among) if *among == wanted);
    let contradicts = |filter: &Filter| {
        is_among(filter, true)
            && query.conditions.iter().any(|other| other.place == filter.place && is_among(other, false))
    };
    if query.conditions.iter().any(contradicts) {
        return Err(Unclear::Shape);
    }
    // What is said of rows that must not exist cannot be told apart.
    if query.reads_only_its_tables() { Ok(query) } else { Err(Unclear::Shape) }
}

impl Planner<'_> {
    /// `share of orders on weekends`: a condition on the time of the rows.
    fn share_of_weekdays(&mut self) -> Result<(), Unclear> {
        if !self.meaning.shares_weekdays {
            return Ok(());
        }
        let [measure @ (Measure::Share(_) | Measure::Part(_))] = self.meaning.measures[..] else {
            return Err(Unclear::Shape);
        };
        let place = self.time(measure.table())?;
        if place.table != measure.table() || self.meaning.share.is_some() {
            return Err(Unclear::Shape);
        }
        let days = std::mem::take(&mut self.meaning.weekdays);
        self.meaning.share = Some(Filter { place, test: Test::Weekdays(days.to_vec()) });
        Ok(())
    }

    /// Quarters of fiscal years are those of the calendar under other names, or there are none.
    fn fiscal_quarters(&self) -> Result<(), Unclear> {
        let month = self.schema.first_month();
        let fits = match self.meaning.unit {
            Some(Unit::Quarter) => (month - 1) % 3 == 0,
            Some(Unit::Year) => month == 1,
            _ => true,
        };
        if self.meaning.fiscal && !fits { Err(Unclear::Shape) } else { Ok(()) }
    }

    /// `the second`: one row of a ranking.
    fn one_place(&mut self) -> Result<(), Unclear> {
        if self.meaning.place.is_none() {
            return Ok(());
        }
        if self.meaning.occasion.is_some() || self.meaning.limit.replace(1).is_some() {
            return Err(Unclear::Shape);
        }
        Ok(())
    }

    /// Checks that a number precedes the things that it limits.
    fn limits(&self, tables: &[usize]) -> Result<(), Unclear> {
        if self.meaning.limited.is_some_and(|table| !tables.contains(&table)) {
            return Err(Unclear::Shape);
        }
        Ok(())
    }

    /// Plain rows.
    fn rows(&mut self) -> Result<Query, Unclear> {
        let meaning = self.meaning.clone();
        // `October compared with September`: of what?
        let has_days = meaning.range.is_some() || !meaning.weekdays.is_empty();
        if has_days && meaning.tables.is_empty() && meaning.items.is_empty() && meaning.filters.is_empty() {
            return Err(Unclear::NoNumber);
        }
        let computes = meaning.against.is_some() || meaning.growth || meaning.cumulative || meaning.of_total;
        // `the largest order each month`: of a calendar unit there are only numbers.
        if computes
            || self.each.is_some()
            || meaning.cycle.is_some()
            || meaning.unit.is_some()
            || meaning.trend
        {
            return Err(Unclear::Shape);
        }
        let ranked = match meaning.rank {
            Some((By::Field(place), _)) => Some(place),
            _ => None,
        };
        let first = meaning.items.first().map(|item| item.table);
        let first = first.or(meaning.entity).or(meaning.tables.first().copied());
        let entity = first.or(ranked.map(|place| place.table)).ok_or(Unclear::Shape)?;
        if meaning.filters.is_empty() && meaning.tables.is_empty() && meaning.items.is_empty() {
            return Err(Unclear::Shape);
        }
        // `cities and revenue`, `revenue by price`: not single sales.
        let is_sale = |item: &Place| sums::flows(self.schema.field(*item));
        // `products that sold worst`: by the sales of each, and not by a single one.
        if ranked.is_some_and(|place| place.table != entity && is_sale(&place)) {
            return Err(Unclear::Shape);
        }
        if meaning.tables.is_empty() && meaning.items.iter().any(is_sale) {
            return Err(Unclear::Shape);
        }
        let shown = if meaning.items.is_empty() { self.shown(entity) } else { meaning.items.clone() };
        let order = self.order_of_rows();
        // A question that says what to show gets that.
        let also = ranked.into_iter().filter(|place| meaning.items.is_empty() && !shown.contains(place));
        let mut fields: Vec<Place> = shown.iter().copied().chain(also).collect();
        // Beside the key: an answer's first sentence has room for some.
        if let Some(at) = ranked.and_then(|ranked| fields.iter().position(|place| *place == ranked))
            && meaning.items.is_empty()
            && at > 1
        {
            let place = fields.remove(at);
            fields.insert(1, place);
        }
        self.limits(&[entity])?;
        self.compares_rows(entity)?;
        let present = self.each_value(entity)?;
        self.turn_not(entity)?;
        self.look_beyond(entity)?;
        let ordered = order.iter().filter_map(|(expr, _)| match expr {
            Expr::Field(place) => Some(*place),
            _ => None,
        });
        let needed: Vec<Place> = shown.iter().copied().chain(ordered).collect();
        // The names of players are those of people, but the rows are players.
        let asked = meaning.entity.or(meaning.tables.first().copied());
        let asked = asked.filter(|table| Some(*table) != meaning.without && self.reaches(*table, &needed));
        let from = match ranked {
            Some(place) => place.table,
            None => asked.or_else(|| self.lowest(&needed)).unwrap_or(entity),
        };
        let mut query = self.start(from, Shape::Table);
        query.present = present;
        query.columns = self.labels.columns(&fields);
        // NULL is neither the least nor the greatest.
        query.conditions.extend(ranked.map(|place| Filter { place, test: Test::Present }));
        query.order = order;
        query.limit = self.limit();
        self.find_time(&mut query)?;
        let needed = fields.iter().map(|place| place.table).collect();
        // The scientists of a project's laboratory are not those of the project.
        let is_beside = |place: &Place| self.way(&[from], place.table).is_ok_and(|way| leads_beside(&way));
        if let Some(other) = fields.iter().find(|place| is_beside(place)) {
            let name = |table: usize| self.schema.table(table).name.clone();
            return Err(Unclear::Apart(name(from), name(other.table)));
        }
        self.join(&mut query, needed)?;
        // `有哪些渠道`: each once.
        let is_of_kinds = meaning.tables.is_empty() || meaning.asks_kinds;
        let of_kinds = is_of_kinds && self.asks_for_kinds() && query.order.is_empty();
        query.different = of_kinds
            || self.meaning.different
            || (query.joins.iter().any(|step| !step.up) && ranked.is_none());
        if query.different
            && query.order.iter().any(|(expr, _)| !query.columns.iter().any(|column| column.expr == *expr))
        {
            return Err(Unclear::Shape);
        }
        if ranked.is_some() && query.joins.iter().any(|step| !step.up) {
            return Err(Unclear::Shape);
        }
        self.absent(&mut query, entity)?;
        Ok(query)
    }

    /// Whether all these fields are of a table or of its parents.
    fn reaches(&self, table: usize, fields: &[Place]) -> bool {
        fields.iter().all(|field| self.has_one(table, field.table))
    }

    /// Of the tables of these fields the one that reaches all others by parents: its rows are what is listed.
    fn lowest(&self, fields: &[Place]) -> Option<usize> {
        fields.iter().map(|field| field.table).find(|table| self.reaches(*table, fields))
    }

    fn order_of_rows(&self) -> Vec<(Expr, bool)> {
        [self.meaning.rank, self.meaning.order]
            .into_iter()
            .flatten()
            .filter_map(
                |(by, greatest)| {
                    if let By::Field(place) = by { Some((Expr::Field(place), greatest)) } else { None }
                },
            )
            .collect()
    }

    /// The fields that represent a row of a table.
    fn shown(&self, table: usize) -> Vec<Place> {
        match self.schema.title(table) {
            Some(title) => vec![title],
            None => self.schema.places(table).take(FIELDS_SHOWN).collect(),
        }
    }

    fn limit(&self) -> u64 {
        match (self.meaning.limit, self.meaning.rank) {
            (Some(limit), _) => limit,
            (None, Some(_)) if self.meaning.one => 1,
            (None, Some(_)) => RANKING_ROWS,
            (None, None) => ROWS_MAX,
        }
    }

    fn start(&self, from: usize, shape: Shape) -> Query {
        Query {
            from,
            joins: Vec::new(),
            columns: Vec::new(),
            conditions: self.meaning.filters.clone(),
            absent: None,
            present: Vec::new(),
            groups: Vec::new(),
            outer: None,
            having: Vec::new(),
            known: None,
            order: Vec::new(),
            limit: ROWS_MAX,
            offset: 0,
            limit_asked: self.meaning.limit.is_some(),
            begins_within: false,
            ends_within: false,
            widened: None,
            share: self.meaning.share.clone(),
            whole: self.meaning.whole.clone(),
            of_groups: false,
            averaged: None,
            above: None,
            derived: Vec::new(),
            periods: None,
            first_of_each: None,
            different: false,
            calendar: None,
            unit: None,
            fiscal: None,
            cycle: None,
            time: None,
            shape,
        }
    }
}
