//! The decoding guard.

use std::fmt;

use bincode::de::read::{BorrowReader, Reader};
use bincode::de::{BorrowDecoder, DecoderImpl};
use bincode::error::DecodeError;
use bincode::{BorrowDecode, Decode};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use super::{Config, MAX_DEPTH, SPARE_ELEMENTS};
use crate::protocol::codec::{DecodeFailure, DecodeReason};

/// Decodes one body; what is left of its limits is shared by all its values.
pub(in crate::protocol) struct Guard<'de> {
    input: DecoderImpl<Input<'de>, Config, ()>,
    length: usize,
    depth: usize,
    elements: usize,
}

impl<'de> Guard<'de> {
    pub(in crate::protocol) fn new(body: &'de [u8]) -> Self {
        Guard {
            input: DecoderImpl::new(Input { rest: body }, bincode::config::standard(), ()),
            length: body.len(),
            depth: MAX_DEPTH,
            elements: body.len().saturating_add(SPARE_ELEMENTS),
        }
    }

    /// The offset of the next byte.
    pub(in crate::protocol) fn position(&mut self) -> usize {
        self.length - self.left()
    }

    /// Checks that nothing is left over.
    pub(in crate::protocol) fn finish(&mut self) -> Result<(), DecodeFailure> {
        match self.left() {
            0 => Ok(()),
            left => Err(DecodeReason::Trailing { left }.into()),
        }
    }

    /// A byte string, borrowed from the body.
    #[inline]
    pub(in crate::protocol) fn bytes(&mut self) -> Result<&'de [u8], DecodeFailure> {
        self.borrow()
    }

    fn left(&mut self) -> usize {
        self.input.borrow_reader().rest.len()
    }

    #[inline]
    fn primitive<T: Decode<()>>(&mut self) -> Result<T, DecodeFailure> {
        T::decode(&mut self.input).map_err(DecodeFailure::from)
    }

    #[inline]
    fn borrow<T: BorrowDecode<'de, ()>>(&mut self) -> Result<T, DecodeFailure> {
        T::borrow_decode(&mut self.input).map_err(DecodeFailure::from)
    }

    /// Runs one level deeper.
    #[inline]
    fn nested<R>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<R, DecodeFailure>,
    ) -> Result<R, DecodeFailure> {
        if self.depth == 0 {
            return Err(DecodeReason::Depth { limit: MAX_DEPTH }.into());
        }
        self.depth -= 1;
        let result = run(self);
        self.depth += 1;
        result
    }

    /// Reads the length of a sequence or map, and takes it from the elements this body may hold.
    #[inline]
    fn claim(&mut self) -> Result<usize, DecodeFailure> {
        let claimed = self.primitive::<u64>()?;
        let left = self.elements;
        match usize::try_from(claimed) {
            Ok(count) if count <= left => {
                self.elements = left - count;
                Ok(count)
            }
            _ => Err(DecodeReason::Elements { claimed, left }.into()),
        }
    }

    /// The elements of a tuple or struct, whose number the type knows.
    #[inline]
    fn parts<V: Visitor<'de>>(
        &mut self,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeFailure> {
        visitor.visit_seq(&mut Elements {
            guard: self,
            left: count,
            hint: count,
        })
    }

    /// The elements of a sequence or map, whose number the body claims.
    #[inline]
    fn claimed<R>(
        &mut self,
        visit: impl FnOnce(&mut Elements<'_, 'de>) -> Result<R, DecodeFailure>,
    ) -> Result<R, DecodeFailure> {
        self.nested(|guard| {
            let count = guard.claim()?;
            let hint = count.min(guard.left());
            let mut elements = Elements {
                guard,
                left: count,
                hint,
            };
            let value = visit(&mut elements)?;
            match elements.left {
                0 => Ok(value),
                left => Err(DecodeReason::Unread { left }.into()),
            }
        })
    }
}

impl fmt::Debug for Guard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

