//! Functions: those of Lakeport's own queries and of the agent's.

use std::collections::BTreeSet;

use chrono::{Datelike, Days, Months, NaiveDateTime, TimeZone, Timelike};
use chrono_tz::Tz;
use sqlparser::ast::{
    DateTimeField, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Interval,
};

use super::Context;
use super::expression::{Bound, Rows, Scope, bind};
use super::value::{Kind, Value};
use crate::catalogue::Product;
use crate::parse::Syntax;
use crate::refused;

const AGGREGATES: [&str; 5] = ["count", "sum", "avg", "min", "max"];

/// Whether a function aggregates the rows of a group.
pub fn is_aggregate(function: &Function) -> bool {
    AGGREGATES.contains(&name_of(function).as_str())
}

fn name_of(function: &Function) -> String {
    function.name.to_string().to_ascii_lowercase()
}

/// A call; the error without a message means an unknown form.
pub fn bind_call(scope: Scope, function: &Function) -> Result<Bound, Option<Syntax>> {
    let extra = function.over.is_some() || function.filter.is_some() || function.null_treatment.is_some();
    if extra || !function.within_group.is_empty() || function.parameters != FunctionArguments::None {
        return Err(None);
    }
    let name = name_of(function);
    let (arguments, distinct) = match &function.args {
        FunctionArguments::None => (&[][..], false),
        FunctionArguments::List(list) if list.clauses.is_empty() => {
            (&list.args[..], list.duplicate_treatment == Some(DuplicateTreatment::Distinct))
        }
        _ => return Err(None),
    };
    if name == "count" && matches!(arguments, [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]) && !distinct
    {
        in_group(scope)?;
        let count = |rows: &Rows| Value::Integer(i64::try_from(rows.len()).unwrap_or(i64::MAX));
        return Ok(Bound::new(Kind::Integer, count));
    }
    let expressions = arguments.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr),
        _ => Err(None),
    });
    let expressions = expressions.collect::<Result<Vec<&Expr>, Option<Syntax>>>()?;
    if AGGREGATES.contains(&name.as_str()) {
        in_group(scope)?;
        let [argument] = expressions[..] else { return Err(None) };
        let argument = bind(Scope { groups: None, ..scope }, argument)?;
        return Ok(aggregate(&name, argument, distinct)?);
    }
    if distinct {
        return Err(None);
    }
    if let ("date_add" | "date_sub", [time, Expr::Interval(interval)]) = (name.as_str(), &expressions[..]) {
        let sign = if name == "date_add" { 1 } else { -1 };
        return later(scope, time, interval, sign);
    }
    let bound = expressions.into_iter().map(|expr| bind(scope, expr));
    Ok(call(scope.context, &name, bound.collect::<Result<_, _>>()?)?)
}

fn in_group(scope: Scope) -> Result<(), Syntax> {
    if scope.groups.is_some() {
        return Ok(());
    }
    Err(refused("aggregate functions are not allowed here"))
}

fn signature(name: &str) -> Syntax {
    refused(format!("Can not find the compatibility function signature: {name}"))
}

fn aggregate(name: &str, argument: Bound, distinct: bool) -> Result<Bound, Syntax> {
    let of = argument.kind;
    if of == Kind::Array && name != "count" || of.is_time() && matches!(name, "sum" | "avg") {
        return Err(signature(name));
    }
    let kind = match (name, of) {
        ("count", _) => Kind::Integer,
        ("min" | "max", kind) => kind,
        ("sum", Kind::Boolean) => Kind::Integer,
        ("sum", kind @ (Kind::Integer | Kind::Decimal(_))) => kind,
        ("avg", Kind::Decimal(scale)) => Kind::Decimal(scale.max(4)),
        _ => Kind::Double,
    };
    let name = name.to_owned();
    Ok(Bound::new(kind, move |rows| {
        let mut values: Vec<Value> = rows.iter().map(|row| argument.of_row(row)).collect();
        values.retain(|value| !value.is_null());
        if distinct {
            let mut seen = BTreeSet::new();
            values.retain(|value| seen.insert(value.text(of)));
        }
        let numbers = || values.iter().filter_map(Value::number);
        let of_number = |number: f64| match kind {
            Kind::Integer => Value::Integer(number as i64),
            _ => Value::Number(number),
        };
        match name.as_str() {
            "count" => Value::Integer(i64::try_from(values.len()).unwrap_or(i64::MAX)),
            _ if values.is_empty() => Value::Null,
            "sum" => of_number(numbers().sum()),
            "avg" => of_number(numbers().sum::<f64>() / values.len() as f64),
            "min" => values.into_iter().min_by(Value::order).unwrap_or(Value::Null),
            _ => values.into_iter().max_by(Value::order).unwrap_or(Value::Null),
        }
    }))
}

