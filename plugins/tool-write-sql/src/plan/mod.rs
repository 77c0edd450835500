//! From a meaning to a query that means it, or a refusal.
//!
//! The one danger is a join that multiplies rows: a measure is taken from its own table's rows, and every other
//! table must be reached to the parent, or rows are counted by their key.

pub mod query;
mod tables;
mod times;

use crate::calendar::Day;
use crate::joins::Links;
use crate::labels::Labels;
use crate::schema::{Place, Schema};
use crate::understand::meaning::{By, Filter, Group, Meaning, Measure, Test, Unclear};
use crate::words::phrases::Func;
use crate::words::{concept, english};
use query::{Column, Expr, Query, Shape};

/// Rows of an answer at most.
const ROWS_MAX: u64 = 1_000;
/// Rows of a ranking that does not say how many.
const RANKING_ROWS: u64 = 10;
/// Last words of fields whose values add up.
const SUMMED: &[&str] = &["amount", "sale", "revenue", "cost", "quantity", "profit", "total", "turnover"];
/// Fields of a row that nobody chose fields of.
const FIELDS_SHOWN: usize = 12;

struct Planner<'a> {
    today: Day,
    schema: &'a Schema,
    links: Links,
    labels: Labels<'a>,
    meaning: Meaning,
}

/// The query for a meaning.
pub fn plan(schema: &Schema, meaning: Meaning, labels: Labels<'_>, today: Day) -> Result<Query, Unclear> {
    let links = Links::of(schema);
    let mut planner = Planner { today, schema, links, labels, meaning };
    planner.sum_what_sums();
    planner.complete_measures()?;
    planner.complete_groups()?;
    if planner.meaning.measures.is_empty() { planner.rows() } else { planner.numbers() }
}

