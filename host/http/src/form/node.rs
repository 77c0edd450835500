//! A JSON value that serde reads and that knows its path.

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess,
    Visitor,
};
use serde_json::{Map, Value};

use super::error::FormError;
use super::filler::Filler;
use super::path::Path;
use super::reading::{Kind, Reading};

/// One value of the form; `None` is a filler.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    pub value: Option<&'a Value>,
    pub path: &'a Path<'a>,
    pub reading: &'a Reading,
}

impl<'a> Node<'a> {
    /// The value below `path`, or a filler if it was wrong before.
    fn below(value: &'a Value, path: &'a Path<'a>, reading: &'a Reading) -> Node<'a> {
        Node { value: (!reading.is_filled(path)).then_some(value), path, reading }
    }

    fn members(&self, members: &'a Map<String, Value>, fields: &'static [&'static str]) -> Members<'a> {
        let lacking = fields
            .iter()
            .filter(|name| !members.contains_key(**name))
            .filter(|name| self.reading.is_filled(&self.path.member(name)))
            .copied()
            .collect();
        Members { given: members.iter(), lacking, next: None, path: self.path, reading: self.reading }
    }

    fn items(&self, items: &'a [Value]) -> Items<'a> {
        Items { items: items.iter().enumerate(), path: self.path, reading: self.reading }
    }

    fn is_query(&self) -> bool {
        self.reading.kind == Kind::Query
    }

    fn query_integer<'de, V: Visitor<'de>>(text: &str, visitor: V) -> Result<V::Value, FormError> {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        match (text.parse::<u64>(), text.parse::<i64>()) {
            (Ok(number), _) => visitor.visit_u64(number),
            (_, Ok(number)) => visitor.visit_i64(number),
            // An integer of more than 64 bits.
            _ if is_integer => Err(de::Error::invalid_value(Unexpected::Str(text), &visitor)),
            _ => Err(de::Error::invalid_type(Unexpected::Str(text), &visitor)),
        }
    }
}

/// The error for a repeated parameter that takes a single value.
fn repeated() -> FormError {
    FormError::new("is given more than once")
}

/// Integers of a query are texts; those of JSON are numbers already.
macro_rules! integers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
            match self.value {
                None => Filler.$method(visitor),
                Some(Value::String(text)) if self.is_query() => Node::query_integer(text, visitor),
                Some(_) => self.deserialize_any(visitor),
            }
        }
    )*};
}

