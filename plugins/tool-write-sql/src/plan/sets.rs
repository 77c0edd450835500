//! Those to whom something happened in some days and not in others: `customers who ordered in September but not in October`.

use super::Planner;
use super::query::Related;
use crate::answer::layer;
use crate::calendar::Range;
use crate::schema::{Kind, Place};
use crate::sums;
use crate::understand::meaning::{Filter, Measure, Test, Unclear};

/// The rows that must exist, and those that must not.
pub struct Set {
    pub present: Related,
    pub absent: Related,
}

/// Conditions for each group: some values must occur, one must not.
pub struct Kinds {
    pub present: Vec<Related>,
    pub absent: Option<Related>,
}

impl Planner<'_> {
    /// `authors who have written both a comedy and a tragedy`, `towns with digital, but no print subscriptions`.
    pub(super) fn set_of_kinds(&mut self) -> Option<Kinds> {
        let meaning = &self.meaning;
        let [kind] = meaning.items[..] else { return None };
        let tells_rows =
            self.schema.title(kind.table) == Some(kind) || self.schema.key(kind.table) == Some(kind);
        let is_own = |place: Place| place.table == kind.table && place != kind;
        let is_plain = meaning.measures.is_empty()
            && meaning.groups.is_empty()
            && meaning.rank.is_none()
            && meaning.limit.is_none()
            && meaning.without.is_none()
            && meaning.range.is_none()
            && meaning.having.is_empty()
            && meaning.unit.is_none()
            && meaning.weekdays.is_empty()
            && meaning.verbs.is_empty()
            && meaning.tables.iter().all(|table| *table == kind.table)
            && meaning.filters.iter().all(|filter| is_own(filter.place))
            && self.schema.field(kind).kind() == Kind::Text
            && !tells_rows
            && !self.links.is_child(kind);
        let [place] = meaning.joined[..] else { return None };
        let sorts: Vec<&Filter> = meaning.filters.iter().filter(|filter| filter.place == place).collect();
        let (values, lacking) = match &sorts[..] {
            [Filter { test: Test::Among(values, true), .. }] if meaning.both == Some(1) => {
                (values.clone(), None)
            }
            [
                Filter { test: Test::Among(values, true), .. },
                Filter { test: Test::Among(lacking, false), .. },
            ] => (values.clone(), Some(lacking.clone())),
            _ => return None,
        };
        if !is_plain {
            return None;
        }
        let others: Vec<Filter> =
            self.meaning.filters.drain(..).filter(|filter| filter.place != place).collect();
        let related = |values: Vec<String>| {
            let one = Filter { place, test: Test::Among(values, true) };
            let conditions = std::iter::once(one).chain(others.iter().cloned()).collect();
            Related { key: kind, child: kind, steps: Vec::new(), conditions }
        };
        let meaning = &mut self.meaning;
        (meaning.different, meaning.both) = (true, None);
        meaning.joined.clear();
        meaning.turned.clear();
        // `with digital or online, but no print subscriptions`
        let each = if lacking.is_some() {
            vec![values]
        } else {
            values.into_iter().map(|value| vec![value]).collect()
        };
        Some(Kinds { present: each.into_iter().map(&related).collect(), absent: lacking.map(related) })
    }

    /// The set that a question's days make; they are conditions of nothing else then.
    pub(super) fn set_of_days(&mut self) -> Result<Option<Set>, Unclear> {
        let Some(never) = self.meaning.never_in.take() else { return Ok(None) };
        let meaning = &self.meaning;
        let (Some(once), Some(&asked)) = (meaning.range, meaning.tables.first()) else {
            return Err(Unclear::Shape);
        };
        let asked = meaning.entity.unwrap_or(asked);
        let time = self.time(asked).or_else(|unclear| self.time_of_sales(asked).ok_or(unclear))?;
        let events = time.table;
        let link = self.links.direct(events, asked).ok_or(Unclear::Shape)?;
        let is_of_asked = |table: usize| table == asked || self.has_one(asked, table);
        let is_plain = meaning.groups.is_empty()
            && meaning.unit.is_none()
            && !meaning.trend
            && meaning.weekdays.is_empty()
            && meaning.cycle.is_none()
            && meaning.against.is_none()
            && meaning.without.is_none()
            && meaning.rank.is_none()
            && meaning.measures.iter().all(|measure| *measure == Measure::Count(asked))
            && meaning.items.iter().all(|item| is_of_asked(item.table))
            && meaning.filters.iter().all(|filter| is_of_asked(filter.place.table));
        if !is_plain {
            return Err(Unclear::Shape);
        }
        let meaning = &mut self.meaning;
        (meaning.range, meaning.verbs) = (None, Vec::new());
        meaning.tables.retain(|table| *table != events);
        let within = |days: Range| Related {
            key: link.parent,
            child: link.child,
            steps: Vec::new(),
            conditions: vec![Filter { place: time, test: Test::Days(days) }],
        };
        Ok(Some(Set { present: within(once), absent: within(never) }))
    }

    /// When a table's things were sold: the time of the rows with their sales.
    fn time_of_sales(&self, table: usize) -> Option<Place> {
        let sold = |other: &usize| {
            self.links.direct(*other, table).is_some()
                && self.schema.places(*other).any(|place| sums::flows(self.schema.field(place)))
        };
        let sales = (0..self.schema.tables.len()).filter(sold);
        sales
            .min_by_key(|other| layer(&self.schema.table(*other).name))
            .and_then(|sales| self.time_of(sales).ok())
    }
}
