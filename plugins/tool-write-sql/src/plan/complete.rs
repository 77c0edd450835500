//! Completes a meaning: sums amounts, chooses what a ranking counts and how numbers are grouped. Refuses a
//! meaning with words that the query would ignore.

use super::Planner;
use crate::schema::Place;
use crate::understand::meaning::{By, Group, Measure, Unclear};
use crate::words::phrases::Func;
use crate::words::{concept, english};

/// Last words of fields whose values add up.
const SUMMED: &[&str] = &["amount", "sale", "revenue", "cost", "quantity", "profit", "total", "turnover"];
/// Words of fields whose single values are of no interest.
const FLOWS: &[&str] = &["sale", "revenue", "turnover", "profit"];

impl Planner<'_> {
    /// `How many customers have more than 30 orders?` counts the groups of an answer: customers by their
    /// orders.
    pub(super) fn count_of_groups(&mut self) -> Option<usize> {
        let meaning = &mut self.meaning;
        let [Measure::Count(table)] = meaning.measures[..] else { return None };
        let [(child @ Measure::Count(counted), ..)] = meaning.having[..] else { return None };
        let plain = meaning.groups.is_empty()
            && meaning.items.is_empty()
            && meaning.unit.is_none()
            && !meaning.trend
            && meaning.rank.is_none()
            && meaning.order.is_none()
            && meaning.limit.is_none();
        if counted == table || !plain {
            return None;
        }
        meaning.measures = vec![child];
        meaning.groups = vec![Group::Table(table)];
        Some(table)
    }

    /// `订单金额` of each month, or of last month, is the sum of amounts.
    pub(super) fn sum_what_sums(&mut self) {
        let meaning = &self.meaning;
        let bare = meaning.measures.is_empty() && meaning.rank.is_none() && meaning.order.is_none();
        let told_apart = meaning.unit.is_some() || meaning.trend || !meaning.groups.is_empty();
        let one =
            !meaning.listed && !meaning.different && meaning.limit.is_none() && meaning.having.is_empty();
        let sums = meaning.items.iter().all(|place| self.sums(*place));
        let meaning = &mut self.meaning;
        if bare && (told_apart || one) && !meaning.items.is_empty() && sums {
            meaning.measures = meaning.items.drain(..).map(|place| Measure::Made(Func::Sum, place)).collect();
        }
    }

    /// The meaning of `per` and `for each` without a number: `orders per customer` counts orders,
    /// `the name of each customer` is a plain list.
    pub(super) fn groups_without_numbers(&mut self) -> Result<(), Unclear> {
        let meaning = &mut self.meaning;
        let asks_for_numbers = !meaning.measures.is_empty() || !meaning.having.is_empty();
        if asks_for_numbers || meaning.groups.is_empty() || meaning.unit.is_some() || meaning.trend {
            return Ok(());
        }
        let tables = meaning
            .groups
            .iter()
            .map(|group| if let Group::Table(table) = group { Some(*table) } else { None });
        let tables: Option<Vec<usize>> = tables.collect();
        let counted =
            meaning.tables.iter().copied().find(|table| !meaning.groups.contains(&Group::Table(*table)));
        let of_groups = |tables: &[usize]| meaning.items.iter().all(|item| tables.contains(&item.table));
        match (tables, counted) {
            (Some(tables), _)
                if !meaning.items.is_empty() && of_groups(&tables) && meaning.limit.is_none() =>
            {
                meaning.groups.clear();
                meaning.tables.extend(tables);
                Ok(())
            }
            (_, Some(table)) if meaning.per && meaning.items.is_empty() && meaning.limit.is_none() => {
                meaning.measures.push(Measure::Count(table));
                Ok(())
            }
            _ => Err(Unclear::Shape),
        }
    }

    /// Refuses words that the query would ignore: `top` without a measure, `different` of a sum, a number of
    /// things that are not listed.
    pub(super) fn nothing_is_left(&self) -> Result<(), Unclear> {
        let meaning = &self.meaning;
        let is_ordered = meaning.rank.is_some() || meaning.order.is_some();
        // `which month` without a ranking.
        if meaning.which && (!matches!(meaning.rank, Some((By::Measure(_), _))) || !meaning.groups.is_empty())
        {
            return Err(Unclear::Shape);
        }
        if meaning.top && !is_ordered {
            return Err(Unclear::NoRank);
        }
        let adds = |measure: &Measure| matches!(measure, Measure::Made(Func::Sum | Func::Average, _));
        if meaning.different && meaning.measures.iter().any(adds) {
            return Err(Unclear::Shape);
        }
        if meaning.limit.is_some() && !meaning.measures.is_empty() && !is_ordered {
            return Err(Unclear::Shape);
        }
        Ok(())
    }

    /// Shows a ranking's measure; a trend of things counts them.
    pub(super) fn complete_measures(&mut self) -> Result<(), Unclear> {
        if self.meaning.which
            && let Some((By::Field(place), greatest)) = self.meaning.rank
            && self.sums(place)
        {
            self.meaning.rank = Some((By::Measure(Measure::Made(Func::Sum, place)), greatest));
        }
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
            // `customers ordered every day` may mean those who did so on each of them.
            if meaning.every && !meaning.verbs.is_empty() {
                return Err(Unclear::Shape);
            }
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
            // `the customer with the highest order amount` may mean a single order; a word such as sales is
            // always a sum.
            let words = english::name_words(&self.schema.field(place).name);
            let flows = words.iter().any(|word| FLOWS.contains(&concept(word).as_str()));
            let one = meaning.limit == Some(1) || meaning.limit.is_none() && meaning.one;
            if one && !flows {
                return Err(Unclear::Ambiguous(self.schema.field(place).name.clone()));
            }
            let sum = Measure::Made(Func::Sum, place);
            meaning.rank = Some((By::Measure(sum), greatest));
            meaning.measures.push(sum);
            let tells_rows = |item: &Place| {
                self.schema.title(item.table) == Some(*item) || self.schema.key(item.table) == Some(*item)
            };
            meaning.groups = if meaning.items.iter().all(tells_rows) {
                vec![Group::Table(entity)]
            } else {
                meaning.items.iter().map(|item| Group::Field(*item)).collect()
            };
        }
        Ok(())
    }

    /// Groups the numbers where no word like `per` does.
    pub(super) fn complete_groups(&mut self) -> Result<(), Unclear> {
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

    /// Whether values of a field add up, judging by its name.
    fn sums(&self, place: Place) -> bool {
        let field = self.schema.field(place);
        let words = english::name_words(&field.name);
        let named = |word: &String| SUMMED.contains(&concept(word).as_str());
        field.is_number() && words.last().is_some_and(named)
    }
}
