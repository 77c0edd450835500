//! A query as JSON, with names instead of places: what a plan is shown as, and what a model may write instead of a question.
//! `docs/planner.md` describes its members.

mod check;
mod read;

use std::collections::HashMap;

use lakeport_sdk::serde_json::{Map, Value, json};

use super::query::{Column, Derived, Expr, Query, Related};
use crate::calendar::{Range, Unit};
use crate::joins::Step;
use crate::known::Known;
use crate::schema::Schema;
use crate::understand::meaning::{Filter, Test};
use crate::understand::side_by_side::NUMBERS_MAX;
use crate::words::phrases::{Compare, Func, Part};

/// Columns, conditions, joins and the like of one query, each.
const PARTS_MAX: usize = 50;
const FUNCS: [(&str, Func); 5] = [
    ("sum", Func::Sum),
    ("average", Func::Average),
    ("least", Func::Least),
    ("greatest", Func::Greatest),
    ("median", Func::Median),
];
const COMPARISONS: [(&str, Compare); 6] = [
    ("equal", Compare::Equal),
    ("notEqual", Compare::NotEqual),
    ("more", Compare::More),
    ("atLeast", Compare::AtLeast),
    ("less", Compare::Less),
    ("atMost", Compare::AtMost),
];
/// The word for a number that follows from the column at a position.
type Word = (&'static str, fn(usize) -> Derived);
const DERIVED: [Word; 6] = [
    ("before", Derived::Before),
    ("change", Derived::Change),
    ("growth", Derived::Growth),
    ("ofTotal", Derived::OfTotal),
    ("sinceLast", Derived::SinceLast),
    ("cumulative", Derived::Cumulative),
];
const UNITS: [Unit; 5] = [Unit::Day, Unit::Week, Unit::Month, Unit::Quarter, Unit::Year];

/// A query as JSON.
pub fn told(query: &Query, schema: &Schema) -> Value {
    Teller { schema }.query(query)
}

/// A query of JSON, or what is wrong and where.
pub fn read(value: &Value, known: &Known<'_>) -> Result<Query, String> {
    let schema = known.schema;
    let all = (0..schema.tables.len()).flat_map(|table| schema.places(table));
    // Of tables of one name, which is refused where it is used, the first one.
    let mut fields = HashMap::new();
    all.for_each(|place| {
        fields.entry(schema.full_name(place).to_lowercase()).or_insert(place);
    });
    read::Reader { known, fields }.query(value)
}

/// The queries of numbers side by side, or what is wrong and where.
pub fn read_beside(value: &Value, known: &Known<'_>) -> Result<Vec<Query>, String> {
    let how_many = || format!("beside: 2 to {NUMBERS_MAX} queries, and no other member");
    let list = value["beside"].as_array().filter(|list| (2..=NUMBERS_MAX).contains(&list.len()));
    let is_alone = value.as_object().is_some_and(|members| members.len() == 1);
    let list = list.filter(|_| is_alone).ok_or_else(how_many)?;
    let one = |(at, one)| read(one, known).map_err(|wrong| format!("beside[{at}]: {wrong}"));
    let queries: Vec<Query> = list.iter().enumerate().map(one).collect::<Result<_, _>>()?;
    match queries.iter().position(|query| !query.is_one_row()) {
        Some(at) => Err(format!(
            "beside[{at}]: a query of one row, without `every`, and without `groupBy`, `having` and `known` unless it has `ofGroups`"
        )),
        None => Ok(queries),
    }
}

/// The names of the tables that a query reads.
pub fn tables(value: &Value) -> Vec<String> {
    if let Some(list) = value["beside"].as_array() {
        let mut names: Vec<String> = list.iter().flat_map(tables).collect();
        names.sort_unstable();
        names.dedup();
        return names;
    }
    let mut names: Vec<String> = value["from"].as_str().map(str::to_owned).into_iter().collect();
    let joins = value["join"].as_array().into_iter().flatten();
    names.extend(joins.filter_map(|join| Some(join["table"].as_str()?.to_owned())));
    let related = ["present", "absent"].into_iter().flat_map(|name| match &value[name] {
        Value::Array(list) => list.clone(),
        Value::Null => Vec::new(),
        one => vec![one.clone()],
    });
    for one in related {
        names.extend(
            one["in"].as_str().and_then(|field| field.rsplit_once('.')).map(|(table, _)| table.to_owned()),
        );
        let joins = one["join"].as_array().into_iter().flatten();
        names.extend(joins.filter_map(|join| Some(join["table"].as_str()?.to_owned())));
    }
    names.sort_unstable();
    names.dedup();
    names
}

struct Teller<'a> {
    schema: &'a Schema,
}

