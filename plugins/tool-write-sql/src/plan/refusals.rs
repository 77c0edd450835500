//! Refuses a meaning with words that the query would ignore.

use super::Planner;
use crate::schema::Place;
use crate::sums;
use crate::understand::meaning::{By, Group, Measure, Unclear};
use crate::words::phrases::Func;

impl Planner<'_> {
    /// `cities without orders`, `regions by population`: kinds by what is said of single rows.
    pub(super) fn refuses_kinds(&self) -> Result<(), Unclear> {
        let meaning = &self.meaning;
        if !self.asks_for_kinds() || !meaning.measures.is_empty() {
            return Ok(());
        }
        let by_number = |by: Option<(By, bool)>| match by {
            Some((By::Field(place), _)) => self.schema.field(place).is_number() && !self.sums(place),
            _ => false,
        };
        let lacks = meaning.without.is_some();
        let orders = by_number(meaning.order);
        // `the owner of the largest table` says whose row it is.
        let ranks = by_number(meaning.rank)
            && meaning.limit != Some(1)
            && (meaning.tables.is_empty() || meaning.listed && meaning.limit.is_none());
        // `the category of the best selling product`: not the category that sells best.
        let is_of_thing =
            |item: &Place| meaning.tables.contains(&item.table) && !meaning.owners.contains(&item.table);
        let of_thing = matches!(meaning.rank, Some((By::Field(place), _)) if self.sums(place))
            && meaning.items.iter().any(is_of_thing);
        if lacks || orders || ranks || of_thing { Err(Unclear::Shape) } else { Ok(()) }
    }

    /// Refuses words that the query would ignore: `top` without a measure, `different` of a sum, a number of
    /// things that are not listed.
    pub(super) fn nothing_is_left(&self) -> Result<(), Unclear> {
        let meaning = &self.meaning;
        let is_ordered = meaning.rank.is_some() || meaning.order.is_some();
        // `the weekday with the most orders by channel`: of each channel.
        if meaning.cycle.is_some() && meaning.rank.is_some() && !meaning.groups.is_empty() {
            return Err(Unclear::Shape);
        }
        // `which month` without a ranking or a condition on its number.
        let is_ranked = matches!(meaning.rank, Some((By::Measure(_), _)));
        let has_condition = meaning.rank.is_none() && !meaning.having.is_empty() && meaning.limit.is_none();
        if meaning.which && (!(is_ranked || has_condition) || !meaning.groups.is_empty()) {
            return Err(Unclear::Shape);
        }
        if meaning.earlier.is_some()
            || meaning.of_total && (meaning.groups.len() > 1 || meaning.unit.is_some())
        {
            return Err(Unclear::Shape);
        }
        // `revenue per customer by member level` is an average of customers' sums.
        let per_thing = meaning.groups.iter().any(|group| matches!(group, Group::Table(_)));
        if meaning.per && per_thing && meaning.groups.len() > 1 && self.each.is_none() {
            return Err(Unclear::Shape);
        }
        // `average order amount of customers with more than one order` may be of each of them.
        let is_made = |measure: &Measure| matches!(measure, Measure::Made(..));
        let of_having = |measure: &Measure| meaning.having.iter().any(|(known, ..)| known == measure);
        let compares_others = meaning.measures.iter().any(|measure| is_made(measure) && !of_having(measure));
        if meaning.groups.is_empty() && !meaning.having.is_empty() && compares_others {
            return Err(Unclear::Shape);
        }
        // `the share of revenue that comes from Beijing`: of an amount, while a share counts rows.
        let has_share = meaning.measures.iter().any(|measure| matches!(measure, Measure::Share(_)));
        if has_share && meaning.items.iter().any(|item| self.schema.field(*item).is_number()) {
            return Err(Unclear::Shape);
        }
        // `customers with revenue and orders`, `the share of cancelled orders of all customers`
        let is_share = |measure: &Measure| matches!(measure, Measure::Share(_) | Measure::Part(_));
        let is_mixed = meaning.measures.windows(2).any(|pair| pair[0].table() != pair[1].table());
        if (is_mixed || meaning.measures.iter().any(is_share)) && !self.uses_all_tables() {
            return Err(Unclear::Shape);
        }
        // An average of single sales per day, or per customer, is not what is meant.
        let of_sales = |measure: &Measure| match measure {
            Measure::Made(Func::Sum, _) => false,
            Measure::Made(_, place) => sums::is_of_no_row(self.schema.field(*place)),
            _ => false,
        };
        let told_apart =
            !meaning.groups.is_empty() || meaning.unit.is_some() || meaning.trend || meaning.cycle.is_some();
        // `What sells best?` is no single sale.
        let is_extreme = |measure: &Measure| matches!(measure, Measure::Made(Func::Greatest | Func::Least, place) if sums::flows(self.schema.field(*place)));
        if meaning.measures.iter().any(is_extreme) {
            return Err(Unclear::Shape);
        }
        if meaning.measures.iter().any(of_sales) && told_apart {
            return Err(Unclear::Shape);
        }
        let told_apart = match meaning.groups[..] {
            [Group::Table(_)] => meaning.unit.is_none(),
            [] => {
                meaning.unit.is_some() && meaning.against.is_none() && !meaning.growth && !meaning.cumulative
            }
            _ => false,
        };
        // `average daily order value`: of single orders, or of days.
        let is_sum = match meaning.measures[..] {
            [Measure::Count(_) | Measure::Different(_)] => true,
            [Measure::Made(Func::Sum, place)] => {
                meaning.unit.is_none() || sums::is_of_no_row(self.schema.field(place))
            }
            [_] => meaning.unit.is_none(),
            _ => false,
        };
        if meaning.averages_groups && (!told_apart || !is_sum || is_ordered || meaning.trend) {
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

    /// Whether each table that is named is counted or grouped by, or has a condition or an amount of its parts.
    fn uses_all_tables(&self) -> bool {
        let meaning = &self.meaning;
        let measured: Vec<usize> = meaning.measures.iter().map(|measure| measure.table()).collect();
        // A share of order details is not one of orders.
        let shares = meaning.measures.iter().any(|measure| matches!(measure, Measure::Share(_)));
        let is_used = |table: &usize| {
            let is_of = |place: Place| place.table == *table;
            // `the workflow with the highest failure rate`
            let asked = meaning.entity.or(meaning.tables.first().copied());
            let is_ranked = meaning.rank.is_some() && asked == Some(*table);
            measured.contains(table)
                || is_ranked
                || meaning.groups.iter().any(|group| group.table() == *table)
                || meaning.filters.iter().any(|filter| is_of(filter.place))
                || meaning.share.as_ref().is_some_and(|share| is_of(share.place))
                || meaning.verbs.iter().any(|verb| is_of(*verb))
                || !shares
                    && measured.iter().any(|part| self.links.to_whole(self.schema, *part, *table).is_some())
        };
        meaning.tables.iter().all(is_used)
    }
}
