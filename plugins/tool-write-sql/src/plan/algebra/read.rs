//! Reads a query of JSON: each member is known, of its kind, and within its bounds.

use std::collections::HashMap;

use lakeport_sdk::serde_json::Value;

use super::{COMPARISONS, DERIVED, FUNCS, PARTS_MAX, UNITS};
use crate::calendar::{Cycle, Day, Range, Unit};
use crate::joins::{Link, Step};
use crate::known::Known;
use crate::labels::COLUMN_MAX_BYTES;
use crate::plan::ROWS_MAX;
use crate::plan::query::{Column, Derived, Expr, FirstOfEach, Periods, Query, Related, Shape};
use crate::schema::{Place, Schema, Table};
use crate::understand::meaning::{Filter, Test};
use crate::words::phrases::{Func, Part};

/// Names in a message.
const NAMES_SHOWN: usize = 30;
/// Up to here a number is exact if it is whole.
const WHOLE_MAX: f64 = 9_007_199_254_740_991.0;
/// Bytes of a value that rows are compared with.
const TEXT_MAX_BYTES: usize = 1_000;
const MEMBERS: &[&str] = &[
    "from",
    "join",
    "keepAll",
    "columns",
    "where",
    "present",
    "absent",
    "groupBy",
    "having",
    "known",
    "order",
    "limit",
    "offset",
    "fiscalYearBegins",
    "every",
    "compare",
    "derived",
    "firstOfEach",
    "share",
    "whole",
    "ofGroups",
    "distinct",
];
/// An expression has one of these; `start` and `cycle` have `of` beside them.
const EXPR: &[&str] = &[
    "field",
    "rows",
    "present",
    "different",
    "sum",
    "average",
    "least",
    "greatest",
    "median",
    "share",
    "part",
    "start",
    "cycle",
];
/// A test has one of these; `from` and `before` count as one.
const TEST: &[&str] = &[
    "in",
    "notIn",
    "equal",
    "notEqual",
    "more",
    "atLeast",
    "less",
    "atMost",
    "among",
    "between",
    "from",
    "before",
    "contains",
    "beginsWith",
    "endsWith",
    "anyOf",
    "weekdays",
    "present",
];
const OF: &[&str] = &["of", "per"];

/// A calendar unit, and the days for which there is a row each.
type Calendar = (Unit, Option<Range>);

pub(super) struct Reader<'a> {
    pub known: &'a Known<'a>,
    /// By `table.field` in lower case.
    pub fields: HashMap<String, Place>,
}

