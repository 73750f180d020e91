//! Writes one value.

use serde::ser::{self, Error as _};
use serde::{Serialize, Serializer};

use super::MAX_DEPTH;
use crate::protocol::codec::{EncodeFailure, EncodeReason};

/// Appends `value` to `body`; after an error the end of `body` is undefined.
pub(in crate::protocol) fn encode<T: Serialize>(value: &T, body: &mut Vec<u8>) -> Result<(), EncodeFailure> {
    value.serialize(&mut Sink { body, depth: MAX_DEPTH })
}

/// Where a value is written to.
struct Sink<'a> {
    body: &'a mut Vec<u8>,
    depth: usize,
}

impl<'a> Sink<'a> {
    /// A number, a text, a boolean or null, as serde_json writes it.
    fn primitive<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeFailure> {
        serde_json::to_writer(&mut *self.body, value).map_err(EncodeFailure::custom)
    }

    fn float<T: Serialize + Into<f64> + Copy>(&mut self, value: T) -> Result<(), EncodeFailure> {
        let number = value.into();
        if !number.is_finite() {
            return Err(EncodeReason::NotFinite { number }.into());
        }
        self.primitive(&value)
    }

    /// Goes deeper, until `depth` is increased by as much.
    fn enter(&mut self, levels: usize) -> Result<(), EncodeFailure> {
        match self.depth.checked_sub(levels) {
            None => Err(EncodeReason::Depth { limit: MAX_DEPTH }.into()),
            Some(depth) => {
                self.depth = depth;
                Ok(())
            }
        }
    }

    fn nested<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeFailure> {
        self.enter(1)?;
        value.serialize(&mut *self)?;
        self.depth += 1;
        Ok(())
    }

    fn compound(&mut self, open: u8, close: &'static str) -> Result<Compound<'_, 'a>, EncodeFailure> {
        self.enter(close.len())?;
        self.body.push(open);
        Ok(Compound { sink: self, close, first: true })
    }

    /// The contents of a variant, in an object whose key is its name.
    fn variant(
        &mut self,
        name: &'static str,
        open: u8,
        close: &'static str,
    ) -> Result<Compound<'_, 'a>, EncodeFailure> {
        self.body.push(b'{');
        self.primitive(name)?;
        self.body.push(b':');
        self.compound(open, close)
    }
}

macro_rules! primitives {
    ($($serialize:ident $type:ty,)*) => {$(
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
        serialize_char char,
        serialize_str &str,
    }

    fn serialize_f32(self, value: f32) -> Result<(), EncodeFailure> {
        self.float(value)
    }

    fn serialize_f64(self, value: f64) -> Result<(), EncodeFailure> {
        self.float(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), EncodeFailure> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), EncodeFailure> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), EncodeFailure> {
        let start = self.body.len();
        self.nested(value)?;
        if self.body[start..] == *b"null" {
            return Err(EncodeReason::SomeNull.into());
        }
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), EncodeFailure> {
        self.body.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), EncodeFailure> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), EncodeFailure> {
        self.nested(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), EncodeFailure> {
        self.nested(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), EncodeFailure> {
        let mut object = self.compound(b'{', "}")?;
        object.key(variant)?;
        object.value(value)?;
        object.close()
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Compound<'s, 'a>, EncodeFailure> {
        self.compound(b'[', "]")
    }

    fn serialize_tuple(self, _len: usize) -> Result<Compound<'s, 'a>, EncodeFailure> {
        self.compound(b'[', "]")
    }

    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Compound<'s, 'a>, EncodeFailure> {
        self.compound(b'[', "]")
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'s, 'a>, EncodeFailure> {
        self.variant(variant, b'[', "]}")
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Compound<'s, 'a>, EncodeFailure> {
        self.compound(b'{', "}")
    }

    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<Compound<'s, 'a>, EncodeFailure> {
        self.compound(b'{', "}")
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'s, 'a>, EncodeFailure> {
        self.variant(variant, b'{', "}}")
    }
}

/// A container being written, and the brackets that will close it, each one level.
struct Compound<'s, 'a> {
    sink: &'s mut Sink<'a>,
    close: &'static str,
    first: bool,
}

impl Compound<'_, '_> {
    fn separate(&mut self) {
        if !self.first {
            self.sink.body.push(b',');
        }
        self.first = false;
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeFailure> {
        self.separate();
        value.serialize(&mut *self.sink)
    }

    /// A key, which must be a text; numbers and booleans are put in quotes.
    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), EncodeFailure> {
        self.separate();
        let start = self.sink.body.len();
        key.serialize(&mut *self.sink)?;
        match self.sink.body[start] {
            b'"' => Ok(()),
            b'-' | b'0'..=b'9' | b't' | b'f' => {
                self.sink.body.insert(start, b'"');
                self.sink.body.push(b'"');
                Ok(())
            }
            _ => Err(EncodeReason::Key.into()),
        }
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeFailure> {
        self.sink.body.push(b':');
        value.serialize(&mut *self.sink)
    }

    fn close(self) -> Result<(), EncodeFailure> {
        self.sink.body.extend_from_slice(self.close.as_bytes());
        self.sink.depth += self.close.len();
        Ok(())
    }
}

macro_rules! arrays {
    ($($trait:ident $element:ident,)*) => {$(
        impl ser::$trait for Compound<'_, '_> {
            type Ok = ();
            type Error = EncodeFailure;

            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeFailure> {
                self.element(value)
            }

            fn end(self) -> Result<(), EncodeFailure> {
                self.close()
            }
        }
    )*};
}

arrays! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
}

macro_rules! objects {
    ($($trait:ident,)*) => {$(
        impl ser::$trait for Compound<'_, '_> {
            type Ok = ();
            type Error = EncodeFailure;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), EncodeFailure> {
                self.key(key)?;
                self.value(value)
            }

            fn end(self) -> Result<(), EncodeFailure> {
                self.close()
            }
        }
    )*};
}

objects! {
    SerializeStruct,
    SerializeStructVariant,
}

impl ser::SerializeMap for Compound<'_, '_> {
    type Ok = ();
    type Error = EncodeFailure;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), EncodeFailure> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeFailure> {
        self.value(value)
    }

    fn end(self) -> Result<(), EncodeFailure> {
        self.close()
    }
}
