//! The tracing deserializer: notes each question, and answers with a probe value.

use std::any::type_name;
use std::fmt::{self, Display};

use serde::de::{Deserializer, Visitor};

use super::access::{Elements, Entries, Parts, Variant};
use super::definition::{Form, Identity, Kind};
use super::probe;
use super::trace::{Failure, Trace};

/// A run could not go on here; [`Trace`] knows why.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failed;

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the type refuses the probe value")
    }
}

impl std::error::Error for Failed {}

impl serde::de::Error for Failed {
    fn custom<T: Display>(_message: T) -> Self {
        Failed
    }
}

/// Deserializes the value of the innermost place.
pub(super) struct Tracer<'t, 'a> {
    pub(super) trace: &'t mut Trace<'a>,
}

impl Tracer<'_, '_> {
    fn leaf(&mut self, name: &'static str) -> usize {
        self.trace.record(Form::Leaf(name));
        self.trace.probe()
    }

    fn open<V>(
        &mut self,
        kind: Kind,
        name: &'static str,
        names: &'static [&'static str],
        parts: usize,
    ) -> (usize, bool) {
        self.trace.open(Identity { kind, visitor: type_name::<V>(), name, names, parts })
    }

    /// A struct or tuple: all places in turn.
    pub(super) fn parts<'de, V: Visitor<'de>>(
        mut self,
        kind: Kind,
        name: &'static str,
        names: &'static [&'static str],
        count: usize,
        visitor: V,
    ) -> Result<V::Value, Failed> {
        let (id, open) = self.open::<V>(kind, name, names, count);
        let trace = self.trace;
        if open && !trace.definitions[id].built {
            return Err(trace.fail(Failure::Recursion));
        }
        let mut parts = Parts { trace, id, next: 0, count };
        parts.trace.quiet += usize::from(open);
        let result = visitor.visit_seq(&mut parts);
        parts.trace.quiet -= usize::from(open);
        if result.is_ok() {
            let Parts { trace, next, .. } = parts;
            trace.built(id, next);
        }
        result
    }
}

macro_rules! leaves {
    ($($deserialize:ident $visit:ident $name:literal $value:expr;)*) => {$(
        fn $deserialize<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Failed> {
            let probe = self.leaf($name);
            visitor.$visit($value(probe))
        }
    )*};
}

impl<'de> Deserializer<'de> for Tracer<'_, '_> {
    type Error = Failed;

    leaves! {
        deserialize_bool visit_bool "bool" probe::boolean;
        deserialize_i8 visit_i8 "i8" |probe| probe::integer(probe) as i8;
        deserialize_i16 visit_i16 "i16" |probe| probe::integer(probe) as i16;
        deserialize_i32 visit_i32 "i32" |probe| probe::integer(probe) as i32;
        deserialize_i64 visit_i64 "i64" probe::integer;
        deserialize_i128 visit_i128 "i128" |probe| i128::from(probe::integer(probe));
        deserialize_u8 visit_u8 "u8" |probe| probe::integer(probe) as u8;
        deserialize_u16 visit_u16 "u16" |probe| probe::integer(probe) as u16;
        deserialize_u32 visit_u32 "u32" |probe| probe::integer(probe) as u32;
        deserialize_u64 visit_u64 "u64" |probe| probe::integer(probe) as u64;
        deserialize_u128 visit_u128 "u128" |probe| probe::integer(probe) as u128;
        deserialize_f32 visit_f32 "f32" |probe| probe::float(probe) as f32;
        deserialize_f64 visit_f64 "f64" probe::float;
        deserialize_char visit_char "char" probe::character;
        deserialize_str visit_borrowed_str "str" probe::text;
        deserialize_string visit_borrowed_str "str" probe::text;
        deserialize_bytes visit_borrowed_bytes "bytes" probe::bytes;
        deserialize_byte_buf visit_borrowed_bytes "bytes" probe::bytes;
    }

    fn deserialize_option<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Failed> {
        let (id, open) = self.open::<V>(Kind::Option, "", &[], 1);
        let trace = self.trace;
        let wanted = wants_some(trace, id);
        if open || !wanted {
            return visitor.visit_none();
        }
        let result = trace.within(id, 0, |trace| visitor.visit_some(Tracer { trace }));
        if result.is_err() {
            trace.avoid(id, 0);
            trace.fail(Failure::Again);
        }
        result
    }

    fn deserialize_unit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Failed> {
        self.leaf("unit");
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Failed> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Failed> {
        self.trace.nested(|trace| visitor.visit_newtype_struct(Tracer { trace }))
    }

    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Failed> {
        let (id, open) = self.open::<V>(Kind::Sequence, "", &[], 1);
        let explores = !open && self.trace.explores(id, 0);
        let left = self.trace.length().max(usize::from(explores));
        visitor.visit_seq(Elements { trace: self.trace, id, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Failed> {
        self.parts(Kind::Tuple, "", &[], len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Failed> {
        self.parts(Kind::Tuple, name, &[], len, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Failed> {
        let (id, open) = self.open::<V>(Kind::Map, "", &[], 2);
        let explores = !open && (self.trace.explores(id, 0) || self.trace.explores(id, 1));
        let left = self.trace.length().max(usize::from(explores));
        visitor.visit_map(Entries { trace: self.trace, id, left })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failed> {
        self.parts(Kind::Struct, name, fields, fields.len(), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failed> {
        let (id, open) = self.open::<V>(Kind::Enum, name, variants, variants.len());
        let trace = self.trace;
        let choice = if open || trace.quiet > 0 {
            trace.definitions[id].shortest.ok_or(Failure::Recursion)
        } else {
            trace.definitions[id].turn += 1;
            trace.choose(id)
        };
        let index = choice.map_err(|failure| trace.fail(failure))?;
        trace.quiet += usize::from(open);
        let result = visitor.visit_enum(Variant { trace, id, index });
        trace.quiet -= usize::from(open);
        if result.is_err() && trace.failure.is_some() {
            trace.avoid(id, index);
            // Another variant may do.
            if !open && trace.quiet == 0 {
                let failure = trace.choose(id).err().unwrap_or(Failure::Again);
                trace.fail(failure);
            }
        }
        result
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Failed> {
        Err(self.trace.refuse(
            "a self-describing encoding (an untagged or internally tagged enum, a json value)",
            "a plain enum or struct",
        ))
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Failed> {
        Err(self
            .trace
            .refuse("names in the bytes (`#[serde(flatten)]`, an adjacently tagged enum)", "plain fields and enums"))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Failed> {
        Err(self.trace.refuse("values that can be skipped", "a type that reads all its fields"))
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// Whether an option should hold something: to see what, or because its absence was refused.
fn wants_some(trace: &mut Trace<'_>, id: usize) -> bool {
    trace.explores(id, 0) || trace.quiet == 0 && probe::boolean(trace.probe())
}