impl Reader<'_> {
    pub(super) fn schema(&self) -> &Schema {
        self.known.schema
    }

    pub fn query(&self, value: &Value) -> Result<Query, String> {
        members(value, "the query", &[MEMBERS])?;
        let from = self.table(&value["from"], "from")?;
        let mut joined = vec![from];
        let joins = self.joins(&value["join"], "join", &mut joined)?;
        let columns = self.columns(&value["columns"])?;
        let (periods, compared) = self.compare(&value["compare"])?;
        let (calendar, series) = self.every(&value["every"])?;
        let mut groups = self.each(&value["groupBy"], "groupBy", |one, at| self.expr(one, at, &[]))?;
        let has_numbers = columns.iter().any(|column| column.measure);
        if groups.is_empty() && has_numbers {
            groups = columns.iter().filter(|column| !column.measure).map(|column| column.expr).collect();
        }
        let having = self.each(&value["having"], "having", |one, at| {
            members(one, at, &[&["number"], TEST])?;
            let expr = self.expr(&one["number"], &format!("{at}.number"), &[])?;
            Ok((expr, self.test(one, at)?))
        })?;
        let order = self.each(&value["order"], "order", |one, at| {
            let expr = self.expr(one, at, &["descending"])?;
            Ok((expr, flag(&one["descending"], &format!("{at}.descending"))?))
        })?;
        let limit = match &value["limit"] {
            Value::Null => ROWS_MAX,
            limit => rows(limit, "limit")?,
        };
        let offset = match &value["offset"] {
            Value::Null => 0,
            offset => rows(offset, "offset")?,
        };
        let (of_groups, averaged, above) = self.of_groups(&value["ofGroups"])?;
        let first_of_each = self.first_of_each(&value["firstOfEach"])?;
        let derived = self.derived(&value["derived"], &columns)?;
        let cycle = match (groups.first(), order.first()) {
            (Some(Expr::Cycle(cycle, _)), Some((first, false))) if Some(first) == groups.first() => {
                Some(*cycle)
            }
            _ => None,
        };
        let shape = match () {
            () if periods.is_some() => Shape::Comparison,
            () if offset > 0 => Shape::Table,
            () if calendar.is_some() && !order.is_empty() => Shape::Ranking,
            () if calendar.is_some() && averaged.is_none() || cycle.is_some() => Shape::Series,
            () if columns.iter().all(|column| column.measure) => Shape::Value,
            () if has_numbers && first_of_each.is_none() && averaged.is_none() => Shape::Ranking,
            () => Shape::Table,
        };
        let mut conditions = self.filters(&value["where"], "where")?;
        if let (Some((_, Some(range))), Some(place)) = (calendar, series)
            && !conditions.iter().any(|filter| filter.place == place)
            && !of_groups
        {
            conditions.push(Filter { place, test: Test::Days(range) });
        }
        let query = Query {
            from,
            joins,
            columns,
            conditions,
            absent: some(&value["absent"], |absent| self.related(absent, "absent"))?,
            present: self.each(&value["present"], "present", |one, at| self.related(one, at))?,
            groups,
            outer: self.keep_all(&value["keepAll"])?,
            having,
            known: some(&value["known"], |known| self.expr(known, "known", &[]))?,
            order,
            limit,
            offset,
            limit_asked: !value["limit"].is_null() && limit < ROWS_MAX,
            begins_within: false,
            ends_within: false,
            widened: None,
            share: some(&value["share"], |share| self.filter(share, "share"))?,
            whole: some(&value["whole"], |whole| self.filter(whole, "whole"))?,
            of_groups,
            averaged,
            above,
            derived,
            periods,
            first_of_each,
            different: flag(&value["distinct"], "distinct")?,
            calendar,
            unit: calendar.filter(|_| averaged.is_none()).map(|(unit, _)| unit),
            fiscal: self.fiscal(&value["fiscalYearBegins"])?,
            cycle,
            time: compared.or(series),
            shape,
        };
        self.check(&query, &joined)?;
        Ok(query)
    }

    /// The month in which fiscal years begin: quarters are those of the calendar under other names.
    fn fiscal(&self, month: &Value) -> Result<Option<i64>, String> {
        match (month, month.as_i64()) {
            (Value::Null, _) => Ok(None),
            (_, Some(month @ (4 | 7 | 10))) => Ok(Some(month)),
            _ => Err("fiscalYearBegins: 4, 7 or 10, a month in which a quarter begins".to_owned()),
        }
    }

    fn each<T>(
        &self,
        list: &Value,
        name: &str,
        read: impl Fn(&Value, &str) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let list = array(list, name)?;
        list.iter().enumerate().map(|(at, one)| read(one, &format!("{name}[{at}]"))).collect()
    }

    fn table(&self, value: &Value, at: &str) -> Result<usize, String> {
        let name = text(value).ok_or_else(|| format!("{at}: the name of a table"))?;
        let tables = &self.schema().tables;
        let is = |table: &Table| {
            let qualified = table.database.as_ref().map(|database| format!("{database}.{}", table.name));
            table.name.eq_ignore_ascii_case(name)
                || qualified.is_some_and(|known| known.eq_ignore_ascii_case(name))
        };
        let Some(found) = tables.iter().position(is) else {
            let names = tables.iter().map(|table| table.name.as_str());
            return Err(format!("{at}: there is no table {name}; there are {}", shown(names)));
        };
        let is_alike = |table: &&Table| table.name.eq_ignore_ascii_case(&tables[found].name);
        match tables.iter().filter(is_alike).count() {
            1 => Ok(found),
            count => Err(format!(
                "{at}: {count} tables are called {}: a query cannot tell them apart",
                tables[found].name
            )),
        }
    }

    pub(super) fn place(&self, value: &Value, at: &str) -> Result<Place, String> {
        let name = text(value).ok_or_else(|| format!("{at}: a field as \"table.field\""))?;
        let lower = name.to_lowercase();
        let without_database = || lower.split_once('.').and_then(|(_, rest)| self.fields.get(rest));
        if let Some(place) = self.fields.get(&lower).or_else(without_database) {
            return Ok(*place);
        }
        let table = name.rsplit_once('.').map_or(name, |(table, _)| table);
        let found = self.schema().tables.iter().find(|known| known.name.eq_ignore_ascii_case(table));
        Err(match found {
            Some(found) => {
                let names = found.fields.iter().map(|field| field.name.as_str());
                format!("{at}: there is no field {name}; {table} has {}", shown(names))
            }
            None => format!("{at}: there is no table {table}; fields are written \"table.field\""),
        })
    }

    fn joins(&self, list: &Value, name: &str, joined: &mut Vec<usize>) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        for (at, join) in array(list, name)?.iter().enumerate() {
            let at = format!("{name}[{at}]");
            members(join, &at, &[&["table", "on"]])?;
            let table = self.table(&join["table"], &format!("{at}.table"))?;
            if joined.contains(&table) {
                return Err(format!("{at}: each table can be joined once"));
            }
            let step = match &join["on"] {
                Value::Null => {
                    let way = self.known.links.way(joined, table, self.schema().tables.len());
                    // A table between would repeat rows unseen.
                    let only = way.filter(|way| way.len() == 1).and_then(|way| way.into_iter().next());
                    only.ok_or_else(|| {
                        format!("{at}.on: say by which fields, such as [\"a.b_id\", \"b.id\"]")
                    })?
                }
                on => match on.as_array().map(Vec::as_slice) {
                    Some([here, there]) => {
                        let (here, there) = (self.place(here, &at)?, self.place(there, &at)?);
                        self.step(here, there, table, joined, &at)?
                    }
                    _ => return Err(format!("{at}.on: two fields, that of a joined table first")),
                },
            };
            joined.push(step.to());
            steps.push(step);
        }
        Ok(steps)
    }

    fn step(
        &self,
        here: Place,
        there: Place,
        table: usize,
        joined: &[usize],
        at: &str,
    ) -> Result<Step, String> {
        if there.table != table || !joined.contains(&here.table) {
            return Err(format!(
                "{at}.on: a field of a table that is joined before, then one of the new table"
            ));
        }
        if let Some(link) = self.known.links.tying(here, there) {
            return Ok(Step { link, up: link.parent == there });
        }
        let is_key = |place: Place| self.schema().key(place.table) == Some(place);
        Ok(match is_key(there) {
            true => Step { link: Link { child: here, parent: there }, up: true },
            false => Step { link: Link { child: there, parent: here }, up: false },
        })
    }

    fn columns(&self, list: &Value) -> Result<Vec<Column>, String> {
        let columns = self.each(list, "columns", |one, at| {
            let expr = self.expr(one, at, &["name"])?;
            let alias = column_name(&one["name"], at)?;
            Ok(Column { expr, alias, measure: expr.is_number() })
        })?;
        if columns.is_empty() {
            return Err("columns: one at least".to_owned());
        }
        Ok(columns)
    }

    /// An expression, in an object which may have other members, too.
    fn expr(&self, value: &Value, at: &str, beside: &[&str]) -> Result<Expr, String> {
        members(value, at, &[EXPR, OF, beside])?;
        let name = only(value, EXPR, at)?;
        let place = || self.place(&value[name], &format!("{at}.{name}"));
        if !matches!(name, "start" | "cycle") && !value["of"].is_null() {
            return Err(format!("{at}.of: this stands beside `start` and `cycle` only"));
        }
        if !value["per"].is_null() {
            let each = self.place(&value["per"], &format!("{at}.per"))?;
            return match name {
                "sum" => Ok(Expr::Per(Some(place()?), each)),
                "rows" if value[name] == true => Ok(Expr::Per(None, each)),
                _ => Err(format!("{at}.per: this stands beside `sum` and `rows` only")),
            };
        }
        Ok(match name {
            "field" => Expr::Field(place()?),
            "rows" if value[name] == true => Expr::Rows,
            "rows" => return Err(format!("{at}.rows: true")),
            "present" => Expr::Present(place()?),
            "different" => Expr::Different(place()?),
            "share" => Expr::Share(place()?),
            "part" => Expr::Part(place()?),
            "start" => {
                let unit = unit(&value[name], &format!("{at}.{name}"))?;
                Expr::Start(unit, self.place(&value["of"], &format!("{at}.of"))?)
            }
            "cycle" => {
                let word = text(&value[name]);
                let cycle = Cycle::ALL.into_iter().find(|cycle| word == Some(cycle.word()));
                let cycle = cycle.ok_or_else(|| format!("{at}.cycle: weekday or hour"))?;
                Expr::Cycle(cycle, self.place(&value["of"], &format!("{at}.of"))?)
            }
            func => {
                let found = FUNCS.iter().find(|(known, _)| *known == func);
                let (_, func) = found.ok_or_else(|| format!("{at}: one of {}", EXPR.join(", ")))?;
                Expr::Made(*func, place()?)
            }
        })
    }

    fn filters(&self, list: &Value, name: &str) -> Result<Vec<Filter>, String> {
        self.each(list, name, |one, at| self.filter(one, at))
    }

    fn filter(&self, value: &Value, at: &str) -> Result<Filter, String> {
        members(value, at, &[&["field"], TEST])?;
        let place = self.place(&value["field"], &format!("{at}.field"))?;
        Ok(Filter { place, test: self.test(value, at)? })
    }

    fn keep_all(&self, value: &Value) -> Result<Option<Vec<Filter>>, String> {
        if value.is_object() {
            members(value, "keepAll", &[&["where"]])?;
            return Ok(Some(self.filters(&value["where"], "keepAll.where")?));
        }
        Ok(flag(value, "keepAll")?.then(Vec::new))
    }

    /// The test of an object whose other members were looked at.
    fn test(&self, value: &Value, at: &str) -> Result<Test, String> {
        let name = only(value, TEST, at)?;
        let (at, given) = (format!("{at}.{name}"), &value[name]);
        Ok(match name {
            "in" | "notIn" => Test::Among(list(given, &at, "texts", literal)?, name == "in"),
            "contains" | "beginsWith" | "endsWith" => {
                let part = match name {
                    "contains" => Part::Inside,
                    "beginsWith" => Part::Beginning,
                    _ => Part::End,
                };
                let text = literal(given).filter(|text| !text.is_empty());
                Test::Has(
                    part,
                    text.ok_or_else(|| format!("{at}: a text of {TEXT_MAX_BYTES} bytes at most"))?,
                )
            }
            "among" => Test::Numbers(list(given, &at, "numbers", number)?),
            "between" => match list(given, &at, "two numbers", number)?[..] {
                [least, most] => Test::Between(least, most),
                _ => return Err(format!("{at}: two numbers")),
            },
            "anyOf" => {
                let tests = self.each(given, &at, |one, at| {
                    members(one, at, &[TEST])?;
                    self.test(one, at)
                })?;
                if tests.is_empty() {
                    return Err(format!("{at}: one at least"));
                }
                Test::AnyOf(tests)
            }
            "from" | "before" => Test::Days(self.range(value, at.trim_end_matches(&format!(".{name}")))?),
            "weekdays" => {
                let day = |day: &Value| u8::try_from(day.as_u64()?).ok().filter(|day| (1..=7).contains(day));
                Test::Weekdays(list(given, &at, "weekdays from 1, Monday, to 7", day)?)
            }
            "present" if *given == true => Test::Present,
            "present" => return Err(format!("{at}: true")),
            _ => return compared(name, given, &at),
        })
    }

    fn related(&self, value: &Value, at: &str) -> Result<Related, String> {
        members(value, at, &[&["key", "in", "join", "where"]])?;
        let key = self.place(&value["key"], &format!("{at}.key"))?;
        let child = self.place(&value["in"], &format!("{at}.in"))?;
        let mut joined = vec![child.table];
        let steps = self.joins(&value["join"], &format!("{at}.join"), &mut joined)?;
        let conditions = self.filters(&value["where"], &format!("{at}.where"))?;
        match conditions.iter().find(|filter| !joined.contains(&filter.place.table)) {
            Some(filter) => {
                let name = &self.schema().table(filter.place.table).name;
                Err(format!("{at}.where: add {name} to {at}.join"))
            }
            None => Ok(Related { key, child, steps, conditions }),
        }
    }

    /// Days of which one end at least is given.
    fn range(&self, value: &Value, at: &str) -> Result<Range, String> {
        let day = |name: &str| match &value[name] {
            Value::Null => Ok(None),
            Value::String(text) if text.len() == 10 && Day::read(text).is_some() => Ok(Day::read(text)),
            _ => Err(format!("{at}.{name}: a day as yyyy-MM-dd")),
        };
        let (from, before) = (day("from")?, day("before")?);
        match (from, before) {
            (Some(from), Some(before)) if from >= before => Err(format!("{at}.before: a day after {from}")),
            _ => Ok(Range::of(from, before)),
        }
    }

    fn every(&self, value: &Value) -> Result<(Option<Calendar>, Option<Place>), String> {
        if value.is_null() {
            return Ok((None, None));
        }
        members(value, "every", &[&["unit", "of", "from", "before"]])?;
        let unit = unit(&value["unit"], "every.unit")?;
        let range = self.range(value, "every")?;
        let range = match (range.from, range.before) {
            (None, None) => None,
            (Some(from), Some(before)) if unit.later(from, ROWS_MAX as i64) >= before => Some(range),
            (Some(_), Some(_)) => return Err(format!("every: {ROWS_MAX} rows at most")),
            _ => return Err("every: both of from and before, or none".to_owned()),
        };
        Ok((Some((unit, range)), Some(self.place(&value["of"], "every.of")?)))
    }

    fn compare(&self, value: &Value) -> Result<(Option<Periods>, Option<Place>), String> {
        if value.is_null() {
            return Ok((None, None));
        }
        members(value, "compare", &[&["time", "now", "before"]])?;
        let whole = |name: &str| -> Result<Range, String> {
            let at = format!("compare.{name}");
            members(&value[name], &at, &[&["from", "before"]])?;
            let range = self.range(&value[name], &at)?;
            let is_whole = range.from.is_some() && range.before.is_some();
            if is_whole { Ok(range) } else { Err(format!("{at}: {{\"from\": …, \"before\": …}}")) }
        };
        let periods = Periods { now: whole("now")?, before: whole("before")? };
        Ok((Some(periods), Some(self.place(&value["time"], "compare.time")?)))
    }

    fn first_of_each(&self, value: &Value) -> Result<Option<FirstOfEach>, String> {
        if value.is_null() {
            return Ok(None);
        }
        members(value, "firstOfEach", &[&["of", "rows", "after"]])?;
        let of = self.each(&value["of"], "firstOfEach.of", |one, at| self.expr(one, at, &[]))?;
        let after = match &value["after"] {
            Value::Null => 0,
            after if after.as_u64() == Some(0) => 0,
            after => rows(after, "firstOfEach.after")?,
        };
        Ok(Some(FirstOfEach { of, rows: rows(&value["rows"], "firstOfEach.rows")?, after }))
    }

    fn of_groups(&self, value: &Value) -> Result<(bool, Option<Expr>, Option<f64>), String> {
        match value {
            Value::Null => Ok((false, None, None)),
            Value::String(word) if word == "count" => Ok((true, None, None)),
            Value::Object(_) if !value["average"].is_null() => {
                members(value, "ofGroups", &[&["average"]])?;
                Ok((false, Some(self.expr(&value["average"], "ofGroups.average", &[])?), None))
            }
            Value::Object(_) => {
                members(value, "ofGroups", &[&["shareAbove", "of"]])?;
                let above = number(&value["shareAbove"]).ok_or("ofGroups.shareAbove: a number")?;
                Ok((false, Some(self.expr(&value["of"], "ofGroups.of", &[])?), Some(above)))
            }
            _ => Err("ofGroups: \"count\", {\"average\": …} or {\"shareAbove\": …, \"of\": …}".to_owned()),
        }
    }

    fn derived(&self, list: &Value, columns: &[Column]) -> Result<Vec<(Derived, String)>, String> {
        let words = DERIVED.map(|(word, _)| word);
        self.each(list, "derived", |one, at| {
            members(one, at, &[&["name"], &words])?;
            let word = only(one, &words, at)?;
            let kind = DERIVED.iter().find(|(known, _)| *known == word).map(|(_, kind)| kind);
            let column = text(&one[word]).ok_or_else(|| format!("{at}.{word}: the name of a column"))?;
            let place = columns.iter().position(|known| known.alias == column && known.measure);
            match (kind, place) {
                (Some(kind), Some(place)) => Ok((kind(place), column_name(&one["name"], at)?)),
                _ => Err(format!("{at}.{word}: there is no number {column} in `columns`")),
            }
        })
    }
}

