//! A value that fits any type. It replaces a wrong member so that parsing can go on behind it. Values read
//! with a filler are only used to look for further errors.

use serde::de::value::{MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{self, DeserializeSeed, EnumAccess, IntoDeserializer, VariantAccess, Visitor};

use super::error::FormError;

#[derive(Clone, Copy)]
pub struct Filler;

macro_rules! filled {
    ($($method:ident => $visit:ident($value:expr),)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
            visitor.$visit($value)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Filler {
    type Error = FormError;

    filled! {
        deserialize_bool => visit_bool(false),
        deserialize_i8 => visit_i64(0), deserialize_i16 => visit_i64(0),
        deserialize_i32 => visit_i64(0), deserialize_i64 => visit_i64(0), deserialize_i128 => visit_i128(0),
        deserialize_u8 => visit_u64(0), deserialize_u16 => visit_u64(0),
        deserialize_u32 => visit_u64(0), deserialize_u64 => visit_u64(0),
        deserialize_f32 => visit_f64(0.0), deserialize_f64 => visit_f64(0.0),
        deserialize_char => visit_char(' '),
        deserialize_str => visit_str(""), deserialize_string => visit_str(""),
        deserialize_identifier => visit_str(""),
        deserialize_bytes => visit_bytes(&[]), deserialize_byte_buf => visit_bytes(&[]),
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        visitor.visit_unit()
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        visitor.visit_unit()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        visitor.visit_unit()
    }

    /// Absent, which differs from null for some types.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, FormError> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, FormError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FormError> {
        self.deserialize_tuple(0, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, FormError> {
        visitor.visit_seq(SeqDeserializer::new(std::iter::repeat_n(Filler, length)))
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
        self.deserialize_struct("", &[], visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FormError> {
        visitor.visit_map(MapDeserializer::new(fields.iter().map(|name| (*name, Filler))))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FormError> {
        match variants.first() {
            Some(first) => visitor.visit_enum(FillerCase(first)),
            None => visitor.visit_unit(),
        }
    }
}

impl<'de> IntoDeserializer<'de, FormError> for Filler {
    type Deserializer = Filler;

    fn into_deserializer(self) -> Filler {
        self
    }
}

struct FillerCase(&'static str);

impl<'de> EnumAccess<'de> for FillerCase {
    type Error = FormError;
    type Variant = Filler;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Filler), FormError> {
        let name: StrDeserializer<'_, FormError> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, Filler))
    }
}

impl<'de> VariantAccess<'de> for Filler {
    type Error = FormError;

    fn unit_variant(self) -> Result<(), FormError> {
        Ok(())
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
