//! A JSON text that serde reads without a tree of its values: objects and lists are read member by member from the text
//! itself, so that what the form does not know costs no memory.

use std::fmt;

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeSeed, Deserializer, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::FormError;
use super::node::Node;
use super::path::Path;
use super::reading::Reading;

/// One value of the form, as its text.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    pub text: &'a RawValue,
    pub path: &'a Path<'a>,
    pub reading: &'a Reading,
}

/// The types of serde that are read from a tree: the small ones, and those that hold any value.
macro_rules! parsed {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, FormError> {
            let value = self.parse()?;
            self.node(&value).$method($($argument,)* visitor)
        }
    )*};
}

impl<'a> Text<'a> {
    fn starts_with(&self, start: char) -> bool {
        self.text.get().starts_with(start)
    }

    /// The tree of its values.
    fn parse(&self) -> Result<Value, FormError> {
        let text = self.text.get();
        self.reading.take_values(count_values(text.as_bytes()))?;
        serde_json::from_str(text)
            .map_err(|error| FormError::new(format!("cannot be read: {}", reason(&error))))
    }

    fn node<'n>(&'n self, value: &'n Value) -> Node<'n> {
        Node { value: Some(value), path: self.path, reading: self.reading }
    }

    /// Deserializes what is at `path`; with a filler if it was wrong before.
    fn deserialize_at<'de, S: DeserializeSeed<'de>>(
        seed: S,
        text: Option<&'a RawValue>,
        path: &Path<'_>,
        reading: &Reading,
    ) -> Result<S::Value, FormError> {
        let read = match text.filter(|_| !reading.is_filled(path)) {
            Some(text) => seed.deserialize(Text { text, path, reading }),
            None => seed.deserialize(Node { value: None, path, reading }),
        };
        read.map_err(|error| error.at(path))
    }
}

impl<'de> Deserializer<'de> for Text<'_> {
    type Error = FormError;

    parsed! {
        deserialize_any() deserialize_bool() deserialize_char()
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64()
        deserialize_f32() deserialize_f64()
        deserialize_str() deserialize_string() deserialize_bytes() deserialize_byte_buf() deserialize_identifier()
        deserialize_unit() deserialize_unit_struct(name: &'static str) deserialize_map()
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        if self.starts_with('n') { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, FormError> {
        if name == RAW_VALUE {
            let text = std::iter::once((RAW_VALUE, self.text.get()));
            return visitor.visit_map(MapDeserializer::new(text));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        if !self.starts_with('[') {
            let value = self.parse()?;
            return self.node(&value).deserialize_seq(visitor);
        }
        let mut read = None;
        let list = ListReader { visitor, path: self.path, reading: self.reading, read: &mut read };
        let ended = serde_json::Deserializer::from_str(self.text.get()).deserialize_seq(list);
        // Of a visitor that ended early, the text's end is an error, too.
        read.unwrap_or_else(|| {
            Err(de::Error::custom(ended.err().map_or_else(String::new, |error| error.to_string())))
        })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, FormError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, FormError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FormError> {
        if !self.starts_with('{') {
            let is_list = self.starts_with('[');
            // Its type is all that counts.
            let value = if is_list { Value::Array(Vec::new()) } else { self.parse()? };
            return self.node(&value).deserialize_struct(name, fields, visitor);
        }
        let object = ObjectReader { fields, path: self.path, reading: self.reading };
        let given = serde_json::Deserializer::from_str(self.text.get()).deserialize_map(object);
        let Known { members: given, repeated } =
            given.map_err(|error| FormError::new(format!("cannot be read: {}", reason(&error))))?;
        if let Some(member) = repeated.map(|name| self.path.member(name))
            && !self.reading.is_filled(&member)
        {
            return Err(FormError::new("is given more than once").at(&member));
        }
        let is_given = |field: &&str| given.iter().any(|(name, _)| name == field);
        let lacking = fields.iter().copied().filter(|field| !is_given(field));
        let lacking = lacking.filter(|field| self.reading.is_filled(&self.path.member(field))).collect();
        let members =
            Members { given: given.into_iter(), lacking, next: None, path: self.path, reading: self.reading };
        visitor.visit_map(members)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        visitor.visit_unit()
    }
}

/// The name by which serde_json's `RawValue` asks for its text; `a_raw_member_is_its_text` notices a change.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Finds the members of an object that the form knows.
struct ObjectReader<'a> {
    fields: &'static [&'static str],
    path: &'a Path<'a>,
    reading: &'a Reading,
}

impl<'t> Visitor<'t> for ObjectReader<'_> {
    type Value = Known<'t>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut members: A) -> Result<Known<'t>, A::Error> {
        let mut known = Vec::with_capacity(self.fields.len());
        let mut repeated = None;
        while let Some(field) = members.next_key_seed(&self)? {
            let text: &RawValue = members.next_value()?;
            let Some(field) = field else { continue };
            self.reading.given.note_known(text.get().starts_with('{'));
            match known.iter().any(|(name, _)| *name == field) {
                true => repeated = repeated.or(Some(field)),
                false => known.push((field, text)),
            }
        }
        Ok(Known { members: known, repeated })
    }
}

/// The members of an object that the form knows, each once.
struct Known<'t> {
    members: Vec<(&'static str, &'t RawValue)>,
    /// One that is given again.
    repeated: Option<&'static str>,
}

