//! Explains the query and its assumptions for people, in English and in Chinese.

use crate::calendar::{Day, Range, Unit};
use crate::labels::{self, Labels, sign};
use crate::plan::ROWS_MAX;
use crate::plan::query::{Column, Derived, Expr, FirstOfEach, Periods, Query, Related};
use crate::schema::{Kind, Place, Schema};
use crate::scope::scope;
use crate::sql::{WEEKDAYS, WEEKDAYS_CHINESE};
use crate::understand::meaning::{Filter, Test, Unclear};
use crate::words;
use crate::words::phrases::{Func, Part};

/// The most columns of rows that a heading names.
const COLUMNS_NAMED: usize = 3;

/// A short heading for an answer: its numbers, what they are for each of, and of which rows and days.
pub fn title(query: &Query, labels: Labels<'_>) -> String {
    let (numbers, scope) = (numbers(query, labels), scope(query, labels));
    match (scope.is_empty(), labels.chinese) {
        (true, _) => numbers,
        (false, true) => format!("{numbers}（{}）", scope.join("，")),
        (false, false) => format!("{numbers} ({})", scope.join(", ")),
    }
}

fn numbers(query: &Query, labels: Labels<'_>) -> String {
    let names = |measure: bool| -> Vec<&str> {
        query
            .columns
            .iter()
            .filter(|column| column.measure == measure)
            .map(|column| column.alias.as_str())
            .collect()
    };
    let (numbers, others) = (names(true), names(false));
    let unit = query.calendar.filter(|_| query.averaged.is_none()).map(|(unit, _)| labels.unit(unit));
    let said = |name: &str| if labels.chinese { name.to_owned() } else { name.replace('_', " ") };
    let over: Vec<String> = unit.into_iter().chain(others.iter().copied()).map(said).collect();
    let table = said(&labels.table(query.from));
    // Rows by their names, or with more than a heading has room for.
    let is_title = |column: &Column| match column.expr {
        Expr::Field(place) => labels.schema.title(query.from) == Some(place),
        _ => false,
    };
    let is_named = matches!(&query.columns[..], [only] if is_title(only));
    if numbers.is_empty() && (is_named || over.len() > COLUMNS_NAMED) {
        return table;
    }
    match (numbers.is_empty(), over.is_empty(), labels.chinese) {
        (true, _, true) => format!("{table}：{}", over.join("、")),
        (true, _, false) => format!("{} of {table}", over.join(", ")),
        (false, true, true) => numbers.join("、"),
        (false, true, false) => numbers.join(", "),
        (false, false, true) => format!("各{}的{}", over.join("、"), numbers.join("、")),
        (false, false, false) => format!("{} per {}", numbers.join(", "), over.join(", ")),
    }
}

