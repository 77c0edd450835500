//! Writes a query as SQL. All names are quoted, and all values are literals made here.

use std::fmt::Write as _;

use crate::calendar::{Cycle, Day, Range, Unit};
use crate::dialect::Dialect;
use crate::joins::Step;
use crate::labels::Labels;
use crate::plan::ROWS_MAX;
use crate::plan::query::{Column, Derived, Expr, FirstOfEach, Periods, Query, Related};
use crate::schema::{Kind, Place, Schema};
use crate::understand::meaning::{Filter, Test};
use crate::words::phrases::{Compare, Func, Part};

/// The most calendar units; without a range, the latest ones.
const CALENDAR_MAX: u32 = 4_000;

pub const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
pub const WEEKDAYS_CHINESE: [&str; 7] =
    ["星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"];

/// The column by which the first ones of each group are chosen.
pub const PLACE_IN_GROUP: &str = "place_in_group";

/// The text of a query.
pub fn write(query: &Query, labels: Labels<'_>) -> String {
    let writer = Writer {
        schema: labels.schema,
        dialect: labels.schema.dialect,
        chinese: labels.chinese,
        share: query.share.as_ref(),
        whole: query.whole.as_ref(),
        periods: query.periods.zip(query.time),
        fiscal: query.fiscal,
    };
    let is_median = |column: &Column| matches!(column.expr, Expr::Made(Func::Median, _));
    match query.calendar {
        Some((unit, range)) => writer.series(query, unit, range, labels.unit(unit)),
        None if query.columns.iter().any(is_median) => writer.medians(query),
        None if query.first_of_each.is_some() => writer.first_of_each(query),
        None => writer.select(query),
    }
}

struct Writer<'a> {
    schema: &'a Schema,
    dialect: Dialect,
    /// Weekdays are in Chinese.
    chinese: bool,
    /// The condition of a percentage.
    share: Option<&'a Filter>,
    /// The condition of that to which it is in a ratio.
    whole: Option<&'a Filter>,
    /// The month in which fiscal years begin, if quarters are called by them.
    fiscal: Option<i64>,
    /// The days of each number, by a time.
    periods: Option<(Periods, Place)>,
}

