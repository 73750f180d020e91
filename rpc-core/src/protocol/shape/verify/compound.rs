//! Containers being written.

use serde::Serialize;
use serde::ser;

use super::written::Found;
use super::{Disagreement, Walk};
use crate::protocol::shape::definition::{Definition, Form};

const FIELDS: &str = "use `skip` and `rename` for both directions alike, and the same order";
const LEFT_OUT: &str = "remove `skip_serializing_if`";
const DECLARED: &str = "let `Serialize` declare what it writes";

/// A container being written; it must write as many parts as it declares and as are read.
#[derive(Debug)]
pub(super) struct Compound<'w, 'd> {
    walk: &'w mut Walk<'d>,
    found: Found,
    declared: usize,
    written: usize,
    /// The names up to here in the list of fields have been passed.
    passed: usize,
    of_variant: bool,
}

impl<'w, 'd> Compound<'w, 'd> {
    pub(super) fn new(walk: &'w mut Walk<'d>, found: Found, declared: usize) -> Self {
        Compound { walk, found, declared, written: 0, passed: 0, of_variant: false }
    }

    /// The container is the content of a variant, which is left with it.
    pub(super) fn of_variant(self) -> Self {
        Compound { of_variant: true, ..self }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Disagreement> {
        self.written += 1;
        match self.found {
            Found::Unknown => Ok(()),
            Found::Leaf => self.walk.value(&[Form::Leaf("u8")], value),
            Found::Type(id) => self.walk.part(id, 0, value),
        }
    }

    fn part<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Disagreement> {
        let part = self.written;
        self.written += 1;
        match self.found {
            Found::Type(id) if part < self.declared => self.walk.part(id, part, value),
            _ => Ok(()),
        }
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Disagreement> {
        let part = self.written;
        self.written += 1;
        let Found::Type(id) = self.found else {
            return Ok(());
        };
        let definition = &self.walk.definitions[id];
        // An alias stands beside its name in the list.
        let furthest = part + definition.parts.len() - definition.asked;
        match definition.listed(name) {
            Some(listed) if part < definition.asked && (self.passed..=furthest).contains(&listed) => {
                self.passed = listed + 1;
            }
            _ => {
                let read = self.expected(definition, part);
                return Err(Disagreement::differs(read, format!("field `{name}`"), FIELDS));
            }
        }
        definition.parts[part].written.set(Some(name));
        self.walk.part(id, part, value)
    }

    fn expected(&self, definition: &Definition, part: usize) -> String {
        match definition.parts.get(self.passed) {
            Some(next) if part < definition.asked => format!("field `{}`", next.name),
            _ => "no more fields".to_owned(),
        }
    }

    fn skipped(&self, name: &'static str) -> Result<(), Disagreement> {
        match self.found {
            Found::Unknown => Ok(()),
            _ => Err(Disagreement::differs(format!("field `{name}`"), "nothing", LEFT_OUT)),
        }
    }

    fn close_fields(self) -> Result<(), Disagreement> {
        if let Found::Type(id) = self.found {
            let definition = &self.walk.definitions[id];
            if self.written < definition.asked {
                return Err(Disagreement::differs(self.expected(definition, self.written), "nothing", FIELDS));
            }
        }
        self.close()
    }

    fn close(self) -> Result<(), Disagreement> {
        let Compound { declared, written, .. } = self;
        if !matches!(self.found, Found::Unknown) && written != declared {
            let read = format!("the {declared} parts that are declared");
            return Err(Disagreement::differs(read, written, DECLARED));
        }
        if self.of_variant {
            self.walk.stack.pop();
        }
        Ok(())
    }
}

macro_rules! compounds {
    ($($trait:ident { $write:ident => $method:ident($($key:ident)?), $close:ident $(, $skip:ident)? })*) => {$(
        impl ser::$trait for Compound<'_, '_> {
            type Ok = ();
            type Error = Disagreement;

            fn $write<T: Serialize + ?Sized>(
                &mut self,
                $($key: &'static str,)?
                value: &T,
            ) -> Result<(), Disagreement> {
                self.$method($($key,)? value)
            }

            $(fn $skip(&mut self, key: &'static str) -> Result<(), Disagreement> {
                self.skipped(key)
            })?

            fn end(self) -> Result<(), Disagreement> {
                self.$close()
            }
        }
    )*};
}

compounds! {
    SerializeSeq { serialize_element => element(), close }
    SerializeTuple { serialize_element => part(), close }
    SerializeTupleStruct { serialize_field => part(), close }
    SerializeTupleVariant { serialize_field => part(), close }
    SerializeStruct { serialize_field => field(key), close_fields, skip_field }
    SerializeStructVariant { serialize_field => field(key), close_fields, skip_field }
}

impl ser::SerializeMap for Compound<'_, '_> {
    type Ok = ();
    type Error = Disagreement;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Disagreement> {
        self.element(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Disagreement> {
        match self.found {
            Found::Type(id) => self.walk.part(id, 1, value),
            Found::Unknown | Found::Leaf => Ok(()),
        }
    }

    fn end(self) -> Result<(), Disagreement> {
        self.close()
    }
}
