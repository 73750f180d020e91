//! Counts the levels of what is read: everything that a type asks of the parser, and that the parser tells the type, passes through here.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::MAX_DEPTH;

/// A value that is read to [`MAX_DEPTH`].
pub(super) struct Shallow<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shallow<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(Level { inner: deserializer, left: MAX_DEPTH }).map(Shallow)
    }
}

/// A part of serde's machinery, whatever its role, where so many levels are left.
struct Level<I> {
    inner: I,
    left: usize,
}

impl<I> Level<I> {
    /// The same level for a part that is reached from this one.
    fn with<J>(&self, inner: J) -> Level<J> {
        Level { inner, left: self.left }
    }

    fn deeper<J, E: Error>(&self, inner: J) -> Result<Level<J>, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Level { inner, left }),
            None => Err(E::custom(format_args!("it is nested deeper than {MAX_DEPTH} levels"))),
        }
    }
}

macro_rules! asks {
    ($($deserialize:ident($($argument:ident: $type:ty),*) as $inner:ident;)*) => {$(
        fn $deserialize<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let visitor = self.with(visitor);
            self.inner.$inner($($argument,)* visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Level<D> {
    type Error = D::Error;

    asks! {
        deserialize_any() as deserialize_any;
        deserialize_bool() as deserialize_bool;
        deserialize_i8() as deserialize_i8;
        deserialize_i16() as deserialize_i16;
        deserialize_i32() as deserialize_i32;
        deserialize_i64() as deserialize_i64;
        deserialize_i128() as deserialize_i128;
        deserialize_u8() as deserialize_u8;
        deserialize_u16() as deserialize_u16;
        deserialize_u32() as deserialize_u32;
        deserialize_u64() as deserialize_u64;
        deserialize_u128() as deserialize_u128;
        deserialize_f32() as deserialize_f32;
        deserialize_f64() as deserialize_f64;
        deserialize_char() as deserialize_char;
        deserialize_str() as deserialize_str;
        deserialize_string() as deserialize_string;
        deserialize_option() as deserialize_option;
        deserialize_unit() as deserialize_unit;
        deserialize_unit_struct(name: &'static str) as deserialize_unit_struct;
        deserialize_newtype_struct(name: &'static str) as deserialize_newtype_struct;
        deserialize_seq() as deserialize_seq;
        deserialize_tuple(len: usize) as deserialize_tuple;
        deserialize_tuple_struct(name: &'static str, len: usize) as deserialize_tuple_struct;
        deserialize_map() as deserialize_map;
        deserialize_struct(name: &'static str, fields: &'static [&'static str]) as deserialize_struct;
        deserialize_enum(name: &'static str, variants: &'static [&'static str]) as deserialize_enum;
        deserialize_identifier() as deserialize_identifier;
        // As they are written. From a text serde_json would take the text's own bytes.
        deserialize_bytes() as deserialize_seq;
        deserialize_byte_buf() as deserialize_seq;
        // Skipping, serde_json counts no levels.
        deserialize_ignored_any() as deserialize_any;
    }
}

macro_rules! tells {
    ($($visit:ident $type:ty,)*) => {$(
        fn $visit<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$visit(value)
        }
    )*};
}

macro_rules! tells_deeper {
    ($($visit:ident $trait:ident,)*) => {$(
        fn $visit<I: $trait<'de>>(self, inner: I) -> Result<V::Value, I::Error> {
            let inner = self.deeper(inner)?;
            self.inner.$visit(inner)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Level<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    tells! {
        visit_bool bool,
        visit_i8 i8,
        visit_i16 i16,
        visit_i32 i32,
        visit_i64 i64,
        visit_i128 i128,
        visit_u8 u8,
        visit_u16 u16,
        visit_u32 u32,
        visit_u64 u64,
        visit_u128 u128,
        visit_f32 f32,
        visit_f64 f64,
        visit_char char,
        visit_str &str,
        visit_borrowed_str &'de str,
        visit_string String,
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    tells_deeper! {
        visit_some Deserializer,
        visit_newtype_struct Deserializer,
        visit_seq SeqAccess,
        visit_map MapAccess,
        visit_enum EnumAccess,
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Level<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.deserialize(deserializer)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Level<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.with(seed);
        self.inner.next_element_seed(seed)
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Level<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.with(seed);
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.with(seed);
        self.inner.next_value_seed(seed)
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Level<A> {
    type Error = A::Error;
    type Variant = Level<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Level<A::Variant>), A::Error> {
        let left = self.left;
        let (value, inner) = self.inner.variant_seed(Level { inner: seed, left })?;
        Ok((value, Level { inner, left }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Level<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.with(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = self.with(visitor);
        self.inner.tuple_variant(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.with(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}
