//! The hash key of one argument.
//!
//! The same value gives the same key from every process, whatever codec its bodies have: strings and characters are their
//! UTF-8, integers their decimal text, booleans `true` or `false`, a newtype is what it holds, all else its bincode bytes.

use std::fmt::{self, Display};

use bytes::Bytes;
use serde::ser::{self, Impossible};
use serde::{Serialize, Serializer};

use crate::body::Body;
use crate::protocol::codec::{self, Codec, EncodeError};

/// The hash key of `value`.
///
/// # Errors
///
/// If `value` is neither text nor number, and bincode cannot carry it.
pub(crate) fn of<T: Serialize + 'static>(value: &T) -> Result<Bytes, EncodeError> {
    if let Ok(text) = value.serialize(Text) {
        return Ok(text.into());
    }
    codec::encode(Codec::Bincode, value).map(Body::into_bytes)
}

/// Serializes values that have a plain text, and refuses all others.
struct Text;

/// The value has no plain text.
#[derive(Debug)]
struct NoText;

impl Display for NoText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value has no plain text")
    }
}

impl std::error::Error for NoText {}

impl ser::Error for NoText {
    fn custom<T: Display>(_message: T) -> Self {
        NoText
    }
}

macro_rules! texts {
    ($($serialize:ident $type:ty,)*) => {$(
        fn $serialize(self, value: $type) -> Result<String, NoText> {
            Ok(value.to_string())
        }
    )*};
}

macro_rules! refusals {
    ($($serialize:ident ($($type:ty),*) -> $ok:ty;)*) => {$(
        fn $serialize(self, $(_: $type),*) -> Result<$ok, NoText> {
            Err(NoText)
        }
    )*};
}

impl Serializer for Text {
    type Ok = String;
    type Error = NoText;
    type SerializeSeq = Impossible<String, NoText>;
    type SerializeTuple = Impossible<String, NoText>;
    type SerializeTupleStruct = Impossible<String, NoText>;
    type SerializeTupleVariant = Impossible<String, NoText>;
    type SerializeMap = Impossible<String, NoText>;
    type SerializeStruct = Impossible<String, NoText>;
    type SerializeStructVariant = Impossible<String, NoText>;

    texts! {
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

    refusals! {
        serialize_f32(f32) -> String;
        serialize_f64(f64) -> String;
        serialize_bytes(&[u8]) -> String;
        serialize_none() -> String;
        serialize_unit() -> String;
        serialize_unit_struct(&'static str) -> String;
        serialize_unit_variant(&'static str, u32, &'static str) -> String;
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _value: &T) -> Result<String, NoText> {
        Err(NoText)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<String, NoText> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> Result<String, NoText> {
        Err(NoText)
    }

    /// As the codec, or a type could give another value here than there.
    fn is_human_readable(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key<T: Serialize + 'static>(value: T) -> Vec<u8> {
        of(&value).unwrap().to_vec()
    }

    #[derive(Serialize)]
    struct UserId(u64);

    #[derive(Serialize)]
    struct Tenant(Option<UserId>);

    #[test]
    fn text_is_its_utf8() {
        assert_eq!(key("grün"), "grün".as_bytes());
        assert_eq!(key(String::new()), b"");
        assert_eq!(key('ü'), "ü".as_bytes());
    }

    #[test]
    fn an_integer_is_its_decimal_text_whatever_its_width() {
        assert_eq!(key(300u16), b"300");
        assert_eq!(key(300u64), b"300");
        assert_eq!(key(-5i8), b"-5");
        assert_eq!(key(i128::MIN), b"-170141183460469231731687303715884105728");
        assert_eq!(key(true), b"true");
    }

    #[test]
    fn a_newtype_is_what_it_holds() {
        assert_eq!(key(UserId(42)), b"42");
    }

    #[test]
    fn all_else_is_its_bincode_bytes() {
        assert_eq!(key(Some("a")), [1, 1, b'a']);
        assert_eq!(key(Tenant(Some(UserId(42)))), [1, 42]);
        assert_eq!(key((1u8, "a")), [1, 1, b'a']);
        assert_eq!(key(1.0f32), 1.0f32.to_le_bytes());
        assert_eq!(key(vec![1u8, 2]), [2, 1, 2]);
    }
}
