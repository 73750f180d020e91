//! The decoding guard.

use std::fmt;

use bincode::de::{BorrowDecoder, DecoderImpl};
use bincode::{BorrowDecode, Decode};
use serde::de::{Deserializer, Visitor};

use super::access::Elements;
use super::input::Input;
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
    pub(super) fn primitive<T: Decode<()>>(&mut self) -> Result<T, DecodeFailure> {
        T::decode(&mut self.input).map_err(DecodeFailure::from)
    }

    #[inline]
    fn borrow<T: BorrowDecode<'de, ()>>(&mut self) -> Result<T, DecodeFailure> {
        T::borrow_decode(&mut self.input).map_err(DecodeFailure::from)
    }

    /// Runs one level deeper.
    #[inline]
    fn nested<R>(&mut self, run: impl FnOnce(&mut Self) -> Result<R, DecodeFailure>) -> Result<R, DecodeFailure> {
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
    pub(super) fn parts<V: Visitor<'de>>(&mut self, count: usize, visitor: V) -> Result<V::Value, DecodeFailure> {
        visitor.visit_seq(&mut Elements { guard: self, left: count, hint: count })
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
            let mut elements = Elements { guard, left: count, hint };
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
        f.debug_struct("Guard").field("length", &self.length).finish_non_exhaustive()
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
    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, DecodeFailure> {
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

    fn deserialize_identifier<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, DecodeFailure> {
        let what = "a name (`#[serde(flatten)]`, an adjacently tagged enum)";
        Err(DecodeReason::SelfDescribing { what }.into())
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, DecodeFailure> {
        let what = "a value to be ignored";
        Err(DecodeReason::SelfDescribing { what }.into())
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        false
    }
}
