//! Types and values of queries, as far as a client can distinguish them.

use std::cmp::Ordering;

use chrono::{NaiveDate, NaiveDateTime};

use crate::parse::Syntax;
use crate::refused;

/// The type of an expression. Types that the protocol transfers as text are text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Boolean,
    Integer,
    /// With so many fraction digits.
    Decimal(u32),
    Double,
    Text,
    Date,
    /// With so many fraction digits of a second.
    DateTime(u32),
    /// Of texts.
    Array,
}

impl Kind {
    /// The type of a column, from the words of `DESC`.
    pub fn of_column(type_text: &str) -> Kind {
        let (name, arguments) = type_text.split_once(['(', '<']).unwrap_or((type_text, ""));
        let scale = |at: usize| {
            let argument = arguments.trim_end_matches(')').split(',').nth(at);
            argument.and_then(|digits| digits.parse().ok()).unwrap_or(0)
        };
        match name {
            "boolean" => Kind::Boolean,
            "tinyint" | "smallint" | "int" | "bigint" => Kind::Integer,
            "decimal" => Kind::Decimal(scale(1)),
            "float" | "double" => Kind::Double,
            "date" => Kind::Date,
            "datetime" => Kind::DateTime(scale(0)),
            "array" => Kind::Array,
            _ => Kind::Text,
        }
    }

    /// The same the other way round, for a column of a view.
    pub fn type_text(self) -> String {
        match self {
            Kind::Boolean => "boolean".to_owned(),
            Kind::Integer => "bigint".to_owned(),
            Kind::Decimal(scale) => format!("decimal(38,{scale})"),
            Kind::Double => "double".to_owned(),
            Kind::Text => "varchar(65533)".to_owned(),
            Kind::Date => "date".to_owned(),
            Kind::DateTime(0) => "datetime".to_owned(),
            Kind::DateTime(digits) => format!("datetime({digits})"),
            Kind::Array => "array<text>".to_owned(),
        }
    }

    pub fn is_number(self) -> bool {
        matches!(self, Kind::Boolean | Kind::Integer | Kind::Decimal(_) | Kind::Double)
    }

    pub fn is_time(self) -> bool {
        matches!(self, Kind::Date | Kind::DateTime(_))
    }

    /// The common type of both.
    pub fn common(self, other: Kind) -> Result<Kind, Syntax> {
        let (one, two) = (self.rank(), other.rank());
        match (self, other) {
            _ if self == other => Ok(self),
            (Kind::Array, _) | (_, Kind::Array) => {
                Err(refused(format!("can not find a common type of {self:?} and {other:?}")))
            }
            (Kind::Text, _) | (_, Kind::Text) => Ok(Kind::Text),
            _ if self.is_time() != other.is_time() => Ok(Kind::Text),
            (Kind::Decimal(a), Kind::Decimal(b)) => Ok(Kind::Decimal(a.max(b))),
            (Kind::DateTime(a), Kind::DateTime(b)) => Ok(Kind::DateTime(a.max(b))),
            _ => Ok(if one >= two { self } else { other }),
        }
    }

    fn rank(self) -> u8 {
        match self {
            Kind::Boolean | Kind::Date => 0,
            Kind::Integer | Kind::DateTime(_) => 1,
            Kind::Decimal(_) => 2,
            Kind::Double | Kind::Text | Kind::Array => 3,
        }
    }
}

/// A value; its expression has the type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    /// Integers and truth values.
    Integer(i64),
    /// A number with a fraction. The decimals of tests lose no digits.
    Number(f64),
    Text(String),
    Time(NaiveDateTime),
    Array(Vec<String>),
}

impl Value {
    pub fn of_truth(truth: Option<bool>) -> Value {
        truth.map_or(Value::Null, |truth| Value::Integer(truth.into()))
    }

    pub fn is_null(&self) -> bool {
        *self == Value::Null
    }

    /// As a condition.
    pub fn truth(&self) -> Option<bool> {
        self.number().map(|number| number != 0.0)
    }

    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Integer(number) => Some(*number as f64),
            Value::Number(number) => Some(*number),
            Value::Text(text) => text.trim().parse().ok(),
            Value::Null | Value::Time(_) | Value::Array(_) => None,
        }
    }

    /// A point in time; a text is cast as by the server.
    pub fn time(&self) -> Option<NaiveDateTime> {
        match self {
            Value::Time(time) => Some(*time),
            Value::Text(text) => NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f")
                .ok()
                .or_else(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0)),
            _ => None,
        }
    }

    /// A value of this type in the server's notation.
    pub fn text(&self, kind: Kind) -> Option<String> {
        Some(match (self, kind) {
            (Value::Null, _) => return None,
            (_, Kind::Decimal(digits)) => format!("{:.*}", digits as usize, self.number()?),
            (Value::Integer(number), _) => number.to_string(),
            (Value::Number(number), _) => number.to_string(),
            (Value::Text(text), _) => text.clone(),
            (Value::Time(time), Kind::Date) => time.format("%Y-%m-%d").to_string(),
            (Value::Time(time), Kind::DateTime(digits @ 1..)) => {
                let micros = format!("{:06}", time.and_utc().timestamp_subsec_micros());
                format!("{}.{}", time.format("%Y-%m-%d %H:%M:%S"), &micros[..digits.min(6) as usize])
            }
            (Value::Time(time), _) => time.format("%Y-%m-%d %H:%M:%S").to_string(),
            (Value::Array(items), _) => {
                let items: Vec<String> = items.iter().map(|item| format!("\"{item}\"")).collect();
                format!("[{}]", items.join(", "))
            }
        })
    }

    /// `None` if either is NULL, or if their types do not fit.
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Null, _) | (_, Value::Null) => None,
            (Value::Text(one), Value::Text(other)) => Some(one.cmp(other)),
            (Value::Time(_), _) | (_, Value::Time(_)) => Some(self.time()?.cmp(&other.time()?)),
            _ => self.number()?.partial_cmp(&other.number()?),
        }
    }

    /// The order of rows: NULL comes first.
    pub fn order(&self, other: &Value) -> Ordering {
        match (self.is_null(), other.is_null()) {
            (false, false) => self.compare(other).unwrap_or(Ordering::Equal),
            (one, other) => other.cmp(&one),
        }
    }
}