/// A comparison with a number, or with one of the whole table.
fn compared(name: &str, given: &Value, at: &str) -> Result<Test, String> {
    let found = COMPARISONS.iter().find(|(known, _)| *known == name);
    let (_, compare) = found.ok_or_else(|| format!("{at}: one of {}", TEST.join(", ")))?;
    if let Some(number) = number(given) {
        return Ok(Test::Number(*compare, number));
    }
    let func = given.as_object().filter(|one| one.len() == 1).and_then(|one| one.iter().next());
    let func = func.filter(|(_, whole)| **whole == "all");
    let func = func.and_then(|(name, _)| FUNCS.iter().find(|(known, _)| known == name));
    match func {
        Some((_, func)) if *func != Func::Median => Ok(Test::Versus(*compare, *func)),
        _ => Err(format!("{at}: a number, or such as {{\"average\": \"all\"}}")),
    }
}

/// Refuses members that there are not.
fn members(value: &Value, at: &str, known: &[&[&str]]) -> Result<(), String> {
    let object = value.as_object().ok_or_else(|| format!("{at}: an object"))?;
    let is_known = |name: &String| known.iter().any(|names| names.contains(&name.as_str()));
    match object.keys().find(|name| !is_known(name)) {
        Some(name) => {
            Err(format!("{at}: there is no member {name}; there are {}", known.concat().join(", ")))
        }
        None => Ok(()),
    }
}

