//! Form members with limits of their own, which are reported together with the form's other errors.

use std::borrow::Cow;
use std::fmt;

use chrono_tz::Tz;
use lakeport_base::error::Detail;
use lakeport_base::time;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};

/// A text with a minimum of characters, surrounding blanks not counted, and a maximum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<const MIN_CHARS: usize, const MAX_CHARS: usize>(pub String);

/// An integer between two bounds, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Number<const MIN: i64, const MAX: i64>(pub i64);

/// An integer of at least 1.
pub type Count = Number<1, { u32::MAX as i64 }>;

impl<const MIN: i64, const MAX: i64> From<Number<MIN, MAX>> for i64 {
    fn from(number: Number<MIN, MAX>) -> i64 {
        number.0
    }
}

struct Bounded {
    min_chars: usize,
    max_chars: usize,
}

impl Visitor<'_> for Bounded {
    type Value = String;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.min_chars {
            0 => write!(out, "a string of at most {} characters", self.max_chars),
            min => write!(out, "a string of {min} to {} characters", self.max_chars),
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
        let is_within =
            text.chars().count() <= self.max_chars && text.trim().chars().count() >= self.min_chars;
        let is_blank = !text.is_empty() && text.trim().is_empty();
        if is_within {
            Ok(text.to_owned())
        } else if is_blank && self.min_chars > 0 {
            Err(E::custom("must not be blank"))
        } else {
            Err(E::invalid_value(Unexpected::Str(text), &self))
        }
    }

    /// Only a filler has bytes.
    fn visit_bytes<E: de::Error>(self, _: &[u8]) -> Result<String, E> {
        Ok(String::new())
    }
}

// Requests bytes, because only a filler answers with bytes: this tells it from an empty text.
impl<'de, const MIN_CHARS: usize, const MAX_CHARS: usize> Deserialize<'de> for Text<MIN_CHARS, MAX_CHARS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Bounded { min_chars: MIN_CHARS, max_chars: MAX_CHARS }).map(Text)
    }
}

struct Within<const MIN: i64, const MAX: i64>;

impl<const MIN: i64, const MAX: i64> Visitor<'_> for Within<MIN, MAX> {
    type Value = i64;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "an integer from {MIN} to {MAX}")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<i64, E> {
        if (MIN..=MAX).contains(&number) {
            Ok(number)
        } else {
            Err(E::invalid_value(Unexpected::Signed(number), &self))
        }
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<i64, E> {
        match i64::try_from(number) {
            Ok(number) => self.visit_i64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
        }
    }

    /// Integers of more than 64 bits arrive as floats, too.
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<i64, E> {
        Err(E::invalid_value(Unexpected::Float(number), &self))
    }

    /// Only a filler has 128 bits.
    fn visit_i128<E: de::Error>(self, _: i128) -> Result<i64, E> {
        Ok(MIN)
    }
}

// Requests 128 bits, because only a filler answers with 128 bits: this tells it from 0.
impl<'de, const MIN: i64, const MAX: i64> Deserialize<'de> for Number<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_i128(Within::<MIN, MAX>).map(Number)
    }
}

/// A time in the notation of the interface; the reader knows the zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeText(pub String);

impl TimeText {
    /// The time in the zone, milliseconds since 1970. A time that the zone's clocks skip is noted for the member.
    pub fn read(text: Option<&TimeText>, member: &str, zone: Tz, wrong: &mut Vec<Detail>) -> Option<i64> {
        let read = time::parse(&text?.0, zone);
        read.map_err(|why| wrong.push(Detail::new(member, why))).ok()
    }
}

struct Time;

impl Visitor<'_> for Time {
    type Value = String;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "a time written {}", time::FORM_SHOWN)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
        time::check(text)
            .map(|()| text.to_owned())
            .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }

    /// Only a filler has bytes.
    fn visit_bytes<E: de::Error>(self, _: &[u8]) -> Result<String, E> {
        Ok(String::new())
    }
}