/// Reads the name of a member; `None`: the form does not know it, which is noted.
impl<'t> DeserializeSeed<'t> for &ObjectReader<'_> {
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'t>>(self, name: D) -> Result<Self::Value, D::Error> {
        name.deserialize_str(self)
    }
}

impl<'t> Visitor<'t> for &ObjectReader<'_> {
    type Value = Option<&'static str>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a name")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
        let known = self.fields.iter().copied().find(|field| *field == name);
        if known.is_none() {
            self.reading.given.note_unknown(self.path, name, self.fields);
        }
        Ok(known)
    }
}

struct Members<'a> {
    given: std::vec::IntoIter<(&'static str, &'a RawValue)>,
    /// Missing members that were reported and are filled in.
    lacking: Vec<&'static str>,
    next: Option<(&'static str, Option<&'a RawValue>)>,
    path: &'a Path<'a>,
    reading: &'a Reading,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = FormError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, FormError> {
        let given = self.given.next().map(|(name, text)| (name, Some(text)));
        self.next = given.or_else(|| self.lacking.pop().map(|name| (name, None)));
        let Some((name, _)) = self.next else { return Ok(None) };
        let key: StrDeserializer<'_, FormError> = name.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, FormError> {
        let (name, text) = self.next.take().expect("serde asks for the key first");
        Text::deserialize_at(seed, text, &self.path.member(name), self.reading)
    }
}

/// Hands the items of a list to `visitor`, one at a time.
struct ListReader<'a, 'de, V: Visitor<'de>> {
    visitor: V,
    path: &'a Path<'a>,
    reading: &'a Reading,
    read: &'a mut Option<Result<V::Value, FormError>>,
}

impl<'t, 'de, V: Visitor<'de>> Visitor<'t> for ListReader<'_, 'de, V> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut items: A) -> Result<(), A::Error> {
        let list = Items { items: &mut items, index: 0, path: self.path, reading: self.reading };
        *self.read = Some(self.visitor.visit_seq(list));
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

struct Items<'a, A> {
    items: &'a mut A,
    index: usize,
    path: &'a Path<'a>,
    reading: &'a Reading,
}

impl<'t, 'de, A: SeqAccess<'t>> SeqAccess<'de> for Items<'_, A> {
    type Error = FormError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, FormError> {
        let Some(text) = self.items.next_element::<&RawValue>().map_err(de::Error::custom)? else {
            return Ok(None);
        };
        // One that is parsed counts there.
        if text.get().starts_with(['{', '[']) {
            self.reading.take_values(1)?;
        }
        let path = self.path.item(self.index);
        self.index += 1;
        Text::deserialize_at(seed, Some(text), &path, self.reading).map(Some)
    }
}

