//! Members of forms with bounds of their own, refused together with whatever else is wrong in a form.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};

/// A text of so many characters at least, blanks around it not counted, and at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<const MIN_CHARS: usize, const MAX_CHARS: usize>(pub String);

/// A number from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count(u32);

impl Count {
    pub fn number(self) -> i64 {
        self.0.into()
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
        if is_within { Ok(text.to_owned()) } else { Err(E::invalid_value(Unexpected::Str(text), &self)) }
    }

    /// No form has bytes but a filler.
    fn visit_bytes<E: de::Error>(self, _: &[u8]) -> Result<String, E> {
        Ok(String::new())
    }
}

// Asked for as bytes, so that a filler can be told from an empty text.
impl<'de, const MIN_CHARS: usize, const MAX_CHARS: usize> Deserialize<'de> for Text<MIN_CHARS, MAX_CHARS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Bounded { min_chars: MIN_CHARS, max_chars: MAX_CHARS }).map(Text)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        struct Counted;
        impl Visitor<'_> for Counted {
            type Value = Count;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "an integer from 1 to {}", u32::MAX)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Count, E> {
                match u32::try_from(number) {
                    Ok(count @ 1..) => Ok(Count(count)),
                    _ => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
                }
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Count, E> {
                Err(E::invalid_value(Unexpected::Signed(number), &self))
            }

            /// A filler: where null may stand it does not come here.
            fn visit_unit<E: de::Error>(self) -> Result<Count, E> {
                Ok(Count(1))
            }
        }
        deserializer.deserialize_any(Counted)
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
    () Count => json_schema!({ "type": "integer", "minimum": 1, "maximum": u32::MAX });
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::{Count, Text};
    use crate::error::Error;
    use crate::http::form::from_json;

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
    fn every_member_out_of_its_bounds_is_named_beside_wrong_types() {
        let body = r#"{"tableName":" ","dbName":7,"comment":"long","bucketNum":0,"replicaNum":-1}"#;
        let named: Vec<String> = wrong(body).into_iter().map(|(field, _)| field).collect();
        assert_eq!(named, ["tableName", "dbName", "comment", "bucketNum", "replicaNum"]);
        let long = format!(r#"{{"tableName":"{}","dbName":"main"}}"#, "表".repeat(65));
        let expected = "expected a string of 1 to 64 characters".to_owned();
        assert_eq!(wrong(&long), [("tableName".to_owned(), expected)]);
        let whole = r#"{"tableName":"t","dbName":"main","bucketNum":3,"comment":""}"#;
        assert!(from_json::<Form>(whole.as_bytes()).is_ok());
    }
}
