//! Completes a meaning: sums amounts, chooses what a ranking counts and how numbers are grouped.

use super::Planner;
use crate::answer::layer;
use crate::joins::leads_beside;
use crate::schema::{Kind, Place};
use crate::sums;
use crate::understand::meaning::{By, Filter, Group, Measure, Test, Unclear};
use crate::understand::names::{Named, Names};
use crate::words::phrases::{Compare, Func};
use crate::words::short::words_of;

/// The most different values of a field whose values are kinds, and no names.
const KINDS_MAX: usize = 12;

fn ends_as_identifier(name: &str) -> bool {
    let words = words_of(name);
    words.last().is_some_and(|last| matches!(last.as_str(), "id" | "code" | "no" | "key" | "name"))
}

impl Planner<'_> {
    /// Whether a field tells kinds of rows apart, of which each has many: cities, and no names.
    pub(super) fn is_kind(&self, place: Place) -> bool {
        let field = self.schema.field(place);
        field.kind() == Kind::Text
            && field.values.len() <= KINDS_MAX
            && self.schema.title(place.table) != Some(place)
            && self.schema.key(place.table) != Some(place)
            && !self.links.is_child(place)
            && !ends_as_identifier(&field.name)
    }

    /// Whether kinds are asked for, and nothing else.
    pub(super) fn asks_for_kinds(&self) -> bool {
        let items = &self.meaning.items;
        !items.is_empty() && items.iter().all(|item| self.is_kind(*item))
    }

    /// `customers by revenue`, `products by quantity`: each by the sum of what it has of it.
    pub(super) fn order_by_sums(&mut self) {
        let meaning = &self.meaning;
        let by = meaning.rank.or(meaning.order);
        let (Some((By::Field(place), greatest)), [], []) = (by, &meaning.measures[..], &meaning.groups[..])
        else {
            return;
        };
        // `best selling product of silver members`: the members only say whose sales count.
        let has_condition =
            |table: &&usize| meaning.filters.iter().any(|filter| filter.place.table == **table);
        let others: Vec<usize> =
            meaning.tables.iter().filter(|table| !has_condition(table)).copied().collect();
        let entity = match (&meaning.tables[..], &others[..]) {
            ([only], _) | (_, [only]) => *only,
            _ => return,
        };
        let is_of_others = place.table != entity
            && meaning.items.is_empty()
            && self.has_one(place.table, entity)
            && !self.has_one(entity, place.table)
            && sums::is_of_no_row(self.schema.field(place));
        if !is_of_others || meaning.unit.is_some() || meaning.trend || meaning.cycle.is_some() {
            return;
        }
        let measure = Measure::Made(Func::Sum, place);
        let by = Some((By::Measure(measure), greatest));
        let meaning = &mut self.meaning;
        meaning.measures.push(measure);
        meaning.groups.push(Group::Table(entity));
        if meaning.rank.is_some() {
            meaning.rank = by;
        } else {
            meaning.order = by;
        }
    }

    /// `北京和上海哪个销售额最高`: the one of these that is first.
    pub(super) fn rank_of_sides(&mut self) {
        let meaning = &self.meaning;
        let is_side =
            |filter: &&Filter| matches!(&filter.test, Test::Among(values, true) if values.len() > 1);
        let mut sides = meaning.filters.iter().filter(is_side);
        let (Some(side), None) = (sides.next(), sides.next()) else { return };
        let (Some((by, greatest)), [], []) = (meaning.rank, &meaning.groups[..], &meaning.items[..]) else {
            return;
        };
        let place = side.place;
        let measure = match by {
            By::Field(number) if self.sums(number) && meaning.measures.is_empty() => {
                Measure::Made(Func::Sum, number)
            }
            By::Measure(measure) if meaning.tables.iter().all(|table| *table == measure.table()) => measure,
            _ => return,
        };
        if !self.has_one(measure.table(), place.table) {
            return;
        }
        let meaning = &mut self.meaning;
        meaning.joined.retain(|joined| *joined != place);
        meaning.measures = vec![measure];
        meaning.groups = vec![Group::Field(place)];
        meaning.rank = Some((By::Measure(measure), greatest));
        meaning.one = true;
    }

    /// `Who are our top 5 customers?` By what they bought, if something says that.
    pub(super) fn rank_by_sales(&mut self, names: &Names) {
        let meaning = &self.meaning;
        let is_open = meaning.top
            && !meaning.first
            && meaning.rank.is_none()
            && meaning.order.is_none()
            && meaning.measures.is_empty()
            && meaning.groups.len() <= 1;
        let entity = match (&meaning.tables[..], &meaning.items[..]) {
            ([entity], _) => *entity,
            // `the top 3 cities`
            ([], [item]) if self.schema.field(*item).kind() == Kind::Text => item.table,
            _ => return,
        };
        if !is_open {
            return;
        }
        let sold = names.list.iter().filter_map(|(concepts, named)| match named {
            Named::Field(place, _) if concepts.len() == 1 && concepts[0] == "sale" => Some(*place),
            _ => None,
        });
        let mut sold: Vec<Place> =
            sold.filter(|place| place.table != entity && self.has_one(place.table, entity)).collect();
        sold.sort_by_key(|place| layer(&self.schema.table(place.table).name));
        sold.dedup();
        self.meaning.rank = sold.first().map(|place| (By::Field(*place), !self.meaning.least));
    }

    /// `How many customers have more than 30 orders?` counts the groups of an answer: customers by their
    /// orders.
    pub(super) fn count_of_groups(&mut self) -> Option<usize> {
        let meaning = &mut self.meaning;
        let [Measure::Count(table)] = meaning.measures[..] else { return None };
        let [(child @ (Measure::Count(_) | Measure::Made(Func::Sum, _)), ..)] = meaning.having[..] else {
            return None;
        };
        let counted = child.table();
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

    /// `categories with sales above 700000`, `customers who spent over 5000`: of what each of them sold or spent together, and
    /// not of single sales.
    pub(super) fn sums_of_things(&mut self) -> Result<(), Unclear> {
        let meaning = &self.meaning;
        let plain = meaning.groups.is_empty()
            && meaning.unit.is_none()
            && !meaning.trend
            && meaning.rank.is_none()
            && meaning.having.is_empty()
            && meaning.share.is_none();
        let sums = |filter: &Filter| matches!(filter.test, Test::Number(..)) && self.sums(filter.place);
        let mut found = meaning.filters.iter().enumerate().filter(|(_, filter)| sums(filter));
        let (Some((at, filter)), None) = (found.next(), found.next()) else { return Ok(()) };
        let place = filter.place;
        // `customers with orders over 500`: an order.
        let is_counted = meaning.measures.contains(&Measure::Count(place.table));
        if !plain || is_counted || meaning.tables.contains(&place.table) {
            return Ok(());
        }
        let is_kind = |item: &Place| {
            self.schema.field(*item).kind() == Kind::Text
                && self.schema.title(item.table) != Some(*item)
                && self.schema.key(item.table) != Some(*item)
        };
        let things = match (&meaning.measures[..], &meaning.items[..], &meaning.tables[..]) {
            ([], items, _) if !items.is_empty() && items.iter().all(is_kind) => {
                items.iter().map(|item| Group::Field(*item)).collect()
            }
            ([], _, [table]) => vec![Group::Table(*table)],
            ([Measure::Count(table)], [], _) => vec![Group::Table(*table)],
            _ => return Ok(()),
        };
        if !things.iter().all(|group: &Group| self.has_one(place.table, group.table())) {
            return Err(Unclear::Shape);
        }
        let Test::Number(compare, number) = self.meaning.filters.remove(at).test else { return Ok(()) };
        let sum = Measure::Made(Func::Sum, place);
        self.meaning.having.push((sum, compare, number));
        if self.meaning.measures.is_empty() {
            self.meaning.measures.push(sum);
            self.meaning.groups = things;
        }
        Ok(())
    }

    /// `average sales amount per customer`: of what each of them bought, and not of single sales.
    pub(super) fn average_of_groups(&mut self) {
        let meaning = &mut self.meaning;
        // `average revenue per day`
        if let ([], [Measure::Made(Func::Average, place)], Some(_)) =
            (&meaning.groups[..], &meaning.measures[..], meaning.unit)
            && meaning.per
            && sums::is_of_no_row(self.schema.field(*place))
        {
            meaning.measures = vec![Measure::Made(Func::Sum, *place)];
            meaning.averages_groups = true;
        }
        let [Group::Table(table)] = self.meaning.groups[..] else { return };
        let meaning = &self.meaning;
        let plain = meaning.unit.is_none()
            && !meaning.trend
            && meaning.rank.is_none()
            && meaning.order.is_none()
            && meaning.limit.is_none()
            && meaning.having.is_empty();
        match (&meaning.measures[..], &meaning.items[..]) {
            ([Measure::Made(Func::Average, place)], [])
                if meaning.per && plain && place.table != table && sums::flows(self.schema.field(*place)) =>
            {
                self.meaning.measures = vec![Measure::Made(Func::Sum, *place)];
                self.meaning.averages_groups = true;
            }
            ([], [place]) if meaning.averages_groups && self.sums(*place) => {
                self.meaning.measures = vec![Measure::Made(Func::Sum, *place)];
                self.meaning.items.clear();
            }
            _ => {}
        }
    }

    /// `revenue per customer by city`: of the customers of each city, on average.
    pub(super) fn number_per_thing(&mut self) {
        let meaning = &self.meaning;
        let is_thing = |group: &&Group| matches!(group, Group::Table(_));
        let mut things = meaning.groups.iter().filter(is_thing);
        let (Some(Group::Table(thing)), None) = (things.next(), things.next()) else { return };
        let thing = *thing;
        let is_of_thing = |group: &Group| {
            matches!(group, Group::Table(_)) || matches!(group, Group::Field(place) if place.table == thing)
        };
        let is_plain = meaning.unit.is_none()
            && !meaning.trend
            && meaning.cycle.is_none()
            && meaning.rank.is_none()
            && meaning.order.is_none()
            && meaning.limit.is_none()
            && meaning.having.is_empty()
            && meaning.against.is_none()
            && !(meaning.growth || meaning.cumulative || meaning.of_total);
        let says = (meaning.per || meaning.averages_groups) && self.each.is_none();
        if !says || !is_plain || meaning.groups.len() < 2 || !meaning.groups.iter().all(is_of_thing) {
            return;
        }
        let flows = |place: Place| place.table != thing && sums::flows(self.schema.field(place));
        let measure = match (&meaning.measures[..], &meaning.items[..]) {
            ([Measure::Made(Func::Sum | Func::Average, place)], []) | ([], [place]) if flows(*place) => {
                Measure::Made(Func::Sum, *place)
            }
            ([count @ Measure::Count(table)], []) if *table != thing => *count,
            _ => return,
        };
        let link = self.links.direct(measure.table(), thing).filter(|link| link.parent.table == thing);
        let Some(link) = link else { return };
        self.per_each = Some((thing, link.child));
        self.meaning.measures = vec![measure];
        self.meaning.items.clear();
        self.meaning.groups.retain(|group| !matches!(group, Group::Table(_)));
        self.meaning.averages_groups = false;
        self.meaning.per = false;
    }

    /// `orders last month`: their number, unless it asks for a list.
    pub(super) fn count_what_is_named(&mut self) {
        let meaning = &mut self.meaning;
        let [table] = meaning.tables[..] else { return };
        let plain = meaning.measures.is_empty()
            && meaning.items.is_empty()
            && meaning.groups.is_empty()
            && meaning.rank.is_none()
            && meaning.order.is_none()
            && meaning.limit.is_none()
            && meaning.having.is_empty()
            && meaning.without.is_none()
            && meaning.verbs.is_empty();
        let has_days = meaning.range.is_some() || !meaning.weekdays.is_empty();
        if plain && meaning.bare && has_days && meaning.unit.is_none() && !meaning.trend {
            meaning.measures.push(Measure::Count(table));
        }
    }

    /// `订单金额` of each month, or of last month, is the sum of amounts.
    pub(super) fn sum_what_sums(&mut self) {
        let meaning = &self.meaning;
        let adds = |measure: &Measure| matches!(measure, Measure::Count(_) | Measure::Made(Func::Sum, _));
        // `number of orders and revenue`
        let bare = meaning.measures.iter().all(adds) && meaning.rank.is_none() && meaning.order.is_none();
        let told_apart =
            meaning.unit.is_some() || meaning.trend || meaning.cycle.is_some() || !meaning.groups.is_empty();
        let one =
            !meaning.listed && !meaning.different && meaning.limit.is_none() && meaning.having.is_empty();
        let sums = meaning.items.iter().all(|place| self.sums(*place));
        let meaning = &mut self.meaning;
        if bare && (told_apart || one) && !meaning.items.is_empty() && sums {
            let sums = meaning.items.drain(..).map(|place| Measure::Made(Func::Sum, place));
            let at = if meaning.item_leads { 0 } else { meaning.measures.len() };
            meaning.measures.splice(at..at, sums);
        }
    }

    /// The meaning of `per` and `for each` without a number: `orders per customer` counts orders,
    /// `the name of each customer` is a plain list.
    pub(super) fn groups_without_numbers(&mut self) -> Result<(), Unclear> {
        let meaning = &mut self.meaning;
        let by_number = |by: Option<(By, bool)>| matches!(by, Some((By::Measure(_), _)));
        let asks_for_numbers = !meaning.measures.is_empty()
            || !meaning.having.is_empty()
            || by_number(meaning.rank)
            || by_number(meaning.order);
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
                if !meaning.items.is_empty()
                    && of_groups(&tables)
                    && meaning.limit.is_none()
                    && meaning.rank.is_none() =>
            {
                meaning.groups.clear();
                meaning.tables.extend(tables);
                Ok(())
            }
            (_, Some(table))
                if (meaning.per || meaning.averages_groups)
                    && meaning.items.is_empty()
                    && meaning.limit.is_none() =>
            {
                meaning.measures.push(Measure::Count(table));
                Ok(())
            }
            _ => Err(Unclear::Shape),
        }
    }

    /// Shows a ranking's measure; a trend of things counts them.
    pub(super) fn complete_measures(&mut self) -> Result<(), Unclear> {
        if (self.meaning.which || self.meaning.cycle.is_some())
            && let Some((By::Field(place), greatest)) = self.meaning.rank
            && self.sums(place)
        {
            self.meaning.rank = Some((By::Measure(Measure::Made(Func::Sum, place)), greatest));
        }
        let names_only = self.asks_for_names_only();
        let meaning = &mut self.meaning;
        let by = [meaning.rank, meaning.order].into_iter().flatten().map(|(by, _)| by);
        let ranked: Vec<Measure> =
            by.filter_map(|by| if let By::Measure(measure) = by { Some(measure) } else { None }).collect();
        for measure in ranked {
            if !meaning.measures.contains(&measure) {
                meaning.measures.push(measure);
                if names_only {
                    meaning.hidden.push(measure);
                }
            }
        }
        let ranks_rows = matches!(meaning.rank, Some((By::Field(_), _)));
        let is_series = meaning.unit.is_some() || meaning.trend || meaning.cycle.is_some();
        if meaning.measures.is_empty() && is_series && !ranks_rows {
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
            if !meaning.items.is_empty() && meaning.rank.is_none() {
                meaning.hidden.clone_from(&meaning.measures);
            }
        }
        self.extreme_of_each();
        self.rank_kinds();
        self.rank_by_total();
        // The greatest of another table's field over several things means its sum.
        let adds_up = matches!(self.meaning.rank, Some((By::Field(place), _)) if self.sums(place));
        let meaning = &mut self.meaning;
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
            // `the employee with the highest bonus`: what does not add up is of one row.
            let one = meaning.limit == Some(1) || meaning.limit.is_none() && meaning.one;
            if one && !adds_up {
                return Ok(());
            }
            // `the top product in each category each month`
            if !meaning.groups.is_empty() {
                return Err(Unclear::Shape);
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

    /// `the name and capacity of the stadium with the most concerts`: the one row's fields, and not the number.
    fn asks_for_names_only(&self) -> bool {
        let meaning = &self.meaning;
        let one = meaning.limit == Some(1) || meaning.limit.is_none() && meaning.one;
        let titles = |item: &Place| self.schema.title(item.table) == Some(*item);
        let fields = matches!(meaning.items[..], [_, _, ..])
            || meaning.items.first().is_some_and(titles)
            || meaning.says_what && (!meaning.items.is_empty() || meaning.common.is_some());
        one && fields && meaning.rank.is_some() && meaning.measures.is_empty() && self.each.is_none()
    }

    /// `the date of the latest performance at each venue`: the latest date of each.
    fn extreme_of_each(&mut self) {
        let meaning = &mut self.meaning;
        let (Some((By::Field(place), greatest)), [Group::Table(group)], [], None) =
            (meaning.rank, &meaning.groups[..], &meaning.measures[..], meaning.limit)
        else {
            return;
        };
        let is_of_group = |item: &Place| item.table == *group || *item == place;
        if meaning.items.contains(&place) && meaning.items.iter().all(is_of_group) {
            meaning.items.retain(|item| *item != place);
            meaning.rank = None;
            meaning.measures.push(Measure::Made(if greatest { Func::Greatest } else { Func::Least }, place));
        }
    }

    /// `Which building has the most beds in total?` By the sum of its rooms' beds.
    fn rank_by_total(&mut self) {
        let meaning = &self.meaning;
        let (Some((By::Field(place), greatest)), true, []) =
            (meaning.rank, meaning.in_total, &meaning.groups[..])
        else {
            return;
        };
        let sum = Measure::Made(Func::Sum, place);
        if meaning.measures.iter().any(|measure| *measure != sum) {
            return;
        }
        let entity = meaning.items.iter().map(|item| item.table).chain(meaning.tables.iter().copied()).next();
        let Some(entity) = entity.filter(|entity| *entity != place.table) else { return };
        if !self.schema.field(place).is_number() || !self.has_one(place.table, entity) {
            return;
        }
        let meaning = &mut self.meaning;
        let is_shown = meaning.items.contains(&place) || !meaning.measures.is_empty();
        meaning.items.retain(|item| *item != place);
        meaning.rank = Some((By::Measure(sum), greatest));
        meaning.measures = vec![sum];
        meaning.groups.push(Group::Table(entity));
        if meaning.limit.is_none() {
            meaning.limit = Some(1);
        }
        if !is_shown && !meaning.items.is_empty() {
            meaning.hidden.push(sum);
        }
    }

    /// `the channel with the highest order amount`, `top 3 categories by sales`: of all rows of each together.
    fn rank_kinds(&mut self) {
        let (ranks, by) = (self.meaning.rank.is_some(), self.meaning.rank.or(self.meaning.order));
        let Some((By::Field(place), greatest)) = by else { return };
        let is_kind = |item: &Place| {
            matches!(self.schema.field(*item).kind(), Kind::Text | Kind::Date)
                && self.schema.title(item.table) != Some(*item)
                && self.schema.key(item.table) != Some(*item)
                && !ends_as_identifier(&self.schema.field(*item).name)
                && self.has_one(place.table, item.table)
        };
        let items = &self.meaning.items;
        let kinds = !items.is_empty() && items.iter().all(is_kind);
        if !kinds || !self.meaning.measures.is_empty() || !self.meaning.groups.is_empty() || !self.sums(place)
        {
            return;
        }
        let sum = Measure::Made(Func::Sum, place);
        let by_sum = Some((By::Measure(sum), greatest));
        if ranks {
            self.meaning.rank = by_sum;
        } else {
            self.meaning.order = by_sum;
        }
        self.meaning.measures.push(sum);
        self.meaning.groups = self.meaning.items.iter().map(|item| Group::Field(*item)).collect();
    }

    /// `orders of the oldest customer`: a number of the rows that belong to the first of a ranking.
    pub(super) fn rank_of_a_parent(&mut self) -> Result<(), Unclear> {
        let meaning = &self.meaning;
        let (Some((By::Field(place), greatest)), [measure]) = (meaning.rank, &meaning.measures[..]) else {
            return Ok(());
        };
        let plain = meaning.groups.is_empty()
            && meaning.items.is_empty()
            && meaning.unit.is_none()
            && meaning.limit.is_none_or(|limit| limit == 1)
            && meaning.filters.iter().all(|filter| filter.place.table != place.table);
        let base = measure.table();
        if !plain || base == place.table || !self.way(&[base], place.table)?.iter().all(|step| step.up) {
            return Ok(());
        }
        let func = if greatest { Func::Greatest } else { Func::Least };
        let meaning = &mut self.meaning;
        meaning.filters.push(Filter { place, test: Test::Versus(Compare::Equal, func) });
        meaning.rank = None;
        meaning.limit = None;
        Ok(())
    }

    /// Groups the numbers where no word like `per` does.
    pub(super) fn complete_groups(&mut self) -> Result<(), Unclear> {
        // `the types of tasks with the most failures`, and not `the tasks with the most failures, and their type`
        let is_owned = |item: &Place| self.meaning.owners.contains(&item.table);
        let kinds = self.asks_for_kinds() && self.meaning.items.iter().all(is_owned);
        let meaning = &mut self.meaning;
        if meaning.measures.is_empty() {
            return if meaning.groups.is_empty() { Ok(()) } else { Err(Unclear::Shape) };
        }
        let counted: Vec<usize> = meaning.measures.iter().map(|measure| measure.table()).collect();
        let others: Vec<usize> =
            meaning.tables.iter().copied().filter(|table| !counted.contains(table)).collect();
        let ranked = matches!(meaning.rank, Some((By::Measure(_), _))) || !meaning.having.is_empty();
        let first_item = meaning.items.first().map(|item| item.table);
        // `the city with the most orders each month`
        let ranks_in_units = matches!(meaning.rank, Some((By::Measure(_), _))) && !meaning.which;
        let is_whole = (meaning.unit.is_none() || ranks_in_units) && meaning.cycle.is_none();
        if meaning.groups.is_empty() && is_whole && (ranked || first_item.is_some()) {
            meaning.groups = match first_item {
                Some(table) if others.contains(&table) && !kinds => vec![Group::Table(table)],
                // `top 10 customers by orders and their revenue`: an amount is no kind.
                Some(_) if meaning.items.iter().any(|item| sums::adds_up(self.schema.field(*item))) => {
                    return Err(Unclear::Shape);
                }
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
            || self.each.is_none()
                && meaning
                    .groups
                    .iter()
                    .any(|group| matches!(group, Group::Table(table) if counted.contains(table)))
        {
            return Err(Unclear::Shape);
        }
        if meaning.rank.is_some() && matches!(meaning.rank, Some((By::Field(_), _))) {
            return Err(Unclear::Shape);
        }
        // `cities with at most 10 cancelled orders`: of each order there is one.
        let is_compared = |group: &Group| match group {
            Group::Table(table) => {
                self.meaning.having.iter().any(|(measure, ..)| *measure == Measure::Count(*table))
            }
            Group::Field(_) => false,
        };
        if self.meaning.groups.iter().any(is_compared) {
            return Err(Unclear::Shape);
        }
        // The customers of each order: there is one.
        let base = counted[0];
        let is_one = |group: &Group| match group {
            Group::Table(table) => self.has_one(*table, base) && !self.has_one(base, *table),
            Group::Field(_) => false,
        };
        if matches!(self.meaning.measures[..], [Measure::Count(_)]) && self.meaning.groups.iter().any(is_one)
        {
            return Err(Unclear::Shape);
        }
        // A table beside it, of whose rows none is the group of one of these.
        if self.meaning.groups.iter().any(|group| self.is_beside(base, group.table())) {
            return Err(Unclear::Shape);
        }
        let meaning = &self.meaning;
        // `the best customers per city` asks for a ranking in each group.
        let grouped: Vec<usize> = meaning.groups.iter().map(|group| group.table()).collect();
        let way =
            |table: usize| self.links.way(&[counted[0]], table, self.schema.tables.len()).unwrap_or_default();
        // `shops that are hiring employees`: the table between those two.
        let between =
            |table: &usize| grouped.iter().any(|group| way(*group).iter().any(|step| step.to() == *table));
        // `the most popular channel among gold members`, `the best selling product of gold members`
        let ranks_things = meaning.common.is_some() || matches!(meaning.groups[..], [Group::Table(_)]);
        let has_condition =
            |table: &usize| ranks_things && meaning.filters.iter().any(|filter| filter.place.table == *table);
        if ranked
            && !others.iter().all(|table| grouped.contains(table) || between(table) || has_condition(table))
            && meaning.rank.is_some()
        {
            return Err(Unclear::Shape);
        }
        Ok(())
    }

    /// Whether the way from a table to another one leads over what both refer to: its rows do not belong together.
    fn is_beside(&self, table: usize, other: usize) -> bool {
        let way = self.links.way(&[table], other, self.schema.tables.len()).unwrap_or_default();
        leads_beside(&way)
    }

    pub(super) fn sums(&self, place: Place) -> bool {
        sums::adds_up(self.schema.field(place))
    }
}
