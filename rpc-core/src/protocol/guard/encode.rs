//! The encoding guard.

use bincode::Encode;
use bincode::enc::EncoderImpl;
use bincode::enc::write::Writer;
use bincode::error::EncodeError;
use serde::ser;
use serde::{Serialize, Serializer};

use super::{Config, MAX_DEPTH};
use crate::protocol::codec::{EncodeFailure, EncodeReason};

/// Appends `value` to `body`; after an error the end of `body` is undefined.
pub(in crate::protocol) fn encode<T: Serialize>(value: &T, body: &mut Vec<u8>) -> Result<(), EncodeFailure> {
    value.serialize(&mut Sink::new(body))
}

/// Appends a byte string to `body`, as one block.
pub(in crate::protocol) fn encode_bytes(bytes: &[u8], body: &mut Vec<u8>) -> Result<(), EncodeFailure> {
    Sink::new(body).primitive(bytes)
}

/// Appends what precedes a byte string of this length.
pub(in crate::protocol) fn encode_length(length: usize, body: &mut Vec<u8>) -> Result<(), EncodeFailure> {
    Sink::new(body).primitive(&length)
}

/// Where a value is written to.
struct Sink<'a> {
    output: EncoderImpl<Output<'a>, Config>,
    depth: usize,
}

impl<'a> Sink<'a> {
    fn new(body: &'a mut Vec<u8>) -> Self {
        Sink { output: EncoderImpl::new(Output(body), bincode::config::standard()), depth: MAX_DEPTH }
    }

    #[inline]
    fn primitive<T: Encode + ?Sized>(&mut self, value: &T) -> Result<(), EncodeFailure> {
        value.encode(&mut self.output).map_err(EncodeFailure::from)
    }

    /// Goes one level deeper, until the matching increment of `depth`.
    #[inline]
    fn enter(&mut self) -> Result<(), EncodeFailure> {
        if self.depth == 0 {
            return Err(EncodeReason::Depth { limit: MAX_DEPTH }.into());
        }
        self.depth -= 1;
        Ok(())
    }

    #[inline]
    fn nested<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeFailure> {
        self.enter()?;
        value.serialize(&mut *self)?;
        self.depth += 1;
        Ok(())
    }

    #[inline]
    fn compound(&mut self, name: &'static str, declared: usize) -> Result<Compound<'_, 'a>, EncodeFailure> {
        self.enter()?;
        Ok(Compound { sink: self, name, declared, written: 0 })
    }
}

macro_rules! primitives {
    ($($serialize:ident $type:ty,)*) => {$(
        #[inline]
        fn $serialize(self, value: $type) -> Result<(), EncodeFailure> {
            self.primitive(&value)
        }
    )*};
}

impl<'s, 'a> Serializer for &'s mut Sink<'a> {
    type Ok = ();
    type Error = EncodeFailure;
    type SerializeSeq = Compound<'s, 'a>;
    type SerializeTuple = Compound<'s, 'a>;
    type SerializeTupleStruct = Compound<'s, 'a>;
    type SerializeTupleVariant = Compound<'s, 'a>;
    type SerializeMap = Compound<'s, 'a>;
    type SerializeStruct = Compound<'s, 'a>;
    type SerializeStructVariant = Compound<'s, 'a>;

    primitives! {
        serialize_bool bool,
        serialize_i8 i8,
        serialize_i16 i16,
        serialize_i32 i32,
        serialize_i64 i64,
        serialize_i128 i128,
        serialize_u8 u8,
        serialize_u16 u16,
        serialize_u32 u32,
        serialize_u64 u64,
        serialize_u128 u128,
        serialize_f32 f32,
        serialize_f64 f64,
        serialize_char char,
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), EncodeFailure> {
        self.primitive(value)
    }

    #[inline]
    fn serialize_bytes(self, value: &[u8]) -> Result<(), EncodeFailure> {
        self.primitive(value)
    }

    #[inline]
    fn serialize_none(self) -> Result<(), EncodeFailure> {
        self.primitive(&0u8)
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), EncodeFailure> {
        self.primitive(&1u8)?;
        self.nested(value)
    }

