//! Writes a query as SQL. All names are quoted, and all values are literals made here.

use std::fmt::Write as _;

use crate::calendar::{Day, Range, Unit};
use crate::dialect::Dialect;
use crate::joins::Step;
use crate::labels::Labels;
use crate::plan::ROWS_MAX;
use crate::plan::query::{Column, Expr, Query, Related};
use crate::schema::{Kind, Place, Schema};
use crate::understand::meaning::{Filter, Test};
use crate::words::phrases::{Compare, Func};

/// The most calendar units; without a range, the latest ones.
const CALENDAR_MAX: u32 = 4_000;

/// The text of a query.
pub fn write(query: &Query, labels: Labels<'_>) -> String {
    let writer =
        Writer { schema: labels.schema, dialect: labels.schema.dialect, share: query.share.as_ref() };
    match query.calendar {
        Some((unit, range)) => writer.series(query, unit, range, labels.unit(unit)),
        None => writer.select(query),
    }
}

struct Writer<'a> {
    schema: &'a Schema,
    dialect: Dialect,
    /// The condition of a percentage.
    share: Option<&'a Filter>,
}

impl Writer<'_> {
    fn select(&self, query: &Query) -> String {
        let number = self.name("number");
        let shown_as = |column: &Column| {
            let shown = match query.averaged {
                Some(_) => self.dialect.average(&number),
                None => self.shown(column.expr),
            };
            format!("{shown} AS {}", self.name(&column.alias))
        };
        let columns: Vec<String> = query.columns.iter().map(shown_as).collect();
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
        let mut having: Vec<String> = query
            .having
            .iter()
            .map(|(expr, compare, number)| format!("{} {} {number}", self.expr(*expr), sign(*compare)))
            .collect();
        having.extend(query.known.map(|expr| format!("{} IS NOT NULL", self.expr(expr))));
        if !having.is_empty() {
            push(&mut sql, "HAVING", &having.join(" AND "));
        }
        let order: Vec<String> = query
            .order
            .iter()
            .map(|(expr, greatest)| format!("{}{}", self.expr(*expr), if *greatest { " DESC" } else { "" }))
            .collect();
        if !order.is_empty() {
            push(&mut sql, "ORDER BY", &order.join(", "));
        }
        if !query.columns.iter().all(|column| column.measure) {
            push(&mut sql, "LIMIT", &query.rows_read().to_string());
        }
        if query.of_groups || query.averaged.is_some() {
            sql = format!(
                "SELECT {}\nFROM (\n  {}\n){}",
                columns.join(", "),
                sql.replace('\n', "\n  "),
                self.dialect.inner_name()
            );
        }
        sql
    }

    /// One row per calendar unit, including units without rows.
    fn series(&self, query: &Query, unit: Unit, range: Option<Range>, label: &str) -> String {
        let time = query.time.expect("a calendar goes by a time");
        let start = self.expr(Expr::Start(unit, time));
        let numbers: Vec<(String, bool, String)> = query
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| {
                let counts = matches!(
                    column.expr,
                    Expr::Rows | Expr::Present(_) | Expr::Different(_) | Expr::Made(Func::Sum, _)
                );
                (format!("n{at}"), counts, column.alias.clone())
            })
            .collect();
        let [found_name, calendar_name, start_name] =
            ["found", "calendar", "start"].map(|one| self.name(one));
        let mut found = format!("SELECT {start} AS {start_name}");
        for (column, (inner, ..)) in query.columns.iter().zip(&numbers) {
            write!(found, ", {} AS {}", self.expr(column.expr), self.name(inner))
                .expect("a String takes all text");
        }
        write!(found, "\n  {}\n  GROUP BY 1", self.rows(query).replace('\n', "\n  "))
            .expect("a String takes all text");
        let shown: Vec<String> = numbers
            .iter()
            .map(|(inner, counts, alias)| {
                let value = format!("{found_name}.{}", self.name(inner));
                let value = if *counts { format!("COALESCE({value}, 0)") } else { value };
                format!("{value} AS {}", self.name(alias))
            })
            .collect();
        let of_calendar = format!("{calendar_name}.{start_name}");
        let (with, calendar) = match self.dialect.recurses() {
            true => {
                let part =
                    if self.counts_parts() { format!(", {}", self.name("part")) } else { String::new() };
                let calendar = self.calendar(unit, range);
                ("WITH RECURSIVE", format!("{calendar_name}({start_name}{part}) AS (\n  {calendar}\n)"))
            }
            false => ("WITH", self.counted_calendar(unit, range)),
        };
        format!(
            "{with} {found_name} AS (\n  {found}\n), {calendar}\nSELECT {} AS {}, {}\nFROM {calendar_name} LEFT JOIN {found_name} ON {found_name}.{start_name} = \
             {of_calendar}\nWHERE {of_calendar} IS NOT NULL\nORDER BY {of_calendar}",
            shown_start(unit, &of_calendar),
            self.name(label),
            shown.join(", "),
        )
    }

    /// Whether the recursion has to count the units, because it cannot have a LIMIT.
    fn counts_parts(&self) -> bool {
        self.dialect != Dialect::Sqlite
    }

    /// The calendar units in a range, or from the first to the last that has rows.
    fn calendar(&self, unit: Unit, range: Option<Range>) -> String {
        let dialect = self.dialect;
        let [found, calendar, start, part] = ["found", "calendar", "start", "part"].map(|one| self.name(one));
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
        let [found, calendar, start, digits, digit, numbers, number, ends_name, first_name, last_name] =
            ["found", "calendar", "start", "digits", "digit", "numbers", "number", "ends", "first", "last"]
                .map(|one| self.name(one));
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
            Expr::Start(unit, _) => shown_start(unit, &self.expr(expr)),
            _ => self.expr(expr),
        }
    }

    fn expr(&self, expr: Expr) -> String {
        match expr {
            Expr::Field(place) => self.field(place),
            Expr::Present(place) => format!("COUNT({})", self.field(place)),
            Expr::Rows => "COUNT(*)".to_owned(),
            Expr::Different(place) => format!("COUNT(DISTINCT {})", self.field(place)),
            Expr::Made(func, place) => {
                let number = self.number(place);
                match func {
                    Func::Sum => format!("SUM({number})"),
                    Func::Average => self.dialect.average(&number),
                    Func::Least => format!("MIN({number})"),
                    Func::Greatest => format!("MAX({number})"),
                }
            }
            Expr::Share(_) => {
                let condition = self.share.map_or_else(|| "1 = 0".to_owned(), |share| self.condition(share));
                self.dialect.average(&format!("CASE WHEN {condition} THEN 100.0 ELSE 0.0 END"))
            }
            Expr::Start(unit, place) => self.dialect.start(unit, &self.field(place)),
        }
    }

    fn condition(&self, filter: &Filter) -> String {
        let field = self.field(filter.place);
        match &filter.test {
            Test::Among(values, among) => {
                let list: Vec<String> = values.iter().map(|value| self.dialect.literal(value)).collect();
                match (&list[..], among) {
                    ([one], true) => format!("{field} = {one}"),
                    // NULL differs from the value, too.
                    ([one], false) => format!("({field} <> {one} OR {field} IS NULL)"),
                    (_, true) => format!("{field} IN ({})", list.join(", ")),
                    (_, false) => format!("({field} NOT IN ({}) OR {field} IS NULL)", list.join(", ")),
                }
            }
            Test::Number(Compare::NotEqual, number) => {
                format!("({} <> {number} OR {field} IS NULL)", self.number(filter.place))
            }
            Test::Numbers(numbers) => {
                let list: Vec<String> = numbers.iter().map(f64::to_string).collect();
                format!("{} IN ({})", self.number(filter.place), list.join(", "))
            }
            Test::Number(compare, number) => {
                format!("{} {} {number}", self.number(filter.place), sign(*compare))
            }
            Test::Between(least, most) => format!("{} BETWEEN {least} AND {most}", self.number(filter.place)),
            Test::Days(range) => {
                let from =
                    range.from.map(|day| format!("{field} >= {}", self.dialect.literal(&day.to_string())));
                let before =
                    range.before.map(|day| format!("{field} < {}", self.dialect.literal(&day.to_string())));
                from.into_iter().chain(before).collect::<Vec<String>>().join(" AND ")
            }
            Test::Versus(compare, func) => format!(
                "{} {} (SELECT {} FROM {})",
                self.number(filter.place),
                sign(*compare),
                self.expr(Expr::Made(*func, filter.place)),
                self.table(filter.place.table)
            ),
            Test::Present => format!("{field} IS NOT NULL"),
        }
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
        Unit::Year => format!("substr({start}, 1, 4)"),
    }
}