/// A time plus or minus so many units.
fn later(scope: Scope, time: &Expr, interval: &Interval, sign: i64) -> Result<Bound, Option<Syntax>> {
    let time = bind(scope, time)?;
    let count = bind(scope, &interval.value)?;
    if !(time.kind.is_time() || time.kind == Kind::Text) || !count.kind.is_number() {
        return Err(Some(signature("date_add")));
    }
    let months = match interval.leading_field {
        Some(DateTimeField::Day) => 0,
        Some(DateTimeField::Month) => 1,
        Some(DateTimeField::Year) => 12,
        _ => return Err(None),
    };
    let kind = if time.kind.is_time() { time.kind } else { Kind::DateTime(0) };
    Ok(Bound::new(kind, move |rows| {
        let moved = || {
            let time = (time.evaluate)(rows).time()?;
            let count = sign * (count.evaluate)(rows).number()? as i64;
            let units = u32::try_from(count.unsigned_abs()).ok()?;
            match (months, count < 0) {
                (0, false) => time.checked_add_days(Days::new(units.into())),
                (0, true) => time.checked_sub_days(Days::new(units.into())),
                (months, false) => time.checked_add_months(Months::new(units.checked_mul(months)?)),
                (months, true) => time.checked_sub_months(Months::new(units.checked_mul(months)?)),
            }
        };
        moved().map_or(Value::Null, Value::Time)
    }))
}