    #[inline]
    fn serialize_unit(self) -> Result<(), EncodeFailure> {
        Ok(())
    }

    #[inline]
    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), EncodeFailure> {
        Ok(())
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
    ) -> Result<(), EncodeFailure> {
        self.primitive(&index)?;
        self.nested(&())
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), EncodeFailure> {
        self.nested(value)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
        value: &T,
    ) -> Result<(), EncodeFailure> {
        self.primitive(&index)?;
        self.nested(value)
    }

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Compound<'s, 'a>, EncodeFailure> {
        let len = len.ok_or(EncodeReason::UnknownSequence)?;
        self.primitive(&len)?;
        self.compound("sequence", len)
    }

    #[inline]
    fn serialize_tuple(self, len: usize) -> Result<Compound<'s, 'a>, EncodeFailure> {
        self.compound("tuple", len)
    }

    #[inline]
    fn serialize_tuple_struct(self, name: &'static str, len: usize) -> Result<Compound<'s, 'a>, EncodeFailure> {
        self.compound(name, len)
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Compound<'s, 'a>, EncodeFailure> {
        self.primitive(&index)?;
        self.compound(variant, len)
    }

    #[inline]
    fn serialize_map(self, len: Option<usize>) -> Result<Compound<'s, 'a>, EncodeFailure> {
        let len = len.ok_or(EncodeReason::UnknownMap)?;
        self.primitive(&len)?;
        self.compound("map", len)
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Compound<'s, 'a>, EncodeFailure> {
        self.compound(name, len)
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Compound<'s, 'a>, EncodeFailure> {
        self.primitive(&index)?;
        self.compound(variant, len)
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        false
    }
}

/// A container being written; it must write as many parts as it declared, for the peer reads so many.
struct Compound<'s, 'a> {
    sink: &'s mut Sink<'a>,
    name: &'static str,
    declared: usize,
    written: usize,
}

impl Compound<'_, '_> {
    #[inline]
    fn part<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeFailure> {
        self.written += 1;
        value.serialize(&mut *self.sink)
    }

    #[cold]
    fn skipped(&self, field: &'static str) -> EncodeFailure {
        let name = self.name;
        EncodeReason::Skipped { name, field }.into()
    }

    #[inline]
    fn close(self) -> Result<(), EncodeFailure> {
        let Compound { sink, name, declared, written } = self;
        if written != declared {
            return Err(EncodeReason::Count { name, declared, written }.into());
        }
        sink.depth += 1;
        Ok(())
    }
}

macro_rules! positional {
    ($($trait:ident $part:ident,)*) => {$(
        impl ser::$trait for Compound<'_, '_> {
            type Ok = ();
            type Error = EncodeFailure;

            #[inline]
            fn $part<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeFailure> {
                self.part(value)
            }

            #[inline]
            fn end(self) -> Result<(), EncodeFailure> {
                self.close()
            }
        }
    )*};
}

positional! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
}

macro_rules! named {
    ($($trait:ident,)*) => {$(
        impl ser::$trait for Compound<'_, '_> {
            type Ok = ();
            type Error = EncodeFailure;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                _key: &'static str,
                value: &T,
            ) -> Result<(), EncodeFailure> {
                self.part(value)
            }

            fn skip_field(&mut self, key: &'static str) -> Result<(), EncodeFailure> {
                Err(self.skipped(key))
            }

            #[inline]
            fn end(self) -> Result<(), EncodeFailure> {
                self.close()
            }
        }
    )*};
}

named! {
    SerializeStruct,
    SerializeStructVariant,
}

impl ser::SerializeMap for Compound<'_, '_> {
    type Ok = ();
    type Error = EncodeFailure;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), EncodeFailure> {
        self.part(key)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeFailure> {
        value.serialize(&mut *self.sink)
    }

    #[inline]
    fn end(self) -> Result<(), EncodeFailure> {
        self.close()
    }
}

/// The end of a body.
struct Output<'a>(&'a mut Vec<u8>);

impl Writer for Output<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

impl From<EncodeError> for EncodeFailure {
    #[cold]
    fn from(error: EncodeError) -> Self {
        EncodeReason::Custom(format!("bincode refuses the value: {error:?}").into()).into()
    }
}
