//! The inside of containers, for the decoding guard.

use serde::de::{DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::decode::Guard;
use crate::protocol::codec::DecodeFailure;

/// What is left of a sequence, map, tuple or struct.
pub(super) struct Elements<'a, 'de> {
    pub(super) guard: &'a mut Guard<'de>,
    pub(super) left: usize,
    /// What a container may reserve: never more than the bytes that are there.
    pub(super) hint: usize,
}

impl<'de> SeqAccess<'de> for &mut Elements<'_, 'de> {
    type Error = DecodeFailure;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, DecodeFailure> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.guard).map(Some)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left.min(self.hint))
    }
}

impl<'de> MapAccess<'de> for &mut Elements<'_, 'de> {
    type Error = DecodeFailure;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeFailure> {
        self.next_element_seed(seed)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeFailure> {
        seed.deserialize(&mut *self.guard)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left.min(self.hint))
    }
}

impl<'de> EnumAccess<'de> for &mut Guard<'de> {
    type Error = DecodeFailure;
    type Variant = Self;

    #[inline]
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), DecodeFailure> {
        let index = self.primitive::<u32>()?;
        let deserializer = IntoDeserializer::<DecodeFailure>::into_deserializer(index);
        Ok((seed.deserialize(deserializer)?, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Guard<'de> {
    type Error = DecodeFailure;

    #[inline]
    fn unit_variant(self) -> Result<(), DecodeFailure> {
        Ok(())
    }

    #[inline]
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, DecodeFailure> {
        seed.deserialize(self)
    }

    #[inline]
    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, DecodeFailure> {
        self.parts(len, visitor)
    }

    #[inline]
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeFailure> {
        self.parts(fields.len(), visitor)
    }
}
