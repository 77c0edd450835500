//! Finds the time field that a question means: the one that its verb names, or else its table's usual one.

use super::query::Query;
use super::{Planner, ROWS_MAX};
use crate::calendar::{Day, Range, Unit};
use crate::schema::{Kind, Place};
use crate::understand::meaning::{By, Filter, Test, Unclear};
use crate::words::{concept, english};

/// First words of time fields, the most usual ones first.
const USUAL: &[&str] = &["start", "create", "date", "time", "at", "event", "occur"];
/// First words of the times at which something begins to exist.
const BEGINNINGS: &[&str] = &["register", "create", "join", "sign", "start", "open"];
/// The longest range with a trend by days, in days.
const DAYS_BY_DAY: i64 = 93;
/// The longest range with a trend by months, in days.
const DAYS_BY_MONTH: i64 = 1_100;

impl Planner<'_> {
    /// Finds the time field if one is needed, and adds range and calendar to the query.
    pub(super) fn find_time(&self, query: &mut Query) -> Result<(), Unclear> {
        let meaning = &self.meaning;
        // `running total of sales this month`
        let is_series = meaning.trend || meaning.cumulative && meaning.groups.is_empty();
        let unit = meaning.unit.or_else(|| is_series.then(|| usual_unit(meaning.range)));
        let has_days = meaning.range.is_some() || !meaning.weekdays.is_empty();
        if unit.is_none() && !has_days && meaning.verbs.is_empty() {
            if meaning.new.is_some() {
                return Err(Unclear::Shape);
            }
            // `revenue compared with the same month last year`: which month?
            if meaning.against.is_some() {
                return Err(Unclear::NoDays);
            }
            return Ok(());
        }
        let periods = self.periods(unit)?;
        // `orders without snacks in October` are orders of October.
        let is_whole = |parts: &usize| self.links.to_whole(self.schema, *parts, query.from).is_some();
        let of = meaning.without.filter(|parts| !is_whole(parts)).unwrap_or(query.from);
        let place = self.time(of)?;
        let first = english::name_words(&self.schema.field(place).name).first().map(|word| concept(word));
        let begins = first.is_some_and(|word| BEGINNINGS.contains(&word.as_str()));
        if meaning.new.is_some_and(|table| !begins || table != place.table) {
            return Err(Unclear::NoTime(self.schema.table(place.table).name.clone()));
        }
        // `cities in October`: not those of customers who registered then.
        let of_kinds = meaning.tables.is_empty() && meaning.verbs.is_empty() && self.asks_for_kinds();
        if begins && of_kinds && meaning.measures.is_empty() {
            return Err(Unclear::NoTime(self.schema.table(place.table).name.clone()));
        }
        let range = meaning.range.map(|range| self.whole_parts(range, unit));
        // `the week in October with the most orders`: a week that is cut could not be first.
        let is_ranked = matches!(meaning.rank, Some((By::Measure(_), _))) && meaning.against.is_none();
        let widened = range.zip(unit).filter(|_| is_ranked).map(|(range, unit)| self.widened(range, unit));
        query.widened = widened.filter(|_| widened != range).and(unit);
        let range = widened.or(range);
        // `average orders per week last month`: its first and last weeks are not whole.
        if let (true, Some(unit), Some(range)) = (meaning.averages_groups, unit, range) {
            let is_whole = |day: Option<Day>| day.is_none_or(|day| unit.start(day) == day);
            let is_open = range.before > Some(self.today);
            if !is_whole(range.from) || !is_whole(range.before) && !is_open {
                return Err(Unclear::Shape);
            }
        }
        let is_cut = |day: Option<Day>| day.zip(unit).is_some_and(|(day, unit)| unit.start(day) != day);
        query.begins_within = is_cut(range.and_then(|range| range.from));
        query.ends_within = is_cut(range.and_then(|range| range.before).filter(|day| *day <= self.today));
        // A range on events that did not happen applies in the subquery, not to a join.
        query.time = Some(place).filter(|place| Some(place.table) != meaning.without);
        if query.time.is_none() && unit.is_some() {
            return Err(Unclear::Shape);
        }
        if !meaning.weekdays.is_empty() {
            // Of what did not happen, and of averages over days, it is open which days count.
            if query.time.is_none() || meaning.averages_groups {
                return Err(Unclear::Shape);
            }
            query.conditions.push(Filter { place, test: Test::Weekdays(meaning.weekdays.to_vec()) });
        }
        match (range, unit) {
            (None, None) if !meaning.weekdays.is_empty() => {}
            _ if let Some(periods) = periods => self.compare(query, place, periods)?,
            (Some(range), _) => query.conditions.push(Filter { place, test: Test::Days(range) }),
            // Something pending has no time of its approval.
            (None, None) if self.is_in_state(place.table) => return Err(Unclear::Shape),
            (None, _) => query.conditions.push(Filter { place, test: Test::Present }),
        }
        query.calendar = unit.map(|unit| (unit, range.and_then(|range| self.until_today(range))));
        // More rows than are shown, and than some databases count to.
        let is_long =
            |(unit, range): (Unit, Option<Range>)| match range.map(|range| (range.from, range.before)) {
                Some((Some(from), Some(before))) => unit.later(from, ROWS_MAX as i64) < before,
                _ => false,
            };
        if query.calendar.is_some_and(is_long) {
            return Err(Unclear::Shape);
        }
        Ok(())
    }

    /// The time of what happened in a table, by the verb or the usual one.
    pub(super) fn time_of(&self, table: usize) -> Result<Place, Unclear> {
        let mut verbs = self.meaning.verbs.iter().filter(|verb| verb.table == table);
        match (verbs.next(), verbs.next()) {
            (Some(only), None) => Ok(*only),
            _ => self.usual_time(table),
        }
    }

    /// Future days have no rows.
    pub(super) fn until_today(&self, range: Range) -> Option<Range> {
        let tomorrow = self.today.plus(1);
        match (range.from, range.before) {
            (Some(from), Some(before)) if from < tomorrow => Some(Range::days(from, before.min(tomorrow))),
            (Some(from), None) if from < tomorrow => Some(Range::days(from, tomorrow)),
            _ => None,
        }
    }

    /// The last 8 weeks by week are this one and the 7 before, each from its start.
    pub(super) fn whole_parts(&self, range: Range, unit: Option<Unit>) -> Range {
        match (range.last, unit) {
            (Some((last, count)), Some(unit)) if last == unit => {
                Range::days(unit.later(self.today, 1 - count), self.today.plus(1))
            }
            _ => range,
        }
    }

    /// `the first order ever`: by its time.
    pub(super) fn first_in_time(&mut self) {
        let meaning = &self.meaning;
        let is_plain = meaning.top
            && meaning.first
            && meaning.limit.is_none()
            && meaning.rank.is_none()
            && meaning.order.is_none()
            && meaning.measures.is_empty()
            && meaning.groups.is_empty()
            && meaning.unit.is_none();
        let [table] = meaning.tables[..] else { return };
        if is_plain && let Ok(time) = self.usual_time(table) {
            self.meaning.rank = Some((By::Field(time), false));
            self.meaning.limit = Some(1);
        }
    }

    /// From the start of the unit in which days begin to the end of that in which they end.
    fn widened(&self, range: Range, unit: Unit) -> Range {
        let end = |before: Day| if unit.start(before) == before { before } else { unit.later(before, 1) };
        Range {
            from: range.from.map(|from| unit.start(from)),
            before: range.before.map(|before| if before <= self.today { end(before) } else { before }),
            ..range
        }
    }

    pub(super) fn time(&self, table: usize) -> Result<Place, Unclear> {
        let verbs = &self.meaning.verbs;
        if verbs.is_empty() {
            return self.usual_time(self.happening(table)?);
        }
        let linked = |place: &&Place| place.table != table && self.links.direct(place.table, table).is_some();
        let of = |fits: &dyn Fn(&&Place) -> bool| {
            let mut found = verbs.iter().filter(|place| fits(place));
            (found.next().copied(), found.next().is_some())
        };
        let mentioned = |place: &&Place| self.meaning.tables.contains(&place.table);
        for (found, several) in [of(&|place| place.table == table), of(&mentioned), of(&linked)] {
            match found {
                Some(place) if !several => return Ok(place),
                Some(place) => return Err(Unclear::Ambiguous(self.schema.field(place).name.clone())),
                None => {}
            }
        }
        Err(Unclear::NoTime(self.schema.table(table).name.clone()))
    }

    /// The table of events that the question names: `workflows executed last week` uses the executions.
    fn happening(&self, table: usize) -> Result<usize, Unclear> {
        let filtered = self.meaning.filters.iter().map(|filter| filter.place.table);
        // `customers per channel in October`: the channels of orders.
        let grouped = self.meaning.groups.iter().map(|group| group.table());
        let mut events: Vec<usize> = Vec::new();
        for other in self.meaning.tables.iter().copied().chain(filtered).chain(grouped) {
            let way = if other == table { Vec::new() } else { self.way(&[table], other)? };
            if way.first().is_some_and(|step| !step.up) && !events.contains(&other) {
                events.push(other);
            }
        }
        // The customers of what was sold are no events.
        let all = events.clone();
        events.retain(|event| !all.iter().any(|other| other != event && self.has_one(*other, *event)));
        match events[..] {
            [] => Ok(table),
            [only] => Ok(only),
            _ => Err(Unclear::NoTime(self.schema.table(table).name.clone())),
        }
    }

    /// Whether only rows in some state are asked for: not all of them have all times.
    fn is_in_state(&self, table: usize) -> bool {
        self.meaning.filters.iter().any(|filter| {
            let name = self.schema.field(filter.place).name.to_lowercase();
            filter.place.table == table && (name.ends_with("status") || name.ends_with("state"))
        })
    }

    fn usual_time(&self, table: usize) -> Result<Place, Unclear> {
        let dates: Vec<Place> = self
            .schema
            .places(table)
            .filter(|place| self.schema.field(*place).kind() == Kind::Date)
            .collect();
        let first = |place: &Place| {
            english::name_words(&self.schema.field(*place).name)
                .first()
                .map(|word| concept(word))
                .unwrap_or_default()
        };
        let own: Vec<String> =
            english::name_words(&self.schema.table(table).name).iter().map(|word| concept(word)).collect();
        let about_own = dates.iter().find(|place| own.last() == Some(&first(place)));
        let usual = || USUAL.iter().find_map(|word| dates.iter().find(|place| first(place) == *word));
        match dates[..] {
            [only] => Ok(only),
            _ if about_own.is_some() && self.is_in_state(table) => {
                Err(Unclear::NoTime(self.schema.table(table).name.clone()))
            }
            _ => about_own
                .or_else(usual)
                .copied()
                .ok_or_else(|| Unclear::NoTime(self.schema.table(table).name.clone())),
        }
    }
}

fn usual_unit(range: Option<Range>) -> Unit {
    match range.and_then(Range::length) {
        Some(days) if days <= DAYS_BY_DAY => Unit::Day,
        Some(days) if days <= DAYS_BY_MONTH => Unit::Month,
        Some(_) => Unit::Year,
        None => Unit::Month,
    }
}
