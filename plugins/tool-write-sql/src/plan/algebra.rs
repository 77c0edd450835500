//! A query as JSON, with names instead of places: what a plan is shown as, and what a model may write instead of a question.
//! `docs/agent.md` describes its members.

use lakeport_sdk::serde_json::{Map, Value, json};

use super::ROWS_MAX;
use super::query::{Column, Derived, Expr, Periods, Query, Related, Shape};
use crate::calendar::{Day, Range, Unit};
use crate::joins::{Link, Step};
use crate::known::Known;
use crate::schema::{Place, Schema};
use crate::understand::meaning::{Filter, Test};
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
const UNITS: [Unit; 5] = [Unit::Day, Unit::Week, Unit::Month, Unit::Quarter, Unit::Year];
const MEMBERS: [&str; 19] = [
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
    "every",
    "compare",
    "derived",
    "firstOfEach",
    "share",
    "ofGroups",
    "distinct",
];

/// A query as JSON.
pub fn told(query: &Query, schema: &Schema) -> Value {
    Teller { schema }.query(query)
}

/// A query of JSON, or what is wrong and where.
pub fn read(value: &Value, known: &Known<'_>) -> Result<Query, String> {
    Reader { known }.query(value)
}

/// The names of the tables that a query reads.
pub fn tables(value: &Value) -> Vec<String> {
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
        let has_limit = query.columns.iter().any(|column| !column.measure) && query.calendar.is_none();
        put("limit", if has_limit { json!(query.limit) } else { Value::Null });
        let every = query.calendar.zip(query.time).map(|((unit, range), time)| {
            let every = json!({"unit": unit.word(), "of": self.place(time)});
            range.map_or(every.clone(), |range| merged(every, days(range)))
        });
        put("every", every.unwrap_or_default());
        let compare = query.periods.zip(query.time).map(|(periods, time)| {
            json!({"time": self.place(time), "now": days(periods.now), "before": days(periods.before)})
        });
        put("compare", compare.unwrap_or_default());
        let derived = |(kind, name): &(Derived, String)| json!({"name": name, derived_word(*kind): query.columns[kind.column()].alias});
        put("derived", query.derived.iter().map(derived).collect());
        let first = query.first_of_each.as_ref().map(|(exprs, rows)| {
            json!({"of": exprs.iter().map(|expr| self.expr(*expr)).collect::<Vec<Value>>(), "rows": rows})
        });
        put("firstOfEach", first.unwrap_or_default());
        put("share", query.share.as_ref().map_or(Value::Null, |share| self.filter(share)));
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

    fn place(&self, place: Place) -> String {
        format!("{}.{}", self.schema.table(place.table).name, self.schema.field(place).name)
    }

    fn joins(&self, steps: &[Step]) -> Value {
        let join = |step: &Step| {
            let (here, there) = if step.up {
                (step.link.child, step.link.parent)
            } else {
                (step.link.parent, step.link.child)
            };
            json!({"table": self.schema.table(step.to()).name, "on": [self.place(here), self.place(there)]})
        };
        steps.iter().map(join).collect()
    }

    fn column(&self, column: &Column) -> Value {
        merged(json!({"name": column.alias}), self.expr(column.expr))
    }

    fn expr(&self, expr: Expr) -> Value {
        match expr {
            Expr::Field(place) => json!({"field": self.place(place)}),
            Expr::Rows => json!({"rows": true}),
            Expr::Present(place) => json!({"present": self.place(place)}),
            Expr::Different(place) => json!({"different": self.place(place)}),
            Expr::Made(func, place) => json!({word_of(&FUNCS, func): self.place(place)}),
            Expr::Share(place) => json!({"share": self.place(place)}),
            Expr::Part(place) => json!({"part": self.place(place)}),
            Expr::Start(unit, place) => json!({"start": unit.word(), "of": self.place(place)}),
        }
    }

    fn filters(&self, filters: &[Filter]) -> Value {
        filters.iter().map(|filter| self.filter(filter)).collect()
    }

    fn filter(&self, filter: &Filter) -> Value {
        merged(json!({"field": self.place(filter.place)}), self.test(&filter.test))
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
            Test::Present => json!({"present": true}),
        }
    }

    fn related(&self, related: &Related) -> Value {
        let mut told = json!({"key": self.place(related.key), "in": self.place(related.child)});
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
    match kind {
        Derived::Before(_) => "before",
        Derived::Change(_) => "change",
        Derived::Growth(_) => "growth",
        Derived::OfTotal(_) => "ofTotal",
        Derived::SinceLast(_) => "sinceLast",
        Derived::Cumulative(_) => "cumulative",
    }
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

/// The word for a number that follows from a column.
type Kind = (&'static str, fn(usize) -> Derived);
/// A calendar unit, and the days for which there is a row each.
type Calendar = (Unit, Option<Range>);

struct Reader<'a> {
    known: &'a Known<'a>,
}

impl Reader<'_> {
    fn schema(&self) -> &Schema {
        self.known.schema
    }

    fn query(&self, value: &Value) -> Result<Query, String> {
        let members = value.as_object().ok_or("the query must be an object")?;
        if let Some(unknown) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            return Err(format!("there is no member `{unknown}`; there are {}", MEMBERS.join(", ")));
        }
        let from = self.table(&value["from"], "from")?;
        let mut joined = vec![from];
        let joins = self.joins(&value["join"], "join", &mut joined)?;
        let columns = self.columns(&value["columns"])?;
        let (periods, compared) = self.compare(&value["compare"])?;
        let (calendar, series) = self.every(&value["every"])?;
        let mut groups = self.each(&value["groupBy"], "groupBy", |expr, at| self.expr(expr, at))?;
        let has_numbers = columns.iter().any(|column| column.measure);
        if groups.is_empty() && has_numbers {
            groups = columns.iter().filter(|column| !column.measure).map(|column| column.expr).collect();
        }
        let conditions = self.filters(&value["where"], "where")?;
        let outer = match &value["keepAll"] {
            Value::Null | Value::Bool(false) => None,
            Value::Bool(true) => Some(Vec::new()),
            on => Some(self.filters(&on["where"], "keepAll.where")?),
        };
        let having = self.each(&value["having"], "having", |one, at| {
            Ok((self.expr(&one["number"], &format!("{at}.number"))?, self.test(one, at)?))
        })?;
        let order = self.each(&value["order"], "order", |one, at| {
            Ok((self.expr(one, at)?, one["descending"].as_bool().unwrap_or(false)))
        })?;
        let limit = match &value["limit"] {
            Value::Null => ROWS_MAX,
            limit => limit
                .as_u64()
                .filter(|limit| (1..=ROWS_MAX).contains(limit))
                .ok_or_else(|| format!("limit: a whole number from 1 to {ROWS_MAX}"))?,
        };
        let share = match &value["share"] {
            Value::Null => None,
            share => Some(self.filter(share, "share")?),
        };
        let (of_groups, averaged, above) = self.of_groups(&value["ofGroups"])?;
        let first_of_each = match &value["firstOfEach"] {
            Value::Null => None,
            first => {
                let of = self.each(&first["of"], "firstOfEach.of", |expr, at| self.expr(expr, at))?;
                let rows = first["rows"].as_u64().filter(|rows| (1..=ROWS_MAX).contains(rows));
                let rows =
                    rows.ok_or_else(|| format!("firstOfEach.rows: a whole number from 1 to {ROWS_MAX}"))?;
                if of.is_empty() || !of.iter().all(|expr| groups.contains(expr)) {
                    return Err("firstOfEach.of: some of `groupBy`".to_owned());
                }
                Some((of, rows))
            }
        };
        let derived = self.derived(&value["derived"], &columns)?;
        let shape = match () {
            () if periods.is_some() => Shape::Comparison,
            () if calendar.is_some() => Shape::Series,
            () if columns.iter().all(|column| column.measure) => Shape::Value,
            () if has_numbers && first_of_each.is_none() && averaged.is_none() => Shape::Ranking,
            () => Shape::Table,
        };
        let query = Query {
            from,
            joins,
            columns,
            conditions,
            absent: match &value["absent"] {
                Value::Null => None,
                absent => Some(self.related(absent, "absent")?),
            },
            present: self.each(&value["present"], "present", |one, at| self.related(one, at))?,
            groups,
            outer,
            having,
            known: match &value["known"] {
                Value::Null => None,
                known => Some(self.expr(known, "known")?),
            },
            order,
            limit,
            limit_asked: !value["limit"].is_null() && limit < ROWS_MAX,
            begins_within: false,
            share,
            of_groups,
            averaged,
            above,
            derived,
            periods,
            first_of_each,
            different: value["distinct"].as_bool().unwrap_or(false),
            calendar,
            unit: calendar.map(|(unit, _)| unit),
            time: compared.or(series),
            shape,
        };
        self.check(&query, &joined)?;
        Ok(query)
    }

    /// Refuses what would not run, or count rows several times.
    fn check(&self, query: &Query, joined: &[usize]) -> Result<(), String> {
        let exprs = query
            .columns
            .iter()
            .map(|column| column.expr)
            .chain(query.groups.iter().copied())
            .chain(query.order.iter().map(|(expr, _)| *expr))
            .chain(query.having.iter().map(|(expr, _)| *expr));
        let of_expr = |expr: Expr| match expr {
            Expr::Rows => None,
            Expr::Field(place)
            | Expr::Present(place)
            | Expr::Different(place)
            | Expr::Made(_, place)
            | Expr::Share(place)
            | Expr::Part(place)
            | Expr::Start(_, place) => Some(place),
        };
        let filters = query.conditions.iter().chain(query.outer.iter().flatten()).chain(&query.share);
        let places =
            exprs.clone().filter_map(of_expr).chain(filters.map(|filter| filter.place)).chain(query.time);
        if let Some(place) = places.into_iter().find(|place| !joined.contains(&place.table)) {
            let name = &self.schema().table(place.table).name;
            return Err(format!("a field of {name} is used: add {name} to `join`"));
        }
        let repeats = query.joins.iter().find(|step| !step.up);
        let adds = |expr: Expr| {
            matches!(
                expr,
                Expr::Made(Func::Sum | Func::Average | Func::Median, _) | Expr::Share(_) | Expr::Part(_)
            )
        };
        if let Some(step) = repeats
            && exprs.clone().any(adds)
        {
            return Err(format!(
                "the join to {} repeats rows, so that a sum or an average would count them several times: begin `from` the \
                 table of the number",
                self.schema().table(step.to()).name
            ));
        }
        let has_numbers = query.columns.iter().any(|column| column.measure);
        let is_grouped = |column: &Column| column.measure || query.groups.contains(&column.expr);
        if has_numbers && query.calendar.is_none() && !query.columns.iter().all(is_grouped) {
            return Err("beside numbers, each other column must be in `groupBy`".to_owned());
        }
        let medians =
            query.columns.iter().filter(|column| matches!(column.expr, Expr::Made(Func::Median, _))).count();
        let numbers = query.columns.iter().filter(|column| column.measure).count();
        if medians > 0
            && (numbers > 1
                || !query.having.is_empty()
                || query.calendar.is_some()
                || query.periods.is_some())
        {
            return Err(
                "a median stands alone: no other number, no `having`, `every` or `compare`".to_owned()
            );
        }
        let shares = exprs.clone().any(|expr| matches!(expr, Expr::Share(_) | Expr::Part(_)));
        if shares != query.share.is_some() {
            return Err(
                "`share` is the condition of the columns {\"share\": …} and {\"part\": …}: give both"
                    .to_owned(),
            );
        }
        if query.calendar.is_some()
            && !(query.groups.is_empty() && query.columns.iter().all(|column| column.measure))
        {
            return Err(
                "`every` makes the first column; the others must be numbers, without `groupBy`".to_owned()
            );
        }
        if query.outer.is_some() && !matches!(query.joins[..], [step] if !step.up) {
            return Err("`keepAll` needs one join, to a table whose rows refer to `from`".to_owned());
        }
        if query.first_of_each.is_some() && (query.order.is_empty() || !has_numbers) {
            return Err("`firstOfEach` needs numbers and an `order`".to_owned());
        }
        Ok(())
    }

    fn each<T>(
        &self,
        list: &Value,
        name: &str,
        read: impl Fn(&Value, &str) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        match list {
            Value::Null => Ok(Vec::new()),
            Value::Array(list) if list.len() <= PARTS_MAX => {
                list.iter().enumerate().map(|(at, one)| read(one, &format!("{name}[{at}]"))).collect()
            }
            _ => Err(format!("{name}: a list of {PARTS_MAX} at most")),
        }
    }

    fn table(&self, value: &Value, at: &str) -> Result<usize, String> {
        let name = value.as_str().ok_or_else(|| format!("{at}: the name of a table"))?;
        let tables = &self.schema().tables;
        tables.iter().position(|table| table.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
            format!("{at}: there is no table {name}; there are {}", names.join(", "))
        })
    }

    fn place(&self, value: &Value, at: &str) -> Result<Place, String> {
        let text = value.as_str().ok_or_else(|| format!("{at}: a field as \"table.field\""))?;
        let schema = self.schema();
        let all = || (0..schema.tables.len()).flat_map(|table| schema.places(table));
        let is = |place: &Place| {
            let name = format!("{}.{}", schema.table(place.table).name, schema.field(*place).name);
            name.eq_ignore_ascii_case(text)
        };
        all().find(is).ok_or_else(|| {
            let table = text.rsplit_once('.').map_or(text, |(table, _)| table);
            let of_table = all().filter(|place| schema.table(place.table).name.eq_ignore_ascii_case(table));
            let names: Vec<&str> = of_table.map(|place| schema.field(place).name.as_str()).collect();
            match names.is_empty() {
                true => format!("{at}: there is no table {table}; fields are written \"table.field\""),
                false => format!("{at}: there is no field {text}; {table} has {}", names.join(", ")),
            }
        })
    }

    fn joins(&self, list: &Value, name: &str, joined: &mut Vec<usize>) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        let list = match list {
            Value::Null => &[][..],
            Value::Array(list) if list.len() <= PARTS_MAX => list,
            _ => return Err(format!("{name}: a list of {PARTS_MAX} at most")),
        };
        for (at, join) in list.iter().enumerate() {
            let at = format!("{name}[{at}]");
            let table = self.table(&join["table"], &format!("{at}.table"))?;
            if joined.contains(&table) {
                return Err(format!("{at}: each table can be joined once"));
            }
            let more = match join["on"].as_array().map(Vec::as_slice) {
                None => {
                    let way = self.known.links.way(joined, table, self.schema().tables.len());
                    way.ok_or_else(|| {
                        format!("{at}.on: say by which fields, such as [\"a.b_id\", \"b.id\"]")
                    })?
                }
                Some([here, there]) => {
                    vec![self.step(self.place(here, &at)?, self.place(there, &at)?, table, joined, &at)?]
                }
                Some(_) => return Err(format!("{at}.on: two fields, that of a joined table first")),
            };
            for step in more {
                if !joined.contains(&step.to()) {
                    joined.push(step.to());
                    steps.push(step);
                }
            }
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
            let expr = self.expr(one, at)?;
            let alias = one["name"].as_str().filter(|name| !name.is_empty() && name.len() <= 200);
            let alias = alias.ok_or_else(|| format!("{at}.name: the name of the column"))?.to_owned();
            Ok(Column { expr, alias, measure: !matches!(expr, Expr::Field(_) | Expr::Start(..)) })
        })?;
        let is_twice = |(at, column): (usize, &Column)| {
            columns[..at].iter().any(|other| other.alias.eq_ignore_ascii_case(&column.alias))
        };
        match (columns.is_empty(), columns.iter().enumerate().any(is_twice)) {
            (true, _) => Err("columns: one at least".to_owned()),
            (_, true) => Err("columns: each name once".to_owned()),
            _ => Ok(columns),
        }
    }

    fn expr(&self, value: &Value, at: &str) -> Result<Expr, String> {
        if value["rows"] == true {
            return Ok(Expr::Rows);
        }
        if let Some(unit) = value["start"].as_str() {
            let unit = UNITS.into_iter().find(|known| known.word() == unit);
            let unit = unit.ok_or_else(|| format!("{at}.start: day, week, month, quarter or year"))?;
            return Ok(Expr::Start(unit, self.place(&value["of"], &format!("{at}.of"))?));
        }
        let place = |name: &str| match &value[name] {
            Value::String(_) => Some(self.place(&value[name], &format!("{at}.{name}"))),
            _ => None,
        };
        let made =
            FUNCS.iter().find_map(|(name, func)| Some(place(name)?.map(|place| Expr::Made(*func, place))));
        let others = [
            place("field").map(|place| place.map(Expr::Field)),
            place("present").map(|place| place.map(Expr::Present)),
            place("different").map(|place| place.map(Expr::Different)),
            place("share").map(|place| place.map(Expr::Share)),
            place("part").map(|place| place.map(Expr::Part)),
        ];
        made.or(others.into_iter().flatten().next()).unwrap_or_else(|| {
            Err(format!(
                "{at}: one of field, rows, present, different, sum, average, least, greatest, median, share, part, start"
            ))
        })
    }

    fn filters(&self, list: &Value, name: &str) -> Result<Vec<Filter>, String> {
        self.each(list, name, |one, at| self.filter(one, at))
    }

    fn filter(&self, value: &Value, at: &str) -> Result<Filter, String> {
        let place = self.place(&value["field"], &format!("{at}.field"))?;
        Ok(Filter { place, test: self.test(value, at)? })
    }

    fn test(&self, value: &Value, at: &str) -> Result<Test, String> {
        let numbers =
            |list: &Value| -> Option<Vec<f64>> { list.as_array()?.iter().map(Value::as_f64).collect() };
        let texts = |list: &Value| -> Option<Vec<String>> {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            list.as_array()
                .filter(|list| !list.is_empty() && list.len() <= PARTS_MAX)?
                .iter()
                .map(text)
                .collect()
        };
        for (name, is_in) in [("in", true), ("notIn", false)] {
            if !value[name].is_null() {
                let values = texts(&value[name]).ok_or_else(|| format!("{at}.{name}: a list of texts"))?;
                return Ok(Test::Among(values, is_in));
            }
        }
        for (name, part) in [("contains", Part::Inside), ("beginsWith", Part::Beginning)] {
            if !value[name].is_null() {
                let text = value[name].as_str().filter(|text| !text.is_empty());
                return text
                    .map(|text| Test::Has(part, text.to_owned()))
                    .ok_or_else(|| format!("{at}.{name}: a text"));
            }
        }
        for (name, compare) in COMPARISONS {
            match &value[name] {
                Value::Null => {}
                Value::Object(_) => {
                    let func =
                        FUNCS.iter().find(|(func, _)| value[name][*func] == "all").map(|(_, func)| *func);
                    let func = func.ok_or_else(|| {
                        format!("{at}.{name}: a number, or such as {{\"average\": \"all\"}}")
                    })?;
                    return Ok(Test::Versus(compare, func));
                }
                number => {
                    let number = number.as_f64().ok_or_else(|| format!("{at}.{name}: a number"))?;
                    return Ok(Test::Number(compare, number));
                }
            }
        }
        if !value["among"].is_null() {
            let all = numbers(&value["among"]).filter(|all| !all.is_empty() && all.len() <= PARTS_MAX);
            return all.map(Test::Numbers).ok_or_else(|| format!("{at}.among: a list of numbers"));
        }
        if !value["between"].is_null() {
            return match numbers(&value["between"]).as_deref() {
                Some([least, most]) => Ok(Test::Between(*least, *most)),
                _ => Err(format!("{at}.between: two numbers")),
            };
        }
        if !value["anyOf"].is_null() {
            let tests = self.each(&value["anyOf"], &format!("{at}.anyOf"), |one, at| self.test(one, at))?;
            return if tests.is_empty() {
                Err(format!("{at}.anyOf: one at least"))
            } else {
                Ok(Test::AnyOf(tests))
            };
        }
        if let Some(range) = range(value, at)? {
            return Ok(Test::Days(range));
        }
        match value["present"] == true {
            true => Ok(Test::Present),
            false => Err(format!(
                "{at}: one of in, notIn, equal, notEqual, more, atLeast, less, atMost, among, between, from, before, contains, beginsWith, anyOf, present"
            )),
        }
    }

    fn related(&self, value: &Value, at: &str) -> Result<Related, String> {
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

    fn every(&self, value: &Value) -> Result<(Option<Calendar>, Option<Place>), String> {
        if value.is_null() {
            return Ok((None, None));
        }
        let unit = value["unit"].as_str().and_then(|word| UNITS.into_iter().find(|unit| unit.word() == word));
        let unit = unit.ok_or("every.unit: day, week, month, quarter or year")?;
        let range = range(value, "every")?.filter(|range| range.from.is_some() && range.before.is_some());
        Ok((Some((unit, range)), Some(self.place(&value["of"], "every.of")?)))
    }

    fn compare(&self, value: &Value) -> Result<(Option<Periods>, Option<Place>), String> {
        if value.is_null() {
            return Ok((None, None));
        }
        let whole = |name: &str| -> Result<Range, String> {
            let at = format!("compare.{name}");
            let range =
                range(&value[name], &at)?.filter(|range| range.from.is_some() && range.before.is_some());
            range.ok_or_else(|| format!("{at}: {{\"from\": …, \"before\": …}}"))
        };
        let periods = Periods { now: whole("now")?, before: whole("before")? };
        Ok((Some(periods), Some(self.place(&value["time"], "compare.time")?)))
    }

    fn of_groups(&self, value: &Value) -> Result<(bool, Option<Expr>, Option<f64>), String> {
        match value {
            Value::Null => Ok((false, None, None)),
            Value::String(word) if word == "count" => Ok((true, None, None)),
            Value::Object(_) if !value["average"].is_null() => {
                Ok((false, Some(self.expr(&value["average"], "ofGroups.average")?), None))
            }
            Value::Object(_) => {
                let above = value["shareAbove"].as_f64().ok_or("ofGroups.shareAbove: a number")?;
                Ok((false, Some(self.expr(&value["of"], "ofGroups.of")?), Some(above)))
            }
            _ => Err("ofGroups: \"count\", {\"average\": …} or {\"shareAbove\": …, \"of\": …}".to_owned()),
        }
    }

    fn derived(&self, list: &Value, columns: &[Column]) -> Result<Vec<(Derived, String)>, String> {
        let kinds: [Kind; 6] = [
            ("before", Derived::Before),
            ("change", Derived::Change),
            ("growth", Derived::Growth),
            ("ofTotal", Derived::OfTotal),
            ("sinceLast", Derived::SinceLast),
            ("cumulative", Derived::Cumulative),
        ];
        self.each(list, "derived", |one, at| {
            let name = one["name"].as_str().ok_or_else(|| format!("{at}.name: the name of the column"))?;
            let found = kinds.iter().find_map(|(word, kind)| Some((one[*word].as_str()?, kind)));
            let (column, kind) = found.ok_or_else(|| {
                format!("{at}: one of before, change, growth, ofTotal, sinceLast, cumulative, with the name of a column")
            })?;
            let place = columns.iter().position(|known| known.alias == column && known.measure);
            let place = place.ok_or_else(|| format!("{at}: there is no number {column} in `columns`"))?;
            Ok((kind(place), name.to_owned()))
        })
    }
}

fn range(value: &Value, at: &str) -> Result<Option<Range>, String> {
    let day = |name: &str| match &value[name] {
        Value::String(text) => match Day::read(text) {
            Some(day) if text.len() == 10 => Ok(Some(day)),
            _ => Err(format!("{at}.{name}: a day as yyyy-MM-dd")),
        },
        _ => Ok(None),
    };
    let (from, before) = (day("from")?, day("before")?);
    Ok((from.is_some() || before.is_some()).then(|| Range::of(from, before)))
}