/// The only one of these members; both ends of days count as one.
fn only<'n>(value: &Value, names: &[&'n str], at: &str) -> Result<&'n str, String> {
    let given: Vec<&str> = names.iter().copied().filter(|name| !value[*name].is_null()).collect();
    match given[..] {
        [one] | [one @ "from", "before"] => Ok(one),
        [] => Err(format!("{at}: one of {}", names.join(", "))),
        [..] => Err(format!("{at}: one of {} only", given.join(", "))),
    }
}

fn some<T>(value: &Value, read: impl FnOnce(&Value) -> Result<T, String>) -> Result<Option<T>, String> {
    if value.is_null() { Ok(None) } else { read(value).map(Some) }
}

fn array<'v>(value: &'v Value, at: &str) -> Result<&'v [Value], String> {
    match value {
        Value::Null => Ok(&[]),
        Value::Array(list) if list.len() <= PARTS_MAX => Ok(list),
        _ => Err(format!("{at}: a list of {PARTS_MAX} at most")),
    }
}

/// A list with one entry at least.
fn list<T>(
    value: &Value,
    at: &str,
    kind: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, String> {
    let list = value.as_array().filter(|list| (1..=PARTS_MAX).contains(&list.len()));
    let read = list.and_then(|list| list.iter().map(read).collect());
    read.ok_or_else(|| format!("{at}: a list of {kind}, 1 to {PARTS_MAX}"))
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty() && text.len() <= TEXT_MAX_BYTES)
}