impl Teller<'_> {
    fn query(&self, query: &Query) -> Value {
        let mut told = Map::new();
        let mut put = |name: &str, value: Value| {
            let is_nothing = value.is_null() || value == json!([]) || value == json!(false);
            if !is_nothing {
                told.insert(name.to_owned(), value);
            }
        };
        put("from", json!(self.schema.table(query.from).name));
        put("join", self.joins(&query.joins));
        put("keepAll", query.outer.as_ref().map_or(Value::Null, |on| json!({"where": self.filters(on)})));
        put("columns", query.columns.iter().map(|column| self.column(column)).collect());
        put("where", self.filters(&query.conditions));
        put("present", query.present.iter().map(|one| self.related(one)).collect());
        put("absent", query.absent.as_ref().map_or(Value::Null, |one| self.related(one)));
        put("groupBy", query.groups.iter().map(|expr| self.expr(*expr)).collect());
        put(
            "having",
            query
                .having
                .iter()
                .map(|(expr, test)| merged(json!({"number": self.expr(*expr)}), self.test(test)))
                .collect(),
        );
        put("known", query.known.map_or(Value::Null, |expr| self.expr(expr)));
        let order = |(expr, descending): &(Expr, bool)| {
            let mut told = self.expr(*expr);
            if *descending {
                told["descending"] = json!(true);
            }
            told
        };
        put("order", query.order.iter().map(order).collect());
        let has_limit = query.shows_rows() && query.calendar.is_none();
        let has_limit = has_limit || query.calendar.is_some() && !query.order.is_empty();
        put("limit", if has_limit { json!(query.limit) } else { Value::Null });
        put("offset", if query.offset > 0 { json!(query.offset) } else { Value::Null });
        put("fiscalYearBegins", query.fiscal.map_or(Value::Null, |month| json!(month)));
        let every = query.calendar.zip(query.time).map(|((unit, range), time)| {
            let every = json!({"unit": unit.word(), "of": self.schema.full_name(time)});
            range.map_or(every.clone(), |range| merged(every, days(range)))
        });
        put("every", every.unwrap_or_default());
        let compare = query.periods.zip(query.time).map(|(periods, time)| {
            json!({"time": self.schema.full_name(time), "now": days(periods.now), "before": days(periods.before)})
        });
        put("compare", compare.unwrap_or_default());
        let derived = |(kind, name): &(Derived, String)| json!({"name": name, derived_word(*kind): query.columns[kind.column()].alias});
        put("derived", query.derived.iter().map(derived).collect());
        let first = query.first_of_each.as_ref().map(|first| {
            let of: Vec<Value> = first.of.iter().map(|expr| self.expr(*expr)).collect();
            match first.after {
                0 => json!({"of": of, "rows": first.rows}),
                after => json!({"of": of, "rows": first.rows, "after": after}),
            }
        });
        put("firstOfEach", first.unwrap_or_default());
        put("share", query.share.as_ref().map_or(Value::Null, |share| self.filter(share)));
        put("whole", query.whole.as_ref().map_or(Value::Null, |whole| self.filter(whole)));
        put(
            "ofGroups",
            match (query.of_groups, query.averaged, query.above) {
                (true, ..) => json!("count"),
                (_, Some(expr), None) => json!({"average": self.expr(expr)}),
                (_, Some(expr), Some(above)) => json!({"shareAbove": above, "of": self.expr(expr)}),
                _ => Value::Null,
            },
        );
        put("distinct", json!(query.different));
        told.into()
    }

    fn joins(&self, steps: &[Step]) -> Value {
        let join = |step: &Step| {
            let (here, there) = if step.up {
                (step.link.child, step.link.parent)
            } else {
                (step.link.parent, step.link.child)
            };
            json!({"table": self.schema.table(step.to()).name, "on": [self.schema.full_name(here), self.schema.full_name(there)]})
        };
        steps.iter().map(join).collect()
    }

    fn column(&self, column: &Column) -> Value {
        merged(json!({"name": column.alias}), self.expr(column.expr))
    }

    fn expr(&self, expr: Expr) -> Value {
        match expr {
            Expr::Field(place) => json!({"field": self.schema.full_name(place)}),
            Expr::Rows => json!({"rows": true}),
            Expr::Present(place) => json!({"present": self.schema.full_name(place)}),
            Expr::Different(place) => json!({"different": self.schema.full_name(place)}),
            Expr::Made(func, place) => json!({word_of(&FUNCS, func): self.schema.full_name(place)}),
            Expr::Per(Some(sum), each) => {
                json!({"sum": self.schema.full_name(sum), "per": self.schema.full_name(each)})
            }
            Expr::Per(None, each) => json!({"rows": true, "per": self.schema.full_name(each)}),
            Expr::Share(place) => json!({"share": self.schema.full_name(place)}),
            Expr::Part(place) => json!({"part": self.schema.full_name(place)}),
            Expr::Start(unit, place) => json!({"start": unit.word(), "of": self.schema.full_name(place)}),
            Expr::Cycle(cycle, place) => json!({"cycle": cycle.word(), "of": self.schema.full_name(place)}),
        }
    }

    fn filters(&self, filters: &[Filter]) -> Value {
        filters.iter().map(|filter| self.filter(filter)).collect()
    }

    fn filter(&self, filter: &Filter) -> Value {
        merged(json!({"field": self.schema.full_name(filter.place)}), self.test(&filter.test))
    }

    fn test(&self, test: &Test) -> Value {
        match test {
            Test::Among(values, true) => json!({"in": values}),
            Test::Among(values, false) => json!({"notIn": values}),
            Test::Number(compare, number) => json!({word_of(&COMPARISONS, *compare): number}),
            Test::Numbers(numbers) => json!({"among": numbers}),
            Test::Between(least, most) => json!({"between": [least, most]}),
            Test::Days(range) => days(*range),
            Test::AnyOf(tests) => {
                json!({"anyOf": tests.iter().map(|test| self.test(test)).collect::<Vec<Value>>()})
            }
            Test::Versus(compare, func) => {
                json!({word_of(&COMPARISONS, *compare): {word_of(&FUNCS, *func): "all"}})
            }
            Test::Has(Part::Inside, text) => json!({"contains": text}),
            Test::Has(Part::Beginning, text) => json!({"beginsWith": text}),
            Test::Has(Part::End, text) => json!({"endsWith": text}),
            Test::Weekdays(days) => json!({"weekdays": days}),
            Test::Present => json!({"present": true}),
        }
    }

    fn related(&self, related: &Related) -> Value {
        let mut told =
            json!({"key": self.schema.full_name(related.key), "in": self.schema.full_name(related.child)});
        if !related.steps.is_empty() {
            told["join"] = self.joins(&related.steps);
        }
        if !related.conditions.is_empty() {
            told["where"] = self.filters(&related.conditions);
        }
        told
    }
}

fn word_of<T: PartialEq>(words: &[(&'static str, T)], wanted: T) -> &'static str {
    words.iter().find(|(_, known)| *known == wanted).map_or("", |(word, _)| word)
}

fn derived_word(kind: Derived) -> &'static str {
    let word = DERIVED.iter().find(|(_, known)| known(kind.column()) == kind);
    word.map_or("", |(word, _)| word)
}

fn days(range: Range) -> Value {
    let mut told = Map::new();
    told.extend(range.from.map(|day| ("from".to_owned(), json!(day.to_string()))));
    told.extend(range.before.map(|day| ("before".to_owned(), json!(day.to_string()))));
    told.into()
}

fn merged(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Object(mut one), Value::Object(other)) => {
            one.extend(other);
            one.into()
        }
        (one, _) => one,
    }
}