/// How many values a JSON text has, without parsing it: a value in memory is many times larger than in the text.
fn count_values(json: &[u8]) -> usize {
    let (mut count, mut is_text, mut at) = (1, false, 0);
    while let Some(&byte) = json.get(at) {
        match byte {
            b'"' => is_text = !is_text,
            // The next one belongs to it.
            b'\\' if is_text => at += 1,
            b',' if !is_text => count += 1,
            b'[' | b'{' if !is_text => {
                let next = json[at + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
                count += usize::from(!matches!(next, Some(b']' | b'}')));
            }
            _ => {}
        }
        at += 1;
    }
    count
}

/// serde_json's message without its place.
pub fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::form::from_json;
    use crate::form::reading::VALUES_MAX;

    #[test]
    fn values_are_counted_without_parsing() {
        for (text, expected) in [
            ("7", 1),
            ("[]", 1),
            ("[ ]", 1),
            ("{}", 1),
            ("[1]", 2),
            ("[1, 2, []]", 4),
            (r#"{"a": {"b": [1, 2]}, "c": "x,[{"}"#, 6),
            (r#""a\",[1,2]""#, 1),
        ] {
            assert_eq!(count_values(text.as_bytes()), expected, "{text}");
        }
    }

    #[derive(Debug, Deserialize)]
    struct Holder {
        #[serde(default)]
        raw: Option<Box<RawValue>>,
        #[serde(default)]
        any: Value,
        #[serde(default)]
        list: Vec<i64>,
    }

    #[test]
    fn a_raw_member_is_its_text() {
        let read: Holder = from_json(br#"{"raw": {"a":  [1, 2]}, "any": {"b": null}}"#).unwrap();
        assert_eq!(read.raw.unwrap().get(), r#"{"a":  [1, 2]}"#);
        assert_eq!((read.any, read.list), (json!({ "b": null }), Vec::new()));
        assert!(from_json::<Holder>(b"{}").unwrap().raw.is_none());
        assert!(from_json::<Holder>(br#"{"raw":null}"#).unwrap().raw.is_none());
        let error = from_json::<Holder>(br#"{"raw":1,"list":["x",3,true]}"#).unwrap_err().to_string();
        assert!(error.contains("list[0]") && error.contains("list[2]"), "{error}");
    }

    #[test]
    fn only_values_that_are_read_are_limited() {
        let many = format!("[{}1]", "1,".repeat(VALUES_MAX));
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for member in ["raw", "unknown"] {
            for text in [&many, &deep] {
                from_json::<Holder>(format!(r#"{{"list":[1],"{member}":{text}}}"#).as_bytes()).unwrap();
            }
        }
        for member in ["any", "list"] {
            let error = from_json::<Holder>(format!(r#"{{"{member}":{many}}}"#).as_bytes()).unwrap_err();
            assert!(error.to_string().contains("more than 400000 values"), "{error}");
        }
        let error = from_json::<Holder>(format!(r#"{{"any":{deep}}}"#).as_bytes()).unwrap_err();
        assert!(error.to_string().contains("recursion limit"), "{error}");
    }

    #[test]
    fn a_member_that_is_given_twice_is_named_with_others() {
        let error = from_json::<Holder>(br#"{"list":[1],"list":["x"],"any":1e999}"#).unwrap_err().to_string();
        assert!(error.contains("list: is given more than once") && error.contains("any: "), "{error}");
    }

    #[test]
    fn what_is_no_text_or_number_is_named() {
        for body in [r#"{"any":"\ud800"}"#, r#"{"any":1e999}"#, r#"{"list":[1,"\ud800"]}"#] {
            let error = from_json::<Holder>(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("cannot be read"), "{body}: {error}");
        }
    }
}