/// All choices of the query.
pub fn explanation(query: &Query, labels: Labels<'_>, today: Day) -> String {
    let teller = Teller { schema: labels.schema, chinese: labels.chinese, today };
    let mut parts = vec![teller.source(query)];
    parts.extend(
        query.columns.iter().filter(|column| column.measure).map(|column| teller.measure(column, query)),
    );
    parts.extend(query.conditions.iter().map(|filter| teller.filter(filter)));
    parts.extend(query.outer.iter().flatten().map(|filter| teller.filter(filter)));
    parts.extend(query.present.iter().map(|present| teller.present(present)));
    parts.extend(query.absent.as_ref().map(|absent| teller.absent(absent)));
    parts.extend(query.calendar.map(|(unit, _)| match query.averaged {
        Some(expr) => teller.averaged(unit, expr),
        None => teller.calendar(unit),
    }));
    parts.extend(query.having.iter().map(|(expr, test)| teller.group(*expr, test)));
    parts.extend(query.periods.map(|periods| teller.periods(periods)));
    parts.extend(query.derived.iter().filter_map(|(kind, name)| teller.derived(*kind, name)));
    parts.extend(query.first_of_each.as_ref().map(|FirstOfEach { of, rows, after }| {
        let names: Vec<&str> = query
            .columns
            .iter()
            .filter(|column| of.contains(&column.expr))
            .map(|column| column.alias.as_str())
            .collect();
        let names = names.join(if labels.chinese { "、" } else { ", " });
        match (after, rows, labels.chinese) {
            (0, _, true) => format!("每个{names}取前 {rows} 个"),
            (0, _, false) => format!("the first {rows} of each {names}"),
            (_, 1, true) => format!("每个{names}取第 {} 名", after + 1),
            (_, 1, false) => format!("number {} of each {names}", after + 1),
            (_, _, true) => format!("每个{names}取第 {} 至 {} 名", after + 1, after + rows),
            (_, _, false) => format!("numbers {} to {} of each {names}", after + 1, after + rows),
        }
    }));
    parts.extend(teller.edges(query));
    if query.averaged.is_some()
        && let Some((unit, range)) = query.calendar
    {
        parts.push(teller.averaged_units(unit, range));
    } else if matches!(query.calendar, Some((_, None))) {
        parts.push(match teller.chinese {
            true => format!("最多取最近 {ROWS_MAX} 个周期"),
            false => format!("the latest {ROWS_MAX} at most"),
        });
    }
    if query.outer.is_none()
        && query.calendar.is_none()
        && query.columns.iter().any(|column| column.measure)
        && !query.groups.is_empty()
    {
        parts.push(teller.say("groups without any row are left out", "没有记录的分组不列出"));
    }
    parts.extend(teller.ordered(query));
    parts.extend(teller.place_shown(query));
    if !query.columns.iter().all(|column| column.measure) && query.calendar.is_none() {
        parts.push(match teller.chinese {
            true if query.limit == 1 && !query.order.is_empty() && query.offset == 0 => {
                "只取一行，即使有并列".to_owned()
            }
            true => format!("最多 {} 行", query.limit),
            false if query.limit == 1 && !query.order.is_empty() && query.offset == 0 => {
                "one row, even if others are equal".to_owned()
            }
            false if query.limit == 1 => "one row".to_owned(),
            false => format!("at most {} rows", query.limit),
        });
    }
    if labels.chinese { format!("{}。", parts.join("；")) } else { format!("{}.", parts.join("; ")) }
}

struct Teller<'a> {
    schema: &'a Schema,
    chinese: bool,
    today: Day,
}