/// JSON's own types, or a filler.
macro_rules! plain {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
            match self.value {
                None => Filler.$method(visitor),
                Some(_) => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Node<'_> {
    type Error = FormError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        match self.value {
            None => Filler.deserialize_any(visitor),
            Some(Value::Null) => visitor.visit_unit(),
            Some(Value::Bool(value)) => visitor.visit_bool(*value),
            // PostgreSQL cannot store it.
            Some(Value::String(text)) if text.contains('\0') => {
                Err(FormError::new("must not hold the character U+0000"))
            }
            Some(Value::String(text)) => visitor.visit_str(text),
            // A list where a single value is expected.
            Some(Value::Array(_)) if self.is_query() => Err(repeated()),
            Some(Value::Array(items)) => visitor.visit_seq(self.items(items)),
            Some(Value::Object(members)) => visitor.visit_map(self.members(members, &[])),
            Some(Value::Number(number)) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (_, Some(number)) => visitor.visit_i64(number),
                _ => visitor.visit_f64(number.as_f64().expect("a JSON number without arbitrary precision")),
            },
        }
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }
    plain! {
        deserialize_str deserialize_string deserialize_char
        deserialize_bytes deserialize_byte_buf deserialize_unit
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        match self.value {
            None => Filler.deserialize_bool(visitor),
            Some(Value::String(text)) if self.is_query() => match text.as_str() {
                "true" | "1" => visitor.visit_bool(true),
                "false" | "0" => visitor.visit_bool(false),
                _ => Err(de::Error::invalid_type(Unexpected::Str(text), &visitor)),
            },
            Some(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        match self.value {
            None => Filler.deserialize_f64(visitor),
            Some(Value::String(text)) if self.is_query() => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => visitor.visit_f64(number),
                _ => Err(de::Error::invalid_type(Unexpected::Str(text), &visitor)),
            },
            Some(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        match self.value {
            None => Filler.deserialize_option(visitor),
            Some(Value::Null) => visitor.visit_none(),
            Some(_) => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, FormError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, FormError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        match self.value {
            None => Filler.deserialize_seq(visitor),
            Some(Value::Array(items)) => visitor.visit_seq(self.items(items)),
            Some(one) if self.is_query() => visitor.visit_seq(self.items(std::slice::from_ref(one))),
            Some(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, FormError> {
        match self.value {
            None => Filler.deserialize_tuple(length, visitor),
            Some(_) => self.deserialize_seq(visitor),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, FormError> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        match self.value {
            None => Filler.deserialize_map(visitor),
            Some(_) => {
                // Any member is known to it.
                self.reading.given.has_known.set(true);
                self.deserialize_any(visitor)
            }
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FormError> {
        match self.value {
            None => Filler.deserialize_struct(name, fields, visitor),
            Some(Value::Object(members)) => {
                for (name, value) in members {
                    match fields.contains(&name.as_str()) {
                        true => self.reading.given.note_known(value.is_object()),
                        false => self.reading.given.note_unknown(self.path, name, fields),
                    }
                }
                visitor.visit_map(self.members(members, fields))
            }
            // serde would accept an array, member by member, in an order that no client knows.
            Some(Value::Array(_)) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            Some(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FormError> {
        match self.value {
            None => Filler.deserialize_enum(name, variants, visitor),
            Some(Value::String(text)) => visitor.visit_enum(text.as_str().into_deserializer()),
            Some(Value::Object(members)) if members.len() == 1 => {
                let (name, value) = members.iter().next().expect("one member");
                visitor.visit_enum(Case { name, content: Node { value: Some(value), ..self } })
            }
            Some(_) if self.is_query() => Err(repeated()),
            Some(_) => Err(FormError::new(format!("expected one of {}", variants.join(", ")))),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        visitor.visit_unit()
    }
}

struct Members<'a> {
    given: serde_json::map::Iter<'a>,
    /// Missing members that were reported and are filled in.
    lacking: Vec<&'static str>,
    next: Option<(&'a str, Option<&'a Value>)>,
    path: &'a Path<'a>,
    reading: &'a Reading,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = FormError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, FormError> {
        let given = self.given.next().map(|(name, value)| (name.as_str(), Some(value)));
        self.next = given.or_else(|| self.lacking.pop().map(|name| (name, None)));
        let Some((name, _)) = self.next else { return Ok(None) };
        let key: StrDeserializer<'_, FormError> = name.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, FormError> {
        let (name, value) = self.next.take().expect("serde asks for the key first");
        let path = self.path.member(name);
        let node = match value {
            Some(value) => Node::below(value, &path, self.reading),
            None => Node { value: None, path: &path, reading: self.reading },
        };
        seed.deserialize(node).map_err(|error| error.at(&path))
    }
}

struct Items<'a> {
    items: std::iter::Enumerate<std::slice::Iter<'a, Value>>,
    path: &'a Path<'a>,
    reading: &'a Reading,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = FormError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, FormError> {
        let Some((index, value)) = self.items.next() else { return Ok(None) };
        let path = self.path.item(index);
        seed.deserialize(Node::below(value, &path, self.reading)).map(Some).map_err(|error| error.at(&path))
    }
}

/// `{"case": content}`
struct Case<'a> {
    name: &'a str,
    content: Node<'a>,
}

impl<'a, 'de> EnumAccess<'de> for Case<'a> {
    type Error = FormError;
    type Variant = Node<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Node<'a>), FormError> {
        let name: StrDeserializer<'_, FormError> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self.content))
    }
}

impl<'de> VariantAccess<'de> for Node<'_> {
    type Error = FormError;

    fn unit_variant(self) -> Result<(), FormError> {
        Err(FormError::new("expected a string"))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, FormError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, FormError> {
        de::Deserializer::deserialize_tuple(self, length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FormError> {
        de::Deserializer::deserialize_struct(self, "", fields, visitor)
    }
}