/// A value of a field.
fn literal(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| text.len() <= TEXT_MAX_BYTES && !text.contains('\0'));
    text.map(str::to_owned)
}

/// A number that is exact.
fn number(value: &Value) -> Option<f64> {
    let is_whole = value.is_i64() || value.is_u64();
    value.as_f64().filter(|number| !is_whole || number.abs() <= WHOLE_MAX)
}

fn flag(value: &Value, at: &str) -> Result<bool, String> {
    match value {
        Value::Null => Ok(false),
        Value::Bool(flag) => Ok(*flag),
        _ => Err(format!("{at}: true or false")),
    }
}

fn rows(value: &Value, at: &str) -> Result<u64, String> {
    let rows = value.as_u64().filter(|rows| (1..=ROWS_MAX).contains(rows));
    rows.ok_or_else(|| format!("{at}: a whole number from 1 to {ROWS_MAX}"))
}

fn unit(value: &Value, at: &str) -> Result<Unit, String> {
    let unit = value.as_str().and_then(|word| UNITS.into_iter().find(|unit| unit.word() == word));
    unit.ok_or_else(|| format!("{at}: day, week, month, quarter or year"))
}

fn column_name(value: &Value, at: &str) -> Result<String, String> {
    let is_plain = |name: &&str| name.len() <= COLUMN_MAX_BYTES && !name.chars().any(char::is_control);
    let name = text(value).filter(is_plain).map(str::to_owned);
    name.ok_or_else(|| format!("{at}.name: the name of the column, of {COLUMN_MAX_BYTES} bytes at most"))
}

/// Names for a message, not too many.
fn shown<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.len().checked_sub(NAMES_SHOWN) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..NAMES_SHOWN].join(", ")),
    }
}
