//! Member types that serde's own types do not cover.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use uuid::Uuid;

/// A member of a partial change that can be removed. It needs `#[serde(default)]`: without it serde takes an
/// absent member for null, and the OpenAPI description calls it required.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// Absent: the value stays.
    #[default]
    Keep,
    /// Null.
    Clear,
    Set(T),
}

impl<T> Patch<T> {
    /// Maps the value of [`Patch::Set`].
    pub fn map<U>(self, with: impl FnOnce(T) -> U) -> Patch<U> {
        match self {
            Patch::Keep => Patch::Keep,
            Patch::Clear => Patch::Clear,
            Patch::Set(value) => Patch::Set(with(value)),
        }
    }

    /// The member's value after the change.
    pub fn over(self, before: Option<T>) -> Option<T> {
        match self {
            Patch::Keep => before,
            Patch::Clear => None,
            Patch::Set(value) => Some(value),
        }
    }
}

/// A member of a creation: what is absent or null stays as it is made.
impl<T> From<Option<T>> for Patch<T> {
    fn from(member: Option<T>) -> Patch<T> {
        member.map_or(Patch::Keep, Patch::Set)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Patch<T>, D::Error> {
        deserializer.deserialize_option(Patched(PhantomData))
    }
}

struct Patched<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Patched<T> {
    type Value = Patch<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value or null")
    }

    fn visit_none<E: de::Error>(self) -> Result<Patch<T>, E> {
        Ok(Patch::Clear)
    }

    /// A filler.
    fn visit_unit<E: de::Error>(self) -> Result<Patch<T>, E> {
        Ok(Patch::Keep)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Patch<T>, D::Error> {
        T::deserialize(deserializer).map(Patch::Set)
    }
}

impl<T: JsonSchema> JsonSchema for Patch<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Option::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<T>::json_schema(generator)
    }
}

/// A member of a partial change that always has a value: absent keeps it, null is refused. It needs
/// `#[serde(default)]`, as [`Patch`] does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amend<T>(pub Option<T>);

impl<T> Default for Amend<T> {
    fn default() -> Amend<T> {
        Amend(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Amend<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Amend<T>, D::Error> {
        match Patch::deserialize(deserializer)? {
            Patch::Keep => Ok(Amend(None)),
            Patch::Clear => Err(de::Error::custom("must not be null; leave it out to keep it as it is")),
            Patch::Set(value) => Ok(Amend(Some(value))),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Amend<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// Reads a UUID in any of its usual notations.
pub fn uuid<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uuid, D::Error> {
    // Requests bytes, because only a filler answers with bytes: this tells it from an empty text.
    deserializer.deserialize_bytes(UuidText)
}

struct UuidText;

impl Visitor<'_> for UuidText {
    type Value = Uuid;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a UUID")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Uuid, E> {
        Uuid::try_parse(text).map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    /// Only a filler has bytes.
    fn visit_bytes<E: de::Error>(self, _: &[u8]) -> Result<Uuid, E> {
        Ok(Uuid::nil())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{draft_from_json, from_json, from_path};
    use super::*;
    use lakeport_base::Error;

    #[derive(Debug, serde::Deserialize, PartialEq)]
    struct Change {
        #[serde(default)]
        name: Amend<String>,
        #[serde(default)]
        owner: Patch<String>,
    }

    #[derive(Debug, serde::Deserialize)]
    struct Delivery {
        #[serde(deserialize_with = "uuid")]
        topic_id: Uuid,
        #[expect(dead_code, reason = "it is there to be missing")]
        content: String,
    }

    fn fields<T: de::DeserializeOwned>(outcome: Result<T, Error>) -> Vec<(String, String)> {
        let Err(Error::Refused(refusal)) = outcome else { panic!("a refusal") };
        refusal.details.into_iter().map(|detail| (detail.field, detail.message)).collect()
    }

    #[test]
    fn absent_null_and_a_value_are_three_things() {
        let owner = |body: &[u8]| from_json::<Change>(body).unwrap().owner;
        assert_eq!(owner(b"{}"), Patch::Keep);
        assert_eq!(owner(br#"{"owner":null}"#), Patch::Clear);
        assert_eq!(owner(br#"{"owner":"ann"}"#), Patch::Set("ann".to_owned()));
        assert_eq!(Patch::Keep.over(Some(1)), Some(1));
        assert_eq!(Patch::Clear.over(Some(1)), None);
        assert_eq!(Patch::Set(2).over(Some(1)), Some(2));
    }

    #[test]
    fn a_clearable_member_checks_its_type() {
        let wrong = fields(from_json::<Change>(br#"{"name":1,"owner":2}"#));
        let expected = |field: &str| (field.to_owned(), "expected a string, got a number".to_owned());
        assert_eq!(wrong, [expected("name"), expected("owner")]);
    }

    #[test]
    fn null_is_refused_where_there_is_always_a_value() {
        let name = |body: &[u8]| from_json::<Change>(body).unwrap().name;
        assert_eq!((name(b"{}"), name(br#"{"name":"a"}"#)), (Amend(None), Amend(Some("a".to_owned()))));
        let told = "must not be null; leave it out to keep it as it is".to_owned();
        let wrong = fields(from_json::<Change>(br#"{"name":null,"owner":null}"#));
        assert_eq!(wrong, [("name".to_owned(), told)]);
    }

    #[test]
    fn an_unreadable_member_counts_as_unchanged() {
        let draft = draft_from_json::<Change>(br#"{"name":1,"owner":2}"#).unwrap();
        assert_eq!(*draft.read(), Change { name: Amend(None), owner: Patch::Keep });
    }

    #[test]
    fn an_invalid_uuid_is_named_with_others() {
        let pair = |field: &str, message: &str| (field.to_owned(), message.to_owned());
        let lacking = pair("content", "is missing");
        assert_eq!(
            fields(from_json::<Delivery>(br#"{"topic_id":"7"}"#)),
            [pair("topic_id", "expected a UUID"), lacking.clone()]
        );
        assert_eq!(fields(from_json::<Delivery>(b"{}")), [pair("topic_id", "is missing"), lacking.clone()]);
        assert_eq!(
            fields(from_json::<Delivery>(br#"{"topic_id":7}"#)),
            [pair("topic_id", "expected a UUID, got a number"), lacking]
        );
    }

    #[test]
    fn a_uuid_of_a_path_is_read() {
        let text = "01890a5d-ac96-774b-bcce-b302099a8057";
        let parameters = [("topic_id".to_owned(), text.to_owned()), ("content".to_owned(), String::new())];
        assert_eq!(from_path::<Delivery>(&parameters).unwrap().topic_id.to_string(), text);
    }
}