impl Writer<'_> {
    fn select(&self, query: &Query) -> String {
        let number = self.name("number");
        let shown_as = |column: &Column| {
            let shown = match (query.averaged, query.above) {
                (Some(_), Some(above)) => {
                    self.dialect.average(&format!("CASE WHEN {number} > {above} THEN 100.0 ELSE 0.0 END"))
                }
                (Some(_), None) => self.dialect.average(&number),
                (None, _) => self.shown(column.expr),
            };
            format!("{shown} AS {}", self.name(&column.alias))
        };
        let derived = query.derived.iter().map(|(kind, alias)| {
            let expr = query.columns[kind.column()].expr;
            format!("{} AS {}", self.derived(*kind, expr), self.name(alias))
        });
        let columns: Vec<String> = query.columns.iter().map(shown_as).chain(derived).collect();
        let different = if query.different { "DISTINCT " } else { "" };
        let shown = match query.averaged {
            _ if query.of_groups => "1".to_owned(),
            Some(expr) => format!("{} AS {number}", self.expr(expr)),
            None => columns.join(", "),
        };
        let mut sql = format!("SELECT {different}{shown}\n{}", self.rows(query));
        if !query.groups.is_empty() {
            let groups: Vec<String> = query.groups.iter().map(|expr| self.expr(*expr)).collect();
            push(&mut sql, "GROUP BY", &groups.join(", "));
        }
        self.having(&mut sql, query);
        if !query.order.is_empty() {
            push(&mut sql, "ORDER BY", &self.order(&query.order));
        }
        if query.shows_rows() {
            push(&mut sql, "LIMIT", &limit(query));
        }
        if query.of_groups || query.averaged.is_some() {
            sql = format!("SELECT {}\nFROM (\n  {}\n){}", columns.join(", "), sql, self.dialect.inner_name());
        }
        sql
    }

    /// Which groups stay.
    fn having(&self, sql: &mut String, query: &Query) {
        let condition = |(expr, test): &(Expr, Test)| {
            let expr = self.expr(*expr);
            self.test(&expr, &expr, test)
        };
        let known = query.known.map(|expr| format!("{} IS NOT NULL", self.expr(expr)));
        let having: Vec<String> = query.having.iter().map(condition).chain(known).collect();
        if !having.is_empty() {
            push(sql, "HAVING", &having.join(" AND "));
        }
    }

    /// Ranks the groups in each group of some, and keeps the first ones.
    fn first_of_each(&self, query: &Query) -> String {
        let Some(FirstOfEach { of: first, rows, after }) = &query.first_of_each else {
            return self.select(query);
        };
        let place = self.name(PLACE_IN_GROUP);
        let columns: Vec<String> = query
            .columns
            .iter()
            .map(|column| format!("{} AS {}", self.shown(column.expr), self.name(&column.alias)))
            .collect();
        let list = |exprs: &[Expr]| -> String {
            exprs.iter().map(|expr| self.expr(*expr)).collect::<Vec<String>>().join(", ")
        };
        let inside: Vec<(Expr, bool)> =
            query.order.iter().copied().filter(|(expr, _)| !first.contains(expr)).collect();
        let mut ranked = format!(
            "SELECT {}, ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {}) AS {place}\n{}",
            columns.join(", "),
            list(first),
            self.order(&inside),
            self.rows(query)
        );
        push(&mut ranked, "GROUP BY", &list(&query.groups));
        self.having(&mut ranked, query);
        let name = self.name("ranked");
        let names = |columns: &mut dyn Iterator<Item = &Column>| -> String {
            columns
                .map(|column| format!("{name}.{}", self.name(&column.alias)))
                .collect::<Vec<String>>()
                .join(", ")
        };
        let which = match (after, rows) {
            (0, _) => format!("<= {rows}"),
            (_, 1) => format!("= {}", after + 1),
            _ => format!("BETWEEN {} AND {}", after + 1, after + rows),
        };
        format!(
            "SELECT {}\nFROM (\n  {}\n) AS {name}\nWHERE {name}.{place} {which}\nORDER BY {}, {name}.{place}\nLIMIT {}",
            names(&mut query.columns.iter()),
            ranked,
            names(&mut query.columns.iter().filter(|column| first.contains(&column.expr))),
            query.rows_read(),
        )
    }

    /// The middle number of each group, or the average of the two in the middle.
    fn medians(&self, query: &Query) -> String {
        let [number, place, numbers, name] =
            ["number", "place", "numbers", "ranked"].map(|one| self.name(one));
        let median = query.columns.iter().find_map(|column| match column.expr {
            Expr::Made(Func::Median, place) => Some(place),
            _ => None,
        });
        let median = self.number(median.expect("a median is asked for"));
        let group = |at: usize| self.name(&format!("g{at}"));
        let groups: Vec<String> = query.groups.iter().map(|expr| self.expr(*expr)).collect();
        let each =
            if groups.is_empty() { String::new() } else { format!("PARTITION BY {}", groups.join(", ")) };
        let named: String =
            groups.iter().enumerate().map(|(at, expr)| format!("{expr} AS {}, ", group(at))).collect();
        let ordered = if each.is_empty() { String::new() } else { format!("{each} ") };
        let mut ranked = format!(
            "SELECT {named}{median} AS {number}, ROW_NUMBER() OVER ({ordered}ORDER BY {median}) AS {place}, COUNT(*) OVER ({each}) AS \
             {numbers}\n{}",
            self.rows(query)
        );
        let word = if ranked.contains("\nWHERE ") { "AND" } else { "WHERE" };
        push(&mut ranked, word, &format!("{median} IS NOT NULL"));
        let outside = |expr: Expr| match query.groups.iter().position(|known| *known == expr) {
            Some(at) => format!("{name}.{}", group(at)),
            None => self.dialect.average(&format!("{name}.{number}")),
        };
        let columns: Vec<String> = query
            .columns
            .iter()
            .map(|column| {
                let shown = match column.expr {
                    Expr::Start(unit, _) => self.shown_start(unit, &outside(column.expr)),
                    Expr::Cycle(cycle, _) => self.shown_cycle(cycle, &outside(column.expr)),
                    expr => outside(expr),
                };
                format!("{shown} AS {}", self.name(&column.alias))
            })
            .collect();
        let mut sql = format!(
            "SELECT {}\nFROM (\n  {}\n) AS {name}\nWHERE 2 * {name}.{place} BETWEEN {name}.{numbers} AND {name}.{numbers} + 2",
            columns.join(", "),
            ranked,
        );
        if !groups.is_empty() {
            let all: Vec<String> = (0..groups.len()).map(|at| format!("{name}.{}", group(at))).collect();
            push(&mut sql, "GROUP BY", &all.join(", "));
            let order: Vec<String> = query
                .order
                .iter()
                .map(|(expr, greatest)| format!("{}{}", outside(*expr), if *greatest { " DESC" } else { "" }))
                .collect();
            if !order.is_empty() {
                push(&mut sql, "ORDER BY", &order.join(", "));
            }
            push(&mut sql, "LIMIT", &limit(query));
        }
        sql
    }

    fn order(&self, order: &[(Expr, bool)]) -> String {
        let one = |(expr, greatest): &(Expr, bool)| {
            // As the other databases: nothing is less than everything.
            let nulls = match (self.dialect, greatest) {
                (Dialect::Postgres, true) => " NULLS LAST",
                (Dialect::Postgres, false) => " NULLS FIRST",
                _ => "",
            };
            format!("{}{}{nulls}", self.expr(*expr), if *greatest { " DESC" } else { "" })
        };
        order.iter().map(one).collect::<Vec<String>>().join(", ")
    }

    /// A number that follows from a column's.
    fn derived(&self, kind: Derived, expr: Expr) -> String {
        let now = self.expr(expr);
        let before = || match self.periods {
            Some((periods, time)) => self.during(expr, periods.before, time),
            None => now.clone(),
        };
        match kind {
            Derived::Before(_) => before(),
            Derived::Change(_) => format!("{now} - {}", before()),
            Derived::Growth(_) => {
                let before = before();
                // Of a loss, a gain is a growth.
                self.dialect.percentage(&format!("({now} - {before})"), &format!("ABS({before})"))
            }
            Derived::OfTotal(_) => self.dialect.percentage(&now, &format!("SUM({now}) OVER ()")),
            // Only a series has them, which writes them itself.
            Derived::SinceLast(_) | Derived::Cumulative(_) => now,
        }
    }

    /// A number of some days only.
    fn during(&self, expr: Expr, range: Range, time: Place) -> String {
        let then = self.condition(&Filter { place: time, test: Test::Days(range) });
        let only = |value: &str| format!("CASE WHEN {then} THEN {value} END");
        match expr {
            Expr::Rows => format!("COUNT({})", only("1")),
            Expr::Present(place) => format!("COUNT({})", only(&self.field(place))),
            Expr::Different(place) => format!("COUNT(DISTINCT {})", only(&self.field(place))),
            Expr::Made(func, place) => {
                let number = only(&self.number(place));
                match func {
                    Func::Sum => format!("COALESCE(SUM({number}), 0)"),
                    Func::Average | Func::Median => self.dialect.average(&number),
                    Func::Least => format!("MIN({number})"),
                    Func::Greatest => format!("MAX({number})"),
                }
            }
            Expr::Per(sum, each) => {
                let part = sum.map_or_else(
                    || format!("COUNT({})", only("1")),
                    |place| format!("SUM({})", only(&self.number(place))),
                );
                self.dialect.ratio(&part, &format!("COUNT(DISTINCT {})", only(&self.field(each))))
            }
            Expr::Share(_) => self
                .dialect
                .average(&only(&format!("CASE WHEN {} THEN 100.0 ELSE 0.0 END", self.share_condition()))),
            Expr::Part(place) => {
                let number = self.number(place);
                let part =
                    format!("SUM(CASE WHEN {then} AND {} THEN {number} ELSE 0 END)", self.share_condition());
                self.dialect.percentage(&part, &format!("SUM({})", only(&number)))
            }
            Expr::Field(_) | Expr::Start(..) | Expr::Cycle(..) => self.plain(expr),
        }
    }

    fn share_condition(&self) -> String {
        self.share.map_or_else(|| "1 = 0".to_owned(), |share| self.condition(share))
    }

    /// A name that no table has.
    fn free(&self, name: &str) -> String {
        let mut free = name.to_owned();
        while self.schema.tables.iter().any(|table| table.name.eq_ignore_ascii_case(&free)) {
            free.push('_');
        }
        self.name(&free)
    }

    /// One row per calendar unit, including units without rows.
    fn series(&self, query: &Query, unit: Unit, range: Option<Range>, label: &str) -> String {
        let time = query.time.expect("a calendar goes by a time");
        let start = self.expr(Expr::Start(unit, time));
        let number = |column: &Column| query.averaged.unwrap_or(column.expr);
        let numbers: Vec<(String, bool, String)> = query
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| (format!("n{at}"), number(column).is_zero_of_nothing(), column.alias.clone()))
            .collect();
        let [found_name, calendar_name] = ["found", "calendar"].map(|one| self.free(one));
        let start_name = self.name("start");
        let found = if query.of_groups {
            self.groups_by_their_first(query, unit, time)
        } else {
            let mut found = format!("SELECT {start} AS {start_name}");
            for (column, (inner, ..)) in query.columns.iter().zip(&numbers) {
                write!(found, ", {} AS {}", self.expr(number(column)), self.name(inner))
                    .expect("a String takes all text");
            }
            write!(found, "\n  {}\n  GROUP BY 1", self.rows(query)).expect("a String takes all text");
            found
        };
        let of_calendar = format!("{calendar_name}.{start_name}");
        let value = |(inner, counts, _): &(String, bool, String)| {
            let value = format!("{found_name}.{}", self.name(inner));
            if *counts { format!("COALESCE({value}, 0)") } else { value }
        };
        let derived = query.derived.iter().map(|(kind, alias)| {
            let value = value(&numbers[kind.column()]);
            let shown = match kind {
                Derived::Cumulative(_) => format!("SUM({value}) OVER (ORDER BY {of_calendar})"),
                _ => {
                    let last = format!("LAG({value}) OVER (ORDER BY {of_calendar})");
                    self.dialect.percentage(&format!("({value} - {last})"), &format!("ABS({last})"))
                }
            };
            format!("{shown} AS {}", self.name(alias))
        });
        let shown: Vec<String> = numbers
            .iter()
            .map(|number| format!("{} AS {}", value(number), self.name(&number.2)))
            .chain(derived)
            .collect();
        let (with, calendar) = match self.dialect.recurses() {
            true => {
                let part =
                    if self.counts_parts() { format!(", {}", self.name("part")) } else { String::new() };
                let calendar = self.calendar(unit, range);
                ("WITH RECURSIVE", format!("{calendar_name}({start_name}{part}) AS (\n  {calendar}\n)"))
            }
            false => ("WITH", self.counted_calendar(unit, range)),
        };
        let (columns, order) = if query.averaged.is_some() {
            let average = self.dialect.average(&value(&numbers[0]));
            (format!("{average} AS {}", self.name(&numbers[0].2)), String::new())
        } else {
            let start = format!("{} AS {}", self.shown_start(unit, &of_calendar), self.name(label));
            let order = match query.order.first() {
                Some((_, greatest)) => {
                    let descending = if *greatest { " DESC" } else { "" };
                    format!("{}{descending}, {of_calendar}\nLIMIT {}", value(&numbers[0]), query.limit)
                }
                None => of_calendar.clone(),
            };
            (format!("{start}, {}", shown.join(", ")), format!("\nORDER BY {order}"))
        };
        format!(
            "{with} {found_name} AS (\n  {found}\n), {calendar}\nSELECT {columns}\nFROM {calendar_name} LEFT JOIN {found_name} ON \
             {found_name}.{start_name} = {of_calendar}\nWHERE {of_calendar} IS NOT NULL{order}"
        )
    }

    /// The number of groups by the calendar unit of their first time.
    fn groups_by_their_first(&self, query: &Query, unit: Unit, time: Place) -> String {
        let [first, start, number] = ["first", "start", "n0"].map(|one| self.name(one));
        let least = self.expr(Expr::Made(Func::Least, time));
        let groups: Vec<String> = query.groups.iter().map(|expr| self.expr(*expr)).collect();
        let mut each = format!("SELECT {least} AS {first}\n{}", self.rows(query));
        push(&mut each, "GROUP BY", &groups.join(", "));
        self.having(&mut each, query);
        format!(
            "SELECT {} AS {start}, COUNT(*) AS {number}\n  FROM (\n  {each}\n  ){}\n  GROUP BY 1",
            self.dialect.start(unit, &first),
            self.dialect.inner_name(),
        )
    }

    /// Whether the recursion has to count the units, because it cannot have a LIMIT.
    fn counts_parts(&self) -> bool {
        self.dialect != Dialect::Sqlite
    }

    /// The calendar units in a range, or from the first to the last that has rows.
    fn calendar(&self, unit: Unit, range: Option<Range>) -> String {
        let dialect = self.dialect;
        let [found, calendar] = ["found", "calendar"].map(|one| self.free(one));
        let [start, part] = ["start", "part"].map(|one| self.name(one));
        let (first, from, last) = match ends(unit, range) {
            Some((first, last)) => {
                (dialect.literal(&first.to_string()), String::new(), dialect.literal(&last.to_string()))
            }
            None => {
                (self.earliest(unit), format!(" FROM {found}"), format!("(SELECT MAX({start}) FROM {found})"))
            }
        };
        let next = dialect.later(&start, 1, unit);
        if self.counts_parts() {
            return format!(
                "SELECT {first}, 1{from}\n  UNION ALL\n  SELECT {next}, {part} + 1 FROM {calendar} WHERE {start} < \
                 {last} AND {part} < {CALENDAR_MAX}"
            );
        }
        format!(
            "SELECT {first}{from}\n  UNION ALL\n  SELECT {next} FROM {calendar} WHERE {start} < {last} LIMIT \
             {CALENDAR_MAX}"
        )
    }

    /// The calendar without recursion: numbers are put together from digits and counted from the first unit.
    fn counted_calendar(&self, unit: Unit, range: Option<Range>) -> String {
        let [found, calendar, digits, numbers] =
            ["found", "calendar", "digits", "numbers"].map(|one| self.free(one));
        let [start, digit, number, ends_name, first_name, last_name] =
            ["start", "digit", "number", "ends", "first", "last"].map(|one| self.name(one));
        let (units, day, from, until) = match ends(unit, range) {
            Some((first, last)) => {
                let units = (1..CALENDAR_MAX).take_while(|part| unit.later(first, i64::from(*part)) <= last);
                let day = self.dialect.literal(&first.to_string());
                (1 + units.count(), day, numbers.clone(), String::new())
            }
            None => {
                let day = format!("{ends_name}.{first_name}");
                let later = self.dialect.later_by(&day, &number, unit);
                let earliest = self.earliest(unit);
                let from = format!(
                    "(SELECT {earliest} AS {first_name}, MAX({start}) AS {last_name} FROM {found}) AS {ends_name} \
                     CROSS JOIN {numbers}"
                );
                (ROWS_MAX as usize, day, from, format!(" AND {later} <= {ends_name}.{last_name}"))
            }
        };
        let places = (units - 1).to_string().len();
        let name = |place: usize| self.name(&format!("d{place}"));
        let sum: Vec<String> = (0..places)
            .map(|place| format!("{}.{digit} * {}", name(place), 10_u64.pow(place as u32)))
            .collect();
        let tables: Vec<String> = (0..places).map(|place| format!("{digits} AS {}", name(place))).collect();
        let ten: Vec<String> = (1..10).map(|digit| format!("SELECT {digit}")).collect();
        format!(
            "{digits} AS (\n  SELECT 0 AS {digit} UNION ALL {}\n), {numbers} AS (\n  SELECT CAST({} AS INT) AS \
             {number} FROM {}\n), {calendar} AS (\n  SELECT {} AS {start} FROM {from} WHERE {number} < \
             {units}{until}\n)",
            ten.join(" UNION ALL "),
            sum.join(" + "),
            tables.join(" CROSS JOIN "),
            self.dialect.later_by(&day, &number, unit),
        )
    }

    /// The first unit that has rows, of the latest ones.
    fn earliest(&self, unit: Unit) -> String {
        let start = self.name("start");
        let earliest = self.dialect.later(&format!("MAX({start})"), 1 - ROWS_MAX as i64, unit);
        self.dialect.greater(&format!("MIN({start})"), &earliest)
    }

    /// The part from FROM to WHERE.
    fn rows(&self, query: &Query) -> String {
        let mut sql = format!("FROM {}", self.table(query.from));
        sql.push_str(&match &query.outer {
            Some(on) => self.outer_joins(&query.joins, on),
            None => self.joins(&query.joins),
        });
        let mut conditions: Vec<String> =
            query.conditions.iter().map(|filter| self.condition(filter)).collect();
        conditions.extend(query.present.iter().map(|present| self.related(present, "IN")));
        conditions.extend(query.absent.as_ref().map(|absent| self.related(absent, "NOT IN")));
        if !conditions.is_empty() {
            push(&mut sql, "WHERE", &conditions.join(" AND "));
        }
        sql
    }

    fn joins(&self, steps: &[Step]) -> String {
        let mut sql = String::new();
        for step in steps {
            let table = self.table(step.to());
            let (child, parent) = (self.field(step.link.child), self.field(step.link.parent));
            write!(sql, "\nJOIN {table} ON {child} = {parent}").expect("a String takes all text");
        }
        sql
    }

    /// Keeps rows that have none in the other table.
    fn outer_joins(&self, steps: &[Step], on: &[Filter]) -> String {
        let on: String = on.iter().map(|filter| format!(" AND {}", self.condition(filter))).collect();
        format!("{}{on}", self.joins(steps).replace("\nJOIN ", "\nLEFT JOIN "))
    }

    fn related(&self, related: &Related, within: &str) -> String {
        let child = self.field(related.child);
        let mut conditions = vec![format!("{child} IS NOT NULL")];
        conditions.extend(related.conditions.iter().map(|filter| self.condition(filter)));
        format!(
            "{} {within} (SELECT {child} FROM {}{} WHERE {})",
            self.field(related.key),
            self.table(related.child.table),
            self.joins(&related.steps).replace('\n', " "),
            conditions.join(" AND "),
        )
    }

    fn name(&self, name: &str) -> String {
        self.dialect.name(name)
    }

    /// A table in FROM.
    fn table(&self, table: usize) -> String {
        let table = self.schema.table(table);
        match &table.database {
            Some(database) => format!("{}.{}", self.name(database), self.name(&table.name)),
            None => self.name(&table.name),
        }
    }

    fn field(&self, place: Place) -> String {
        let (table, field) = (&self.schema.table(place.table).name, &self.schema.field(place).name);
        format!("{}.{}", self.name(table), self.name(field))
    }

    /// A numeric field as a number.
    fn number(&self, place: Place) -> String {
        let field = self.field(place);
        if self.schema.field(place).kind() == Kind::NumberText { self.dialect.number(&field) } else { field }
    }

    /// As a column of the answer: a month without its day.
    fn shown(&self, expr: Expr) -> String {
        match expr {
            Expr::Start(unit, _) => self.shown_start(unit, &self.expr(expr)),
            Expr::Cycle(cycle, _) => self.shown_cycle(cycle, &self.expr(expr)),
            _ => self.expr(expr),
        }
    }

    /// A quarter of a fiscal year is that of the calendar so many months later.
    fn shown_start(&self, unit: Unit, start: &str) -> String {
        match (unit, self.fiscal) {
            (Unit::Quarter, Some(month)) => {
                let later = self.dialect.later(start, (13 - month) % 12, Unit::Month);
                self.dialect.joined("FY", &shown_start(unit, &later))
            }
            _ => shown_start(unit, start),
        }
    }

    /// A weekday by its name.
    fn shown_cycle(&self, cycle: Cycle, number: &str) -> String {
        let days = if self.chinese { WEEKDAYS_CHINESE } else { WEEKDAYS };
        match cycle {
            Cycle::Hour => number.to_owned(),
            Cycle::Weekday => {
                let cases = (1..).zip(days).map(|(day, name)| format!("WHEN {day} THEN '{name}' "));
                format!("CASE {number} {}END", cases.collect::<String>())
            }
        }
    }

    /// In the periods' later days, if any.
    fn expr(&self, expr: Expr) -> String {
        match self.periods {
            Some((periods, time)) => self.during(expr, periods.now, time),
            None => self.plain(expr),
        }
    }

    fn plain(&self, expr: Expr) -> String {
        match expr {
            Expr::Field(place) => self.field(place),
            Expr::Present(place) => format!("COUNT({})", self.field(place)),
            Expr::Rows => "COUNT(*)".to_owned(),
            Expr::Different(place) => format!("COUNT(DISTINCT {})", self.field(place)),
            Expr::Made(func, place) => {
                let number = self.number(place);
                match func {
                    Func::Sum => format!("SUM({number})"),
                    Func::Average | Func::Median => self.dialect.average(&number),
                    Func::Least => format!("MIN({number})"),
                    Func::Greatest => format!("MAX({number})"),
                }
            }
            Expr::Per(sum, each) => {
                let part =
                    sum.map_or_else(|| "COUNT(*)".to_owned(), |place| format!("SUM({})", self.number(place)));
                self.dialect.ratio(&part, &format!("COUNT(DISTINCT {})", self.field(each)))
            }
            Expr::Share(_) if let Some(whole) = self.whole => {
                let count = |condition: &str| format!("SUM(CASE WHEN {condition} THEN 1 ELSE 0 END)");
                self.dialect.ratio(&count(&self.share_condition()), &count(&self.condition(whole)))
            }
            Expr::Part(place) if let Some(whole) = self.whole => {
                let number = self.number(place);
                let sum = |condition: &str| format!("SUM(CASE WHEN {condition} THEN {number} ELSE 0 END)");
                self.dialect.ratio(&sum(&self.share_condition()), &sum(&self.condition(whole)))
            }
            Expr::Share(_) => {
                let condition = self.share_condition();
                self.dialect.average(&format!("CASE WHEN {condition} THEN 100.0 ELSE 0.0 END"))
            }
            Expr::Part(place) => {
                let number = self.number(place);
                let part = format!("SUM(CASE WHEN {} THEN {number} ELSE 0 END)", self.share_condition());
                self.dialect.percentage(&part, &format!("SUM({number})"))
            }
            Expr::Start(unit, place) => self.dialect.start(unit, &self.field(place)),
            Expr::Cycle(cycle, place) => self.dialect.cycle(cycle, &self.field(place)),
        }
    }

    fn condition(&self, filter: &Filter) -> String {
        if let Test::Versus(compare, func) = &filter.test {
            return format!(
                "{} {} (SELECT {} FROM {})",
                self.number(filter.place),
                sign(*compare),
                self.plain(Expr::Made(*func, filter.place)),
                self.table(filter.place.table)
            );
        }
        if let Test::Weekdays(days) = &filter.test {
            let days: Vec<String> = days.iter().map(u8::to_string).collect();
            let weekday = self.dialect.cycle(Cycle::Weekday, &self.field(filter.place));
            return format!("{weekday} IN ({})", days.join(", "));
        }
        self.test(&self.field(filter.place), &self.number(filter.place), &filter.test)
    }

    /// A test of a value, which is also a number.
    fn test(&self, value: &str, number: &str, test: &Test) -> String {
        match test {
            Test::Among(values, among) => {
                let list: Vec<String> = values.iter().map(|value| self.dialect.literal(value)).collect();
                match (&list[..], among) {
                    ([one], true) => format!("{value} = {one}"),
                    // NULL differs from the value, too.
                    ([one], false) => format!("({value} <> {one} OR {value} IS NULL)"),
                    (_, true) => format!("{value} IN ({})", list.join(", ")),
                    (_, false) => format!("({value} NOT IN ({}) OR {value} IS NULL)", list.join(", ")),
                }
            }
            Test::Number(Compare::NotEqual, other) => {
                format!("({number} <> {other} OR {value} IS NULL)")
            }
            Test::Numbers(numbers) => {
                let list: Vec<String> = numbers.iter().map(f64::to_string).collect();
                format!("{number} IN ({})", list.join(", "))
            }
            Test::Number(compare, other) => format!("{number} {} {other}", sign(*compare)),
            Test::Between(least, most) => format!("{number} BETWEEN {least} AND {most}"),
            Test::Days(range) => {
                // Days are compared as texts: those of five digits have no place.
                let day = |day: Day| self.dialect.literal(&day.to_string());
                if range.from.is_some_and(|from| from > Day::LAST) {
                    return "1 = 0".to_owned();
                }
                let from = range.from.map(|from| format!("{value} >= {}", day(from)));
                let before = range.before.filter(|before| *before <= Day::LAST);
                let before = before.map(|before| format!("{value} < {}", day(before)));
                let ends: Vec<String> = from.into_iter().chain(before).collect();
                if ends.is_empty() { format!("{value} IS NOT NULL") } else { ends.join(" AND ") }
            }
            Test::AnyOf(tests) => {
                let each: Vec<String> = tests.iter().map(|test| self.test(value, number, test)).collect();
                format!("({})", each.join(" OR "))
            }
            Test::Has(part, text) => {
                let text = self.dialect.lower(text);
                let literal = self.dialect.literal(&text);
                match part {
                    Part::Inside => self.dialect.has(value, &literal),
                    Part::Beginning => {
                        format!("SUBSTR(LOWER({value}), 1, {}) = {literal}", text.chars().count())
                    }
                    Part::End => {
                        let end = self.dialect.end(&format!("LOWER({value})"), text.chars().count());
                        format!("{end} = {literal}")
                    }
                }
            }
            Test::Present | Test::Versus(..) | Test::Weekdays(_) => format!("{value} IS NOT NULL"),
        }
    }
}