macro_rules! primitives {
    ($($deserialize:ident $visit:ident $type:ty,)*) => {$(
        #[inline]
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeFailure> {
            visitor.$visit(self.primitive::<$type>()?)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Guard<'de> {
    type Error = DecodeFailure;

    primitives! {
        deserialize_bool visit_bool bool,
        deserialize_i8 visit_i8 i8,
        deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64,
        deserialize_i128 visit_i128 i128,
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
        deserialize_u128 visit_u128 u128,
        deserialize_f32 visit_f32 f32,
        deserialize_f64 visit_f64 f64,
        deserialize_char visit_char char,
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeFailure> {
        visitor.visit_borrowed_str(self.borrow()?)
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeFailure> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeFailure> {
        visitor.visit_borrowed_bytes(self.borrow()?)
    }

    #[inline]
    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeFailure> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeFailure> {
        match self.primitive::<u8>()? {
            0 => visitor.visit_none(),
            1 => self.nested(|guard| visitor.visit_some(guard)),
            tag => Err(DecodeReason::Option(tag).into()),
        }
    }

    #[inline]
    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeFailure> {
        visitor.visit_unit()
    }

    #[inline]
    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeFailure> {
        visitor.visit_unit()
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeFailure> {
        self.nested(|guard| visitor.visit_newtype_struct(guard))
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeFailure> {
        self.claimed(|elements| visitor.visit_seq(elements))
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeFailure> {
        self.nested(|guard| guard.parts(len, visitor))
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeFailure> {
        self.deserialize_tuple(len, visitor)
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeFailure> {
        self.claimed(|elements| visitor.visit_map(elements))
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeFailure> {
        self.deserialize_tuple(fields.len(), visitor)
    }

    #[inline]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeFailure> {
        self.nested(|guard| visitor.visit_enum(guard))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, DecodeFailure> {
        let what = "a self-describing type (untagged, internally tagged, a json value)";
        Err(DecodeReason::SelfDescribing { what }.into())
    }

    fn deserialize_identifier<V: Visitor<'de>>(
        self,
        _visitor: V,
    ) -> Result<V::Value, DecodeFailure> {
        let what = "a name (`#[serde(flatten)]`, an adjacently tagged enum)";
        Err(DecodeReason::SelfDescribing { what }.into())
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        _visitor: V,
    ) -> Result<V::Value, DecodeFailure> {
        let what = "a value to be ignored";
        Err(DecodeReason::SelfDescribing { what }.into())
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        false
    }
}

/// What is left of a sequence, map, tuple or struct.
struct Elements<'a, 'de> {
    guard: &'a mut Guard<'de>,
    left: usize,
    hint: usize,
}

impl<'de> SeqAccess<'de> for &mut Elements<'_, 'de> {
    type Error = DecodeFailure;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeFailure> {
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
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DecodeFailure> {
        self.next_element_seed(seed)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DecodeFailure> {
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
    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), DecodeFailure> {
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
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DecodeFailure> {
        seed.deserialize(self)
    }

    #[inline]
    fn tuple_variant<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeFailure> {
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

/// The bytes not yet read. bincode's own reader does not tell where it is.
struct Input<'de> {
    rest: &'de [u8],
}

impl Reader for Input<'_> {
    #[inline]
    fn read(&mut self, bytes: &mut [u8]) -> Result<(), DecodeError> {
        bytes.copy_from_slice(self.take_bytes(bytes.len())?);
        Ok(())
    }

    #[inline]
    fn peek_read(&mut self, n: usize) -> Option<&[u8]> {
        self.rest.get(..n)
    }

    #[inline]
    fn consume(&mut self, n: usize) {
        self.rest = self.rest.get(n..).unwrap_or_default();
    }
}

impl<'de> BorrowReader<'de> for Input<'de> {
    #[inline]
    fn take_bytes(&mut self, length: usize) -> Result<&'de [u8], DecodeError> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            let additional = length - self.rest.len();
            return Err(DecodeError::UnexpectedEnd { additional });
        };
        self.rest = rest;
        Ok(taken)
    }
}

impl From<DecodeError> for DecodeFailure {
    #[cold]
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::UnexpectedEnd { additional } => DecodeReason::Ends {
                missing: additional,
            },
            DecodeError::InvalidBooleanValue(byte) => DecodeReason::Bool(byte),
            DecodeError::InvalidCharEncoding(_) => DecodeReason::Char,
            DecodeError::Utf8 { .. } => DecodeReason::Utf8,
            DecodeError::InvalidIntegerType { expected, found } => DecodeReason::Custom(
                format!("an integer is encoded as {found:?} where {expected:?} is expected").into(),
            ),
            other => DecodeReason::Custom(format!("bincode refuses the bytes: {other:?}").into()),
        }
        .into()
    }
}