impl Teller<'_> {
    /// Which calendar units are not whole, or that all are.
    fn edges(&self, query: &Query) -> Option<String> {
        Some(match (query.begins_within, query.ends_within) {
            (true, true) => self.say(
                "the first one begins before the range, and the last one ends after it: they are not whole",
                "第一个周期早于所选范围开始，最后一个晚于其结束，均不完整",
            ),
            (true, false) => self.say(
                "the first one begins before the range and is not whole",
                "第一个周期早于所选范围开始，不完整",
            ),
            (false, true) => self.say(
                "the last one ends after the range and is not whole",
                "最后一个周期晚于所选范围结束，不完整",
            ),
            (false, false) => {
                let unit = query.widened?;
                match self.chinese {
                    true => "范围扩展到完整的周期".to_owned(),
                    false => format!("in whole {}s", unit.word()),
                }
            }
        })
    }

    fn say(&self, english: &str, chinese: &str) -> String {
        (if self.chinese { chinese } else { english }).to_owned()
    }

    fn place(&self, place: Place) -> String {
        self.schema.full_name(place)
    }

    /// By what the rows are ordered. Numbers of groups and of calendar units that are shown say it themselves.
    fn ordered(&self, query: &Query) -> Option<String> {
        let (expr, greatest) = *query.order.first()?;
        if query
            .columns
            .iter()
            .any(|column| column.expr == expr && (column.measure || query.groups.contains(&expr)))
        {
            return None;
        }
        let is_time = matches!(expr, Expr::Field(place) if self.schema.field(place).kind() == Kind::Date);
        let by = match (expr, self.chinese) {
            (Expr::Rows, _) => self.say("the number of rows", "记录数"),
            (Expr::Different(place), false) => format!("the number of different {}", self.place(place)),
            (Expr::Different(place), true) => format!("不同 {} 的个数", self.place(place)),
            (Expr::Made(func, place), false) => {
                format!("the {}{}", labels::func(func, false), self.place(place))
            }
            (Expr::Made(func, place), true) => format!("{} {}", labels::func(func, true), self.place(place)),
            (Expr::Field(place), _) => self.place(place),
            _ => return None,
        };
        Some(match (self.chinese, greatest) {
            (true, true) if is_time => format!("按{by}从晚到早"),
            (true, false) if is_time => format!("按{by}从早到晚"),
            (false, true) if is_time => format!("ordered by {by}, the latest first"),
            (false, false) if is_time => format!("ordered by {by}, the earliest first"),
            (true, true) => format!("按{by}从大到小"),
            (true, false) => format!("按{by}从小到大"),
            (false, true) => format!("ordered by {by}, the greatest first"),
            (false, false) => format!("ordered by {by}, the least first"),
        })
    }

    /// Which one of the order is shown, or how many calendar units.
    fn place_shown(&self, query: &Query) -> Option<String> {
        let least = query.order.first().filter(|_| query.calendar.is_some()).map(|(_, greatest)| !greatest);
        match (query.offset, least, self.chinese) {
            (0, None, _) => None,
            (0, Some(least), true) => {
                let end = if least { "最少" } else { "最多" };
                Some(format!("取{end}的 {} 个，首尾两个周期可能不完整", query.limit))
            }
            (0, Some(least), false) => {
                let end = if least { "least" } else { "greatest" };
                Some(format!(
                    "the {} with the {end}, where the first and the last may not be whole",
                    query.limit
                ))
            }
            (before, _, true) => Some(format!("取第 {} 名", before + 1)),
            (before, _, false) => Some(format!("number {} in this order", before + 1)),
        }
    }

    fn source(&self, query: &Query) -> String {
        let from = &self.schema.table(query.from).name;
        let joins: Vec<String> = query
            .joins
            .iter()
            .map(|step| format!("{} = {}", self.place(step.link.child), self.place(step.link.parent)))
            .collect();
        let (datasource, joined) = (&self.schema.datasource, joins.join(", "));
        match (self.chinese, joins.is_empty()) {
            (true, true) => format!("取自数据源 {datasource} 的表 {from}"),
            (true, false) => format!("取自数据源 {datasource} 的表 {from}，按 {joined} 关联"),
            (false, true) => format!("From the table {from} of the data source {datasource}"),
            (false, false) => {
                format!("From the table {from} of the data source {datasource}, joined over {joined}")
            }
        }
    }

    fn measure(&self, column: &Column, query: &Query) -> String {
        let of_groups = query.of_groups;
        let share = query.share.as_ref().map(|share| self.filter(share)).unwrap_or_default();
        let what = match column.expr {
            _ if let (Some(above), [Expr::Field(place), ..]) = (query.above, &query.groups[..]) => {
                let (place, from) = (self.place(*place), &self.schema.table(query.from).name);
                match self.chinese {
                    true => format!("为 {place} 中有多于 {above} 行 {from} 的所占百分比"),
                    false => format!("is the percentage of {place} with more than {above} rows of {from}"),
                }
            }
            Expr::Rows if let (true, Some((unit, _))) = (of_groups, query.calendar) => {
                self.first_times(query, unit)
            }
            Expr::Share(_) | Expr::Part(_) if let Some(whole) = &query.whole => {
                self.ratio(column.expr, &share, &self.filter(whole))
            }
            _ if query.calendar.is_some() => self.number(column.expr, &share),
            _ if query.averaged.is_some() => {
                self.say("is the average of the groups' numbers", "为各组数值的平均")
            }
            Expr::Rows if of_groups => self.say("counts groups", "为分组数"),
            expr => self.number(expr, &share),
        };
        if self.chinese {
            format!("“{}”{what}", column.alias)
        } else {
            format!("\"{}\" {what}", column.alias)
        }
    }

    /// A ratio of rows, or of an amount of theirs.
    fn ratio(&self, expr: Expr, one: &str, other: &str) -> String {
        let of = match (expr, self.chinese) {
            (Expr::Part(place), true) => format!("{} 的合计", self.place(place)),
            (Expr::Part(place), false) => format!("the sum of {}", self.place(place)),
            (_, chinese) => (if chinese { "行数" } else { "rows" }).to_owned(),
        };
        match self.chinese {
            true => format!("为{of}之比：{one}，比 {other}"),
            false => {
                let [one, other] = [one, other].map(|only| only.strip_prefix("only ").unwrap_or(only));
                format!("is the ratio of {of} {one} to that {other}")
            }
        }
    }

    /// What a number is.
    fn number(&self, expr: Expr, share: &str) -> String {
        match expr {
            Expr::Share(_) if self.chinese => format!("为满足“{share}”的行所占百分比"),
            Expr::Share(_) => {
                format!("is the percentage of rows, counting {share}")
            }
            Expr::Part(place) if self.chinese => {
                format!("为满足“{share}”的行在 {} 合计中所占百分比", self.place(place))
            }
            Expr::Part(place) => {
                format!("is the percentage of the sum of {}, counting {share}", self.place(place))
            }
            Expr::Per(sum, each) => {
                let number = match (sum, self.chinese) {
                    (Some(sum), true) => format!("{} 的合计", self.place(sum)),
                    (Some(sum), false) => format!("the sum of {}", self.place(sum)),
                    (None, true) => "行数".to_owned(),
                    (None, false) => "the number of rows".to_owned(),
                };
                match self.chinese {
                    true => format!("为{number}除以 {} 的不同值个数", self.place(each)),
                    false => format!(
                        "is {number}, divided by the number of different values of {}",
                        self.place(each)
                    ),
                }
            }
            Expr::Rows => self.say("counts rows", "为行数"),
            Expr::Present(place) if self.chinese => format!("为 {} 的行数，没有的计为 0", self.place(place)),
            Expr::Present(place) => format!("counts rows with {}, also none", self.place(place)),
            Expr::Different(place) if self.chinese => format!("为 {} 的不同值个数", self.place(place)),
            Expr::Different(place) => format!("counts different values of {}", self.place(place)),
            Expr::Made(func, place) => {
                let place = self.place(place);
                match (func, self.chinese) {
                    (Func::Sum, true) => format!("为 {place} 的合计"),
                    (Func::Average, true) => format!("为 {place} 的平均值"),
                    (Func::Least, true) => format!("为 {place} 的最小值"),
                    (Func::Greatest, true) => format!("为 {place} 的最大值"),
                    (Func::Median, true) => format!("为 {place} 的中位数"),
                    (Func::Sum, false) => format!("is the sum of {place}"),
                    (Func::Average, false) => format!("is the average of {place}"),
                    (Func::Least, false) => format!("is the least {place}"),
                    (Func::Greatest, false) => format!("is the greatest {place}"),
                    (Func::Median, false) => format!("is the median of {place}"),
                }
            }
            Expr::Field(place) | Expr::Start(_, place) | Expr::Cycle(_, place) if self.chinese => {
                format!("由 {} 计算", self.place(place))
            }
            Expr::Field(place) | Expr::Start(_, place) | Expr::Cycle(_, place) => {
                format!("is computed from {}", self.place(place))
            }
        }
    }

    /// Groups that are counted by the calendar unit of their first time.
    fn first_times(&self, query: &Query, unit: Unit) -> String {
        let of: Vec<String> =
            query.groups.iter().filter_map(|expr| Some(self.place(expr.place()?))).collect();
        let (of, time) = (of.join(", "), query.time.map(|time| self.place(time)).unwrap_or_default());
        match self.chinese {
            true => format!("为 {of} 的个数，按各自最早的 {time} 计入"),
            false => format!("counts {of}, each in the {} of its first {time}", unit.word()),
        }
    }

    /// A number that stands beside another one.
    fn derived(&self, kind: Derived, name: &str) -> Option<String> {
        let (english, chinese) = match kind {
            Derived::OfTotal(_) => {
                ("is the percentage of all rows of the answer together", "为占全部合计的百分比")
            }
            Derived::SinceLast(_) => (
                "is the growth since the one before; the latest may not be over",
                "为较前一周期的增长率，最近一个周期可能尚未结束",
            ),
            Derived::Cumulative(_) => ("adds up from the first one on", "为从第一个周期起的累计"),
            Derived::Before(_) | Derived::Change(_) | Derived::Growth(_) => return None,
        };
        Some(match self.chinese {
            true => format!("“{name}”{chinese}"),
            false => format!("\"{name}\" {english}"),
        })
    }

    /// A condition of groups.
    fn group(&self, expr: Expr, test: &Test) -> String {
        let first = match expr {
            Expr::Made(_, place) => self.place(place),
            _ => self.say("row", "记录"),
        };
        match (test, self.chinese) {
            (Test::Number(compare, number), true) => format!("只保留数值 {} {number} 的分组", sign(*compare)),
            (Test::Number(compare, number), false) => {
                format!("only groups whose number is {} {number}", sign(*compare))
            }
            (Test::Days(Range { from: Some(from), before: None, .. }), true) => {
                format!("只保留最晚的 {first} 不早于 {from} 的")
            }
            (Test::Days(Range { from: Some(from), before: None, .. }), false) => {
                format!("only those whose latest {first} is from {from} on")
            }
            (Test::Days(Range { from, before, .. }), chinese) => {
                let from = from.map(|day| day.to_string());
                let last = before.map_or_else(String::new, |day| day.plus(-1).to_string());
                match (from, chinese) {
                    (Some(from), true) => format!("只保留最早的 {first} 在 {from} 到 {last} 之间的"),
                    (Some(from), false) => format!("only those whose first {first} is from {from} to {last}"),
                    (None, true) => format!("只保留最早的 {first} 不晚于 {last} 的"),
                    (None, false) => format!("only those whose first {first} is no later than {last}"),
                }
            }
            (_, chinese) => (if chinese { "只保留部分分组" } else { "only some groups" }).to_owned(),
        }
    }

    /// The days of each number, and those with which they are compared.
    fn periods(&self, periods: Periods) -> String {
        let days = |range: Range| {
            let from = range.from.map(|day| day.to_string()).unwrap_or_default();
            let last = range.before.map(|day| day.plus(-1).to_string()).unwrap_or_default();
            match (from == last, self.chinese) {
                (true, _) => from,
                (false, true) => format!("{from} 到 {last}"),
                (false, false) => format!("{from} to {last}"),
            }
        };
        let open = periods.now.before > Some(self.today);
        let mut text = match self.chinese {
            true => format!("{} 与 {} 相比", days(periods.now), days(periods.before)),
            false => format!("{} compared with {}", days(periods.now), days(periods.before)),
        };
        if open {
            text.push_str(if self.chinese { "，前者尚未结束" } else { ", the former not yet over" });
        }
        text
    }

    fn filter(&self, filter: &Filter) -> String {
        let place = self.place(filter.place);
        match (&filter.test, self.chinese) {
            (Test::Among(values, true), true) => format!("{place} 为 {}", values.join(" 或 ")),
            (Test::Among(values, false), true) => format!("{place} 不为 {}", values.join("、")),
            (Test::Among(values, true), false) => format!("only where {place} is {}", values.join(" or ")),
            (Test::Among(values, false), false) => format!("only where {place} is not {}", values.join(", ")),
            (Test::Number(compare, number), true) => format!("{place} {} {number}", sign(*compare)),
            (Test::Number(compare, number), false) => {
                format!("only where {place} {} {number}", sign(*compare))
            }
            (Test::Numbers(numbers), true) => format!("{place} 为 {}", list(numbers, " 或 ")),
            (Test::Numbers(numbers), false) => format!("only where {place} is {}", list(numbers, " or ")),
            (Test::Between(least, most), true) => format!("{place} 在 {least} 到 {most} 之间"),
            (Test::Between(least, most), false) => {
                format!("only where {place} is between {least} and {most}")
            }
            (Test::Versus(compare, func), true) => {
                format!("{place} {} 全部记录的{}", sign(*compare), labels::func(*func, true))
            }
            (Test::Versus(compare, func), false) => {
                format!("only where {place} {} the {}of all rows", sign(*compare), labels::func(*func, false))
            }
            (Test::AnyOf(tests), chinese) => {
                let each: Vec<String> = tests
                    .iter()
                    .map(|test| self.filter(&Filter { place: filter.place, test: test.clone() }))
                    .collect();
                each.join(if chinese { "，或" } else { ", or " })
            }
            (Test::Has(Part::Inside, text), true) => format!("{place} 包含“{text}”"),
            (Test::Has(Part::Inside, text), false) => format!("only where {place} has {text:?} in it"),
            (Test::Has(Part::Beginning, text), true) => format!("{place} 以“{text}”开头"),
            (Test::Has(Part::Beginning, text), false) => format!("only where {place} begins with {text:?}"),
            (Test::Has(Part::End, text), true) => format!("{place} 以“{text}”结尾"),
            (Test::Has(Part::End, text), false) => format!("only where {place} ends with {text:?}"),
            (Test::Weekdays(days), true) => {
                format!("{place} 为{}", named_days(days, &WEEKDAYS_CHINESE).join("、"))
            }
            (Test::Weekdays(days), false) => {
                format!("only where {place} is a {}", named_days(days, &WEEKDAYS).join(" or a "))
            }
            (Test::Present, true) => format!("{place} 有值"),
            (Test::Present, false) => format!("only where {place} is there"),
            (Test::Days(range), chinese) => {
                let from = range.from.map(|day| day.to_string());
                let last = range.before.map(|day| day.plus(-1).to_string());
                match (from, last, chinese) {
                    (Some(from), Some(last), true) => format!("按 {place}，从 {from} 到 {last}"),
                    (Some(from), Some(last), false) => format!("by {place}, from {from} to {last}"),
                    (Some(from), None, true) => format!("按 {place}，自 {from} 起"),
                    (Some(from), None, false) => format!("by {place}, from {from} on"),
                    (None, last, true) => format!("按 {place}，到 {} 为止", last.unwrap_or_default()),
                    (None, last, false) => format!("by {place}, up to {}", last.unwrap_or_default()),
                }
            }
        }
    }

    fn present(&self, present: &Related) -> String {
        let child = self.place(present.child);
        let conditions: Vec<String> = present.conditions.iter().map(|filter| self.filter(filter)).collect();
        match self.chinese {
            true if present.key == present.child => format!("要有记录：{}", conditions.join("、")),
            false if present.key == present.child => {
                format!("only those that have rows, {}", conditions.join(" and "))
            }
            true => format!("{child} 中要有：{}", conditions.join("、")),
            false => format!("only those that {child} names, {}", conditions.join(" and ")),
        }
    }

    fn absent(&self, absent: &Related) -> String {
        let child = self.place(absent.child);
        if absent.key == absent.child {
            let conditions: Vec<String> =
                absent.conditions.iter().map(|filter| self.filter(filter)).collect();
            return match self.chinese {
                true => format!("不含有记录的：{}", conditions.join("、")),
                false => format!("only those that have no rows, looking {}", conditions.join(" and ")),
            };
        }
        let mut text = if self.chinese {
            format!("不含 {child} 中出现的")
        } else {
            format!("only those that {child} does not name")
        };
        for (at, filter) in absent.conditions.iter().enumerate() {
            text.push_str(match (at, self.chinese) {
                (0, true) => "，其中 ",
                (0, false) => ", looking ",
                (_, true) => "、",
                (_, false) => " and ",
            });
            text.push_str(&self.filter(filter));
        }
        text
    }

    /// Over which calendar units a number is averaged.
    fn averaged(&self, unit: Unit, expr: Expr) -> String {
        let labels = Labels { schema: self.schema, chinese: self.chinese };
        let mut text = match self.chinese {
            true => format!("按{}平均", labels.unit(unit)),
            false => format!("averaged over {}s", unit.word()),
        };
        if expr.is_zero_of_nothing() {
            text += &self.say(", those without any as 0", "，没有记录的计为 0");
        }
        text
    }

    /// Which of the averaged calendar units may not be whole.
    fn averaged_units(&self, unit: Unit, range: Option<Range>) -> String {
        let word = unit.word();
        let is_open = range.is_some_and(|range| range.before > Some(self.today));
        match (range, self.chinese) {
            (None, true) => "从第一个到最近一个有记录的周期，首尾两个可能不完整".to_owned(),
            (None, false) => {
                format!("from the first to the last {word} with any, of which both may not be whole")
            }
            (Some(_), true) if is_open => "最近一个周期尚未结束".to_owned(),
            (Some(_), false) if is_open => format!("the latest {word} is not over"),
            (Some(_), true) => "只计所选范围".to_owned(),
            (Some(_), false) => format!("over all {word}s of the range"),
        }
    }

    fn calendar(&self, unit: Unit) -> String {
        match (unit, self.chinese) {
            (Unit::Day, true) => "每天一行，没有记录的日期也列出".to_owned(),
            (Unit::Week, true) => "每周一行（以周一表示），没有记录的周也列出".to_owned(),
            (Unit::Month, true) => "每月一行，没有记录的月份也列出".to_owned(),
            (Unit::Quarter, true) => "每季度一行，没有记录的季度也列出".to_owned(),
            (Unit::Quarter, false) => "one row for each quarter, also those without any".to_owned(),
            (Unit::Year, true) => "每年一行，没有记录的年份也列出".to_owned(),
            (Unit::Day, false) => "one row for each day, also those without any".to_owned(),
            (Unit::Week, false) => {
                "one row for each week, named by its Monday, also those without any".to_owned()
            }
            (Unit::Month, false) => "one row for each month, also those without any".to_owned(),
            (Unit::Year, false) => "one row for each year, also those without any".to_owned(),
        }
    }
}