/// A call of an ordinary function.
pub fn call(context: &Context, name: &str, arguments: Vec<Bound>) -> Result<Bound, Syntax> {
    let doris = context.catalogue.product == Product::Doris;
    let zone = || {
        let name = (context.variable)("time_zone").unwrap_or_default();
        name.parse::<Tz>().map_err(|_| refused(format!("Unknown or incorrect time zone: '{name}'")))
    };
    let kinds: Vec<Kind> = arguments.iter().map(|argument| argument.kind).collect();
    let is_time = |kind: Kind| kind.is_time() || kind == Kind::Text;
    let common = || kinds.iter().skip(1).try_fold(kinds[0], |kind, other| kind.common(*other));
    let text = |arguments: &[Value], at: usize| match &arguments[at] {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    };
    match (name, &kinds[..]) {
        ("connection_id", []) => {
            Ok(Bound::constant(Kind::Integer, Value::Integer(context.connection.into())))
        }
        ("date_format", [time, Kind::Text]) if is_time(*time) => lift(Kind::Text, arguments, move |values| {
            Some(Value::Text(formatted(values[0].time()?, &text(values, 1)?)?))
        }),
        ("convert_tz", [time @ (Kind::DateTime(_) | Kind::Text), Kind::Text, Kind::Text]) => {
            let kind = if *time == Kind::Text { Kind::DateTime(0) } else { *time };
            lift(kind, arguments, move |values| {
                let zone = |at: usize| text(values, at)?.parse::<Tz>().ok();
                let there = zone(1)?.from_local_datetime(&values[0].time()?).earliest()?;
                Some(Value::Time(there.with_timezone(&zone(2)?).naive_local()))
            })
        }
        ("unix_timestamp", [time]) if is_time(*time) => {
            let kind = match *time {
                Kind::DateTime(scale @ 1..) if doris => Kind::Decimal(scale),
                _ => Kind::Integer,
            };
            let zone = zone()?;
            lift(kind, arguments, move |values| {
                let instant = zone.from_local_datetime(&values[0].time()?).earliest()?;
                Some(match kind {
                    Kind::Integer => Value::Integer(instant.timestamp()),
                    _ => Value::Number(instant.timestamp_millis() as f64 / 1_000.0),
                })
            })
        }
        ("from_unixtime", [Kind::Integer]) => {
            let zone = zone()?;
            lift(Kind::Text, arguments, move |values| {
                let instant = zone.timestamp_opt(values[0].number()? as i64, 0).earliest()?;
                Some(Value::Text(instant.format("%Y-%m-%d %H:%M:%S").to_string()))
            })
        }
        ("array_join", [Kind::Array, Kind::Text]) => lift(Kind::Text, arguments, move |values| {
            let Value::Array(items) = &values[0] else { return None };
            Some(Value::Text(items.join(&text(values, 1)?)))
        }),
        ("weekday", [time]) if is_time(*time) => lift(Kind::Integer, arguments, |values| {
            Some(Value::Integer(values[0].time()?.weekday().num_days_from_monday().into()))
        }),
        ("dayofweek", [time]) if is_time(*time) => lift(Kind::Integer, arguments, |values| {
            Some(Value::Integer(values[0].time()?.weekday().number_from_sunday().into()))
        }),
        ("substr", [_, Kind::Integer] | [_, Kind::Integer, Kind::Integer]) if kinds[0] != Kind::Array => {
            let of = kinds[0];
            lift(Kind::Text, arguments, move |values| {
                let text = values[0].text(of)?;
                let skip = (values[1].number()? as usize).checked_sub(1)?;
                let length = values.get(2).map_or(Some(usize::MAX), |one| Some(one.number()? as usize))?;
                Some(Value::Text(text.chars().skip(skip).take(length).collect()))
            })
        }
        ("coalesce", [_, ..]) => {
            let kind = common()?;
            Ok(Bound::new(kind, move |rows| {
                let mut values = arguments.iter().map(|argument| (argument.evaluate)(rows));
                values.find(|value| !value.is_null()).unwrap_or(Value::Null)
            }))
        }
        ("greatest", [_, _, ..]) => {
            let kind = common()?;
            lift(kind, arguments, |values| values.iter().max_by(|one, other| one.order(other)).cloned())
        }
        _ if KNOWN.contains(&name) => Err(signature(name)),
        _ => Err(refused(format!("Can not found function '{name}'"))),
    }
}

const KNOWN: [&str; 11] = [
    "connection_id",
    "date_format",
    "convert_tz",
    "unix_timestamp",
    "from_unixtime",
    "array_join",
    "weekday",
    "dayofweek",
    "substr",
    "coalesce",
    "greatest",
];

/// NULL if an argument is NULL, or if there is no value.
fn lift(
    kind: Kind,
    arguments: Vec<Bound>,
    function: impl Fn(&[Value]) -> Option<Value> + 'static,
) -> Result<Bound, Syntax> {
    Ok(Bound::new(kind, move |rows| {
        let values: Vec<Value> = arguments.iter().map(|argument| (argument.evaluate)(rows)).collect();
        if values.iter().any(Value::is_null) {
            return Value::Null;
        }
        function(&values).unwrap_or(Value::Null)
    }))
}

/// `date_format`; `None` for an unknown letter.
fn formatted(time: NaiveDateTime, format: &str) -> Option<String> {
    let mut out = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        out.push_str(&match letters.next()? {
            'Y' => format!("{:04}", time.year()),
            'm' => format!("{:02}", time.month()),
            'd' => format!("{:02}", time.day()),
            'H' => format!("{:02}", time.hour()),
            'i' => format!("{:02}", time.minute()),
            's' | 'S' => format!("{:02}", time.second()),
            _ => return None,
        });
    }
    Some(out)
}