impl Planner<'_> {
    /// `订单金额` of each month is the sum of amounts; `for each singer` of a list says nothing.
    fn sum_what_sums(&mut self) {
        let meaning = &mut self.meaning;
        let bare = meaning.measures.is_empty() && meaning.rank.is_none() && meaning.order.is_none();
        let told_apart = meaning.unit.is_some() || meaning.trend || !meaning.groups.is_empty();
        let sums = |place: &Place| {
            let field = self.schema.field(*place);
            let words = english::name_words(&field.name);
            let named = |word: &String| SUMMED.contains(&concept(word).as_str());
            field.is_number() && words.last().is_some_and(named)
        };
        if bare && told_apart && !meaning.items.is_empty() && meaning.items.iter().all(sums) {
            meaning.measures = meaning.items.drain(..).map(|place| Measure::Made(Func::Sum, place)).collect();
        }
        let tables = meaning
            .groups
            .iter()
            .map(|group| if let Group::Table(table) = group { Some(*table) } else { None });
        if meaning.measures.is_empty()
            && meaning.having.is_empty()
            && meaning.unit.is_none()
            && !meaning.trend
            && let Some(tables) = tables.collect::<Option<Vec<usize>>>()
        {
            meaning.groups.clear();
            meaning.tables.extend(tables);
        }
    }

    /// A ranking's measure is shown; a trend of things counts them.
    fn complete_measures(&mut self) -> Result<(), Unclear> {
        let meaning = &mut self.meaning;
        let by = [meaning.rank, meaning.order].into_iter().flatten().map(|(by, _)| by);
        let ranked: Vec<Measure> =
            by.filter_map(|by| if let By::Measure(measure) = by { Some(measure) } else { None }).collect();
        for measure in ranked {
            if !meaning.measures.contains(&measure) {
                meaning.measures.push(measure);
            }
        }
        if meaning.measures.is_empty() && (meaning.unit.is_some() || meaning.trend) {
            let table = meaning.tables.last().ok_or(Unclear::Shape)?;
            meaning.measures.push(Measure::Count(*table));
        }
        if !meaning.having.is_empty() && meaning.measures.is_empty() {
            meaning.measures.extend(meaning.having.iter().map(|(measure, ..)| *measure));
            meaning.measures.dedup();
        }
        // The greatest of another table's field over several things means its sum.
        if let Some((By::Field(place), greatest)) = meaning.rank
            && let Some(entity) = meaning
                .tables
                .iter()
                .chain(meaning.items.iter().map(|item| &item.table))
                .find(|table| **table != place.table)
                .copied()
            && meaning.measures.is_empty()
            && !meaning.tables.contains(&place.table)
        {
            if meaning.limit == Some(1) || meaning.limit.is_none() && meaning.one || !meaning.items.is_empty()
            {
                return Err(Unclear::Ambiguous(self.schema.field(place).name.clone()));
            }
            let sum = Measure::Made(Func::Sum, place);
            meaning.rank = Some((By::Measure(sum), greatest));
            meaning.measures.push(sum);
            meaning.groups = vec![Group::Table(entity)];
        }
        Ok(())
    }

    /// What numbers are told apart by where no word like `per` says so.
    fn complete_groups(&mut self) -> Result<(), Unclear> {
        let meaning = &mut self.meaning;
        if meaning.measures.is_empty() {
            return if meaning.groups.is_empty() { Ok(()) } else { Err(Unclear::Shape) };
        }
        let counted: Vec<usize> = meaning.measures.iter().map(|measure| measure.table()).collect();
        let others: Vec<usize> =
            meaning.tables.iter().copied().filter(|table| !counted.contains(table)).collect();
        let ranked = matches!(meaning.rank, Some((By::Measure(_), _))) || !meaning.having.is_empty();
        let first_item = meaning.items.first().map(|item| item.table);
        if meaning.groups.is_empty() && meaning.unit.is_none() && (ranked || first_item.is_some()) {
            meaning.groups = match first_item {
                Some(table) if others.contains(&table) => vec![Group::Table(table)],
                Some(_) => meaning.items.iter().map(|item| Group::Field(*item)).collect(),
                None => match others[..] {
                    [only] => vec![Group::Table(only)],
                    _ => return Err(Unclear::Shape),
                },
            };
        }
        let grouped = |table: usize| meaning.groups.contains(&Group::Table(table));
        let shown = |item: &Place| grouped(item.table) || meaning.groups.contains(&Group::Field(*item));
        if !meaning.items.iter().all(shown)
            || meaning
                .groups
                .iter()
                .any(|group| matches!(group, Group::Table(table) if counted.contains(table)))
        {
            return Err(Unclear::Shape);
        }
        if meaning.rank.is_some() && matches!(meaning.rank, Some((By::Field(_), _))) {
            return Err(Unclear::Shape);
        }
        // `the best customers per city` asks for a ranking in each group.
        let in_group = |table: &usize| {
            meaning.groups.iter().any(|group| match group {
                Group::Table(grouped) => grouped == table,
                Group::Field(place) => place.table == *table,
            })
        };
        if ranked && !others.iter().all(in_group) && meaning.rank.is_some() {
            return Err(Unclear::Shape);
        }
        Ok(())
    }

    /// Rows as they are.
    fn rows(&mut self) -> Result<Query, Unclear> {
        let meaning = self.meaning.clone();
        let ranked = match meaning.rank {
            Some((By::Field(place), _)) => Some(place),
            _ => None,
        };
        let first = meaning.items.first().map(|item| item.table).or(meaning.tables.first().copied());
        let entity = first.or(ranked.map(|place| place.table)).ok_or(Unclear::Shape)?;
        if meaning.filters.is_empty() && meaning.tables.is_empty() && meaning.items.is_empty() {
            return Err(Unclear::Shape);
        }
        let shown = if meaning.items.is_empty() { self.shown(entity) } else { meaning.items.clone() };
        let order = self.order_of_rows();
        let also = ranked.into_iter().filter(|place| !shown.contains(place));
        let fields: Vec<Place> = shown.iter().copied().chain(also).collect();
        self.turn_not(entity)?;
        let mut query = self.start(ranked.map_or(entity, |place| place.table), Shape::Table);
        query.columns = self.labels.columns(&fields);
        // NULL is neither the least nor the greatest.
        query.conditions.extend(ranked.map(|place| Filter { place, test: Test::Present }));
        query.order = order;
        query.limit = self.limit();
        self.find_time(&mut query)?;
        let needed = fields.iter().map(|place| place.table).collect();
        self.join(&mut query, needed)?;
        query.different =
            self.meaning.different || (query.joins.iter().any(|step| !step.up) && ranked.is_none());
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

    /// What a row of a table is shown by.
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
            groups: Vec::new(),
            having: Vec::new(),
            order: Vec::new(),
            limit: ROWS_MAX,
            different: false,
            calendar: None,
            time: None,
            shape,
        }
    }

    /// Numbers, for each group if there are any.
    fn numbers(&mut self) -> Result<Query, Unclear> {
        let base = self.meaning.measures[0].table();
        let all = self
            .meaning
            .measures
            .iter()
            .copied()
            .chain(self.meaning.having.iter().map(|(measure, ..)| *measure));
        if all.clone().any(|measure| measure.table() != base) {
            return Err(Unclear::Shape);
        }
        self.turn_not(base)?;
        let mut query = self.start(base, Shape::Value);
        self.find_time(&mut query)?;
        let by_events = self.count_by_events(&mut query);
        let mut needed = self.group(&mut query)?;
        needed.push(if by_events.is_some() { query.from } else { base });
        self.join(&mut query, needed)?;
        let multiplied = query.joins.iter().any(|step| !step.up);
        // A trend of what was done counts each time: a workflow published twice on a day, twice.
        let each_time = by_events.is_some() && self.meaning.passive && query.calendar.is_some();
        let counted = by_events.filter(|_| !each_time);
        for measure in self.meaning.measures.clone() {
            let expr = self.expr(measure, counted, multiplied)?;
            let named = if each_time { Measure::Count(query.from) } else { measure };
            query.columns.push(Column { expr, alias: self.labels.measure(named), measure: true });
        }
        for (measure, compare, number) in self.meaning.having.clone() {
            query.having.push((self.expr(measure, counted, multiplied)?, compare, number));
        }
        self.absent(&mut query, base)?;
        self.finish_numbers(&mut query, counted, multiplied)?;
        self.labels.tell_apart(&mut query.columns);
        Ok(query)
    }

    fn finish_numbers(
        &self,
        query: &mut Query,
        counted: Option<Place>,
        multiplied: bool,
    ) -> Result<(), Unclear> {
        let meaning = &self.meaning;
        if let Some(unit) = query.calendar.map(|(unit, _)| unit) {
            let time = query.time.ok_or(Unclear::Shape)?;
            query.shape = Shape::Series;
            if !meaning.groups.is_empty() {
                // A calendar for each group would be mostly empty: the days that have rows are shown.
                query.calendar = None;
                query.groups.insert(0, Expr::Start(unit, time));
                query.columns.insert(
                    0,
                    Column {
                        expr: Expr::Start(unit, time),
                        alias: self.labels.unit(unit).to_owned(),
                        measure: false,
                    },
                );
                query.order = query.groups.iter().map(|expr| (*expr, false)).collect();
            } else if meaning.rank.is_some() || !query.having.is_empty() || meaning.order.is_some() {
                return Err(Unclear::Shape);
            }
            return if meaning.rank.is_some() { Err(Unclear::Shape) } else { Ok(()) };
        }
        if meaning.groups.is_empty() {
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
            None => (first, true),
        };
        query.order = by.into_iter().map(|expr| (expr, greatest)).collect();
        let more: Vec<(Expr, bool)> =
            query.groups.iter().filter(|expr| Some(**expr) != by).map(|expr| (*expr, false)).collect();
        query.order.extend(more);
        Ok(())
    }

    /// Groups and their columns; answers the tables that they need.
    fn group(&self, query: &mut Query) -> Result<Vec<usize>, Unclear> {
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

    fn expr(&self, measure: Measure, counted: Option<Place>, multiplied: bool) -> Result<Expr, Unclear> {
        match measure {
            Measure::Count(table) => match counted {
                Some(place) => Ok(Expr::Different(place)),
                None if multiplied => self.schema.key(table).map(Expr::Different).ok_or(Unclear::Shape),
                None => Ok(Expr::Rows),
            },
            Measure::Different(place) => Ok(Expr::Different(place)),
            Measure::Made(Func::Sum | Func::Average, _) if multiplied => Err(Unclear::Shape),
            Measure::Made(Func::Sum | Func::Average, place) if self.schema.field(place).names_identity() => {
                Err(Unclear::Shape)
            }
            Measure::Made(func, place) => Ok(Expr::Made(func, place)),
        }
    }
}