// Requests bytes, because only a filler answers with bytes: this tells it from an empty text.
impl<'de> Deserialize<'de> for TimeText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Time).map(TimeText)
    }
}

macro_rules! described {
    ($(($($generics:tt)*) $type:ty => $schema:expr;)*) => {$(
        impl $($generics)* JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    )*};
}

described! {
    (<const MIN_CHARS: usize, const MAX_CHARS: usize>) Text<MIN_CHARS, MAX_CHARS> =>
        json_schema!({ "type": "string", "minLength": MIN_CHARS, "maxLength": MAX_CHARS });
    () TimeText => json_schema!({ "type": "string" });
    (<const MIN: i64, const MAX: i64>) Number<MIN, MAX> =>
        json_schema!({ "type": "integer", "format": "int64", "minimum": MIN, "maximum": MAX });
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::{Count, Number, Text};
    use crate::form::{from_json, from_query};
    use lakeport_base::Error;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "it is read for what is wrong with it")]
    struct Form {
        table_name: Text<1, 64>,
        db_name: Text<1, 64>,
        comment: Option<Text<0, 3>>,
        bucket_num: Option<Count>,
        replica_num: Option<Count>,
    }

    fn wrong(body: &str) -> Vec<(String, String)> {
        let Err(Error::Refused(refusal)) = from_json::<Form>(body.as_bytes()) else { panic!("{body}") };
        refusal.details.into_iter().map(|detail| (detail.field, detail.message)).collect()
    }

    #[test]
    fn out_of_range_members_are_all_named() {
        let body = r#"{"tableName":" ","dbName":7,"comment":"long","bucketNum":0,"replicaNum":-1}"#;
        let named: Vec<String> = wrong(body).into_iter().map(|(field, _)| field).collect();
        assert_eq!(named, ["tableName", "dbName", "comment", "bucketNum", "replicaNum"]);
        let blank = "must not be blank".to_owned();
        assert_eq!(wrong(r#"{"tableName":"  ","dbName":"main"}"#), [("tableName".to_owned(), blank)]);
        let long = format!(r#"{{"tableName":"{}","dbName":"main"}}"#, "表".repeat(65));
        let expected = "expected a string of 1 to 64 characters".to_owned();
        assert_eq!(wrong(&long), [("tableName".to_owned(), expected)]);
        let whole = r#"{"tableName":"t","dbName":"main","bucketNum":3,"comment":""}"#;
        assert!(from_json::<Form>(whole.as_bytes()).is_ok());
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase")]
    struct Paged {
        page_size: Option<Number<1, 500>>,
        exact: Option<bool>,
    }

    #[test]
    fn an_out_of_range_number_names_bounds() {
        let bound = ("pageSize".to_owned(), "expected an integer from 1 to 500".to_owned());
        for size in ["0", "-1", "501", "99999999999999999999", "-99999999999999999999", &"9".repeat(60)] {
            let query = format!("pageSize={size}&exact=maybe");
            let Err(Error::Refused(refusal)) = from_query::<Paged>(&query) else { panic!("{size}") };
            let told: Vec<_> = refusal.details.into_iter().map(|d| (d.field, d.message)).collect();
            let exact = ("exact".to_owned(), "expected true or false, got a string".to_owned());
            assert_eq!(told, [bound.clone(), exact], "{size}");
        }
        let paged = Paged { page_size: Some(Number(500)), exact: None };
        assert_eq!(from_query::<Paged>("pageSize=500").unwrap(), paged);
    }

    #[test]
    fn null_is_no_number() {
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "it is read for what is wrong with it")]
        struct One {
            count: Count,
        }
        let Err(Error::Refused(refusal)) = from_json::<One>(br#"{"count":null}"#) else {
            panic!("a refusal")
        };
        assert_eq!(refusal.message, "count: expected an integer from 1 to 4294967295, got null");
    }
}