/// How many rows, and after how many.
fn limit(query: &Query) -> String {
    match query.offset {
        0 => query.rows_read().to_string(),
        offset => format!("{} OFFSET {offset}", query.rows_read()),
    }
}

/// The first and the last unit of a range with two ends.
fn ends(unit: Unit, range: Option<Range>) -> Option<(Day, Day)> {
    let range = range?;
    Some((unit.start(range.from?), unit.start(range.before?.plus(-1))))
}

fn push(sql: &mut String, word: &str, rest: &str) {
    write!(sql, "\n{word} {rest}").expect("a String takes all text");
}

fn sign(compare: Compare) -> &'static str {
    match compare {
        Compare::Equal => "=",
        Compare::NotEqual => "<>",
        Compare::More => ">",
        Compare::AtLeast => ">=",
        Compare::Less => "<",
        Compare::AtMost => "<=",
    }
}

fn shown_start(unit: Unit, start: &str) -> String {
    match unit {
        Unit::Day | Unit::Week => start.to_owned(),
        Unit::Month => format!("substr({start}, 1, 7)"),
        // `2026-10` as `2026-Q4`.
        Unit::Quarter => [("01", 1), ("04", 2), ("07", 3), ("10", 4)]
            .iter()
            .fold(format!("substr({start}, 1, 7)"), |text, (month, quarter)| {
                format!("REPLACE({text}, '-{month}', '-Q{quarter}')")
            }),
        Unit::Year => format!("substr({start}, 1, 4)"),
    }
}