fn named_days(days: &[u8], names: &[&'static str; 7]) -> Vec<&'static str> {
    days.iter().filter_map(|day| names.get(usize::from(*day).checked_sub(1)?).copied()).collect()
}

fn list(numbers: &[f64], or: &str) -> String {
    numbers.iter().map(f64::to_string).collect::<Vec<String>>().join(or)
}

/// Words that were read as others.
pub fn repairs(repaired: &[(String, String)], chinese: bool) -> String {
    let one = |(written, read): &(String, String)| match chinese {
        true if read.is_empty() => format!("“{written}”未计入。"),
        false if read.is_empty() => format!(" {written:?} changes nothing."),
        true => format!("“{written}”按“{read}”理解。"),
        false => format!(" {written:?} was read as {read:?}."),
    };
    repaired.iter().map(one).collect()
}

fn list_of(words: &[String], open: &str, close: &str, comma: &str) -> String {
    words.iter().map(|word| format!("{open}{word}{close}")).collect::<Vec<String>>().join(comma)
}

/// What a fiscal year is.
pub fn fiscal(first_month: i64, chinese: bool) -> String {
    match chinese {
        true => format!("财年从 {first_month} 月开始，以结束的年份命名。"),
        false => format!(
            " A fiscal year begins in month {first_month} and is called by the year in which it ends."
        ),
    }
}

/// That a question changes an earlier one, as other messages did.
pub fn continues(messages: &[&str], chinese: bool) -> String {
    let quoted = |comma: &str| -> String {
        let each = messages.iter().map(|message| format!("\u{201c}{message}\u{201d}"));
        each.collect::<Vec<String>>().join(comma)
    };
    match chinese {
        true => format!("接着{}理解。", quoted("、")),
        false => format!(" Read as a change of {}.", quoted(", ")),
    }
}

/// Messages since then that changed nothing.
pub fn ignores(messages: &[&str], chinese: bool) -> String {
    let quoted: Vec<String> = messages.iter().map(|message| format!("\u{201c}{message}\u{201d}")).collect();
    match (&quoted[..], chinese) {
        ([], _) => String::new(),
        (_, true) => format!("{}没有看懂，未计入。", quoted.join("、")),
        (_, false) => format!(" {} was not understood and changes nothing.", quoted.join(", ")),
    }
}

/// A question that says which data source it is about.
pub fn in_source(question: &str, name: &str, chinese: bool) -> String {
    let question = words::without_end(question);
    if chinese {
        format!("数据源 {name} 中的{question}")
    } else {
        format!("{question} in the data source {name}?")
    }
}

/// Why a question has no answer.
pub fn refusal(unclear: &Unclear, chinese: bool) -> String {
    match (unclear, chinese) {
        (Unclear::Words(words), true) => {
            format!("无法回答：不明白{}在这些表里指什么。", list_of(words, "“", "”", "、"))
        }
        (Unclear::Words(words), false) => {
            let names = if words.len() == 1 { "names" } else { "name" };
            format!("This cannot be answered: {} {names} nothing in these tables.", list_of(words, "\"", "\"", ", "))
        }
        (Unclear::Word(word), true) => format!("无法回答：不明白“{word}”在这些表里指什么。"),
        (Unclear::Word(word), false) => {
            format!("This cannot be answered: {word:?} names nothing in these tables, or nothing that fits here.")
        }
        (Unclear::Ambiguous(word), true) => format!("无法回答：“{word}”可能指多个字段或值，请写明是哪张表的。"),
        (Unclear::Ambiguous(word), false) => {
            format!("This cannot be answered: {word:?} could mean several things; say which table's.")
        }
        (Unclear::Shape, true) => {
            "无法回答：词语都认识，但不明白它们如何组合。请一次只问一个数字，并写明按什么分组、有什么条件。".to_owned()
        }
        (Unclear::Shape, false) => {
            "This cannot be answered: all words are known, but not how they go together. Ask for one number at a time, and say by what to group it and which rows count.".to_owned()
        }
        (Unclear::NoNumber, true) => "无法回答：请说明要统计什么，例如“10月的订单数”。".to_owned(),
        (Unclear::NoNumber, false) => {
            "This cannot be answered: say what to count or to add up on these days, such as \"revenue in October\".".to_owned()
        }
        (Unclear::NoDays, true) => "无法回答：请说明比较的是哪些天，例如“本月营收与去年同期相比”。".to_owned(),
        (Unclear::NoDays, false) => {
            "This cannot be answered: say which days are compared, such as \"revenue this month compared with the same month last year\".".to_owned()
        }
        (Unclear::NoDay(text), true) => format!("无法回答：没有 {text} 这一天。"),
        (Unclear::NoDay(text), false) => format!("This cannot be answered: there is no day {text}."),
        (Unclear::Change(message), true) => {
            format!("无法回答：“{message}”要改动前面的问题，但不清楚怎么改，请写出完整的问题。")
        }
        (Unclear::Change(message), false) => format!(
            "This cannot be answered: {message:?} would change the question before it, but it is not clear how. Please ask the whole question."
        ),
        (Unclear::NoRank, true) => "无法回答：请说明按什么排名，例如“按订单数前5的客户”。".to_owned(),
        (Unclear::NoRank, false) => {
            "This cannot be answered: say by what the first ones are chosen, such as \"top 5 customers by number of orders\".".to_owned()
        }
        (Unclear::Sources(names), true) => {
            format!("无法回答：数据源 {} 都有答案，请写明是哪一个，例如“数据源 {}”。", names.join("、"), names[0])
        }
        (Unclear::Sources(names), false) => format!(
            "This cannot be answered: the data sources {} all have an answer; say which one, such as \"in the data source {}\".",
            names.join(", "),
            names[0]
        ),
        (Unclear::Apart(one, other), true) => format!("无法回答：看不出表 {one} 与 {other} 如何关联。"),
        (Unclear::Apart(one, other), false) => {
            format!("This cannot be answered: nothing shows how the tables {one} and {other} hang together.")
        }
        (Unclear::NoTime(table), true) => format!("无法回答：看不出表 {table} 应按哪个时间字段统计。"),
        (Unclear::NoTime(table), false) => {
            format!("This cannot be answered: it is not clear which time of the table {table} to go by.")
        }
    }
}

pub fn no_tables(chinese: bool) -> String {
    if chinese {
        "无法回答：没有可以查询的表。".to_owned()
    } else {
        "This cannot be answered: there is no table to query.".to_owned()
    }
}

pub fn no_datasource(name: &str, chinese: bool) -> String {
    if chinese {
        format!("没有名为“{name}”的数据源。")
    } else {
        format!("There is no data source {name:?}.")
    }
}

pub fn no_table(name: &str, chinese: bool) -> String {
    if chinese {
        format!("没有名为“{name}”的表。")
    } else {
        format!("There is no table {name:?}.")
    }
}

pub fn other_kind(name: &str, kind: &str, chinese: bool) -> String {
    if chinese {
        format!("无法回答：数据源 {name} 是 {kind}，不能为它写 SQL。")
    } else {
        format!("This cannot be answered: the data source {name} is {kind}, for which no SQL is written.")
    }
}
