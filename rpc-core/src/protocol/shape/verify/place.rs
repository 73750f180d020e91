//! One place, and the serializer for what is written there.

use serde::{Serialize, Serializer};

use super::compound::Compound;
use super::written::{Found, Written};
use super::{Disagreement, Walk};
use crate::protocol::shape::definition::Form;

const SAME_TYPE: &str = "use one type for both, and `with` rather than `serialize_with` or `deserialize_with` alone";
const UNKNOWN_LENGTH: &str = "collect it first, and use no `#[serde(flatten)]`";

/// Takes the value of one place.
#[derive(Debug)]
pub(super) struct Place<'w, 'd> {
    pub(super) walk: &'w mut Walk<'d>,
    pub(super) forms: &'d [Form],
}

impl<'w, 'd> Place<'w, 'd> {
    pub(super) fn find(&self, written: Written) -> Result<Found, Disagreement> {
        if self.forms.is_empty() {
            return Ok(Found::Unknown);
        }
        let definitions = self.walk.definitions;
        let mut fitting = self.forms.iter().filter(|form| form.fits(written, definitions));
        match (fitting.next(), fitting.next()) {
            (None, _) => {
                let read: Vec<_> = self.forms.iter().map(|form| form.describe(definitions)).collect();
                Err(Disagreement::differs(read.join(" or "), written.describe(), SAME_TYPE))
            }
            (Some(Form::Leaf(_)), None) => Ok(Found::Leaf),
            (Some(Form::Type(id)), None) if definitions[*id].is_known() => Ok(Found::Type(*id)),
            _ => Ok(Found::Unknown),
        }
    }

    fn leaf(&self, name: &'static str) -> Result<(), Disagreement> {
        self.find(Written::Leaf(name)).map(drop)
    }

    pub(super) fn compound(self, written: Written, len: usize) -> Result<Compound<'w, 'd>, Disagreement> {
        let found = self.find(written)?;
        Ok(Compound::new(self.walk, found, len))
    }

    fn sized(self, written: Written, len: Option<usize>) -> Result<Compound<'w, 'd>, Disagreement> {
        let Some(len) = len else {
            self.find(written)?;
            let unsized_one = format!("{} of unknown length", written.describe());
            return Err(Disagreement::differs(written.describe(), unsized_one, UNKNOWN_LENGTH));
        };
        self.compound(written, len)
    }
}

macro_rules! leaves {
    ($($serialize:ident $type:ty, $name:literal;)*) => {$(
        fn $serialize(self, _value: $type) -> Result<(), Disagreement> {
            self.leaf($name)
        }
    )*};
}

impl<'w, 'd> Serializer for Place<'w, 'd> {
    type Ok = ();
    type Error = Disagreement;
    type SerializeSeq = Compound<'w, 'd>;
    type SerializeTuple = Compound<'w, 'd>;
    type SerializeTupleStruct = Compound<'w, 'd>;
    type SerializeTupleVariant = Compound<'w, 'd>;
    type SerializeMap = Compound<'w, 'd>;
    type SerializeStruct = Compound<'w, 'd>;
    type SerializeStructVariant = Compound<'w, 'd>;

    leaves! {
        serialize_bool bool, "bool";
        serialize_i8 i8, "i8";
        serialize_i16 i16, "i16";
        serialize_i32 i32, "i32";
        serialize_i64 i64, "i64";
        serialize_i128 i128, "i128";
        serialize_u8 u8, "u8";
        serialize_u16 u16, "u16";
        serialize_u32 u32, "u32";
        serialize_u64 u64, "u64";
        serialize_u128 u128, "u128";
        serialize_f32 f32, "f32";
        serialize_f64 f64, "f64";
        serialize_char char, "char";
        serialize_str &str, "str";
        serialize_bytes &[u8], "bytes";
    }

    fn serialize_none(self) -> Result<(), Disagreement> {
        self.find(Written::Option).map(drop)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Disagreement> {
        match self.find(Written::Option)? {
            Found::Type(id) => self.walk.part(id, 0, value),
            Found::Unknown | Found::Leaf => Ok(()),
        }
    }

    fn serialize_unit(self) -> Result<(), Disagreement> {
        self.leaf("unit")
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Disagreement> {
        self.leaf("unit")
    }

    fn serialize_unit_variant(self, name: &'static str, index: u32, variant: &'static str) -> Result<(), Disagreement> {
        self.serialize_newtype_variant(name, index, variant, &())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Disagreement> {
        self.walk.value(self.forms, value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Disagreement> {
        match self.variant(index, variant)? {
            Some((id, index)) => self.walk.part(id, index, value),
            None => Ok(()),
        }
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Compound<'w, 'd>, Disagreement> {
        self.sized(Written::Sequence, len)
    }

    fn serialize_tuple(self, len: usize) -> Result<Compound<'w, 'd>, Disagreement> {
        self.compound(Written::Tuple(len), len)
    }

    fn serialize_tuple_struct(self, _name: &'static str, len: usize) -> Result<Compound<'w, 'd>, Disagreement> {
        self.compound(Written::Tuple(len), len)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Compound<'w, 'd>, Disagreement> {
        self.within_variant(index, variant, Written::Tuple(len), len)
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Compound<'w, 'd>, Disagreement> {
        self.sized(Written::Map, len)
    }

    fn serialize_struct(self, _name: &'static str, len: usize) -> Result<Compound<'w, 'd>, Disagreement> {
        self.compound(Written::Struct, len)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Compound<'w, 'd>, Disagreement> {
        self.within_variant(index, variant, Written::Struct, len)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}
