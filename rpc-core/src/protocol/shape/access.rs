//! The inside of containers, for the tracing deserializer.

use serde::de::{DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::definition::{Form, Kind};
use super::trace::{Failure, Trace};
use super::tracer::{Failed, Tracer};

/// The fields of a struct or tuple.
pub(super) struct Parts<'t, 'a> {
    pub(super) trace: &'t mut Trace<'a>,
    pub(super) id: usize,
    pub(super) next: usize,
    pub(super) count: usize,
}

impl<'de> SeqAccess<'de> for &mut Parts<'_, '_> {
    type Error = Failed;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Failed> {
        if self.next == self.count {
            return Ok(None);
        }
        let part = self.next;
        self.next += 1;
        self.trace.within(self.id, part, |trace| seed.deserialize(Tracer { trace })).map(Some)
    }
}

/// The elements of a sequence, which ends where an element fails.
pub(super) struct Elements<'t, 'a> {
    pub(super) trace: &'t mut Trace<'a>,
    pub(super) id: usize,
    pub(super) left: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_, '_> {
    type Error = Failed;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Failed> {
        element(self.trace, self.id, &mut self.left, seed)
    }
}

/// The entries of a map, which ends where a key fails.
pub(super) struct Entries<'t, 'a> {
    pub(super) trace: &'t mut Trace<'a>,
    pub(super) id: usize,
    pub(super) left: usize,
}

impl<'de> MapAccess<'de> for Entries<'_, '_> {
    type Error = Failed;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Failed> {
        element(self.trace, self.id, &mut self.left, seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Failed> {
        let result = self.trace.within(self.id, 1, |trace| seed.deserialize(Tracer { trace }));
        if result.is_err() {
            // The next run leaves the map empty.
            self.trace.avoid(self.id, 1);
            self.trace.fail(Failure::Again);
        }
        result
    }
}

fn element<'de, T: DeserializeSeed<'de>>(
    trace: &mut Trace<'_>,
    id: usize,
    left: &mut usize,
    seed: T,
) -> Result<Option<T::Value>, Failed> {
    if *left == 0 {
        return Ok(None);
    }
    *left -= 1;
    match trace.within(id, 0, |trace| seed.deserialize(Tracer { trace })) {
        Ok(value) => Ok(Some(value)),
        Err(Failed) => {
            trace.avoid(id, 0);
            trace.failure = None;
            *left = 0;
            Ok(None)
        }
    }
}

/// One variant of an enum.
pub(super) struct Variant<'t, 'a> {
    pub(super) trace: &'t mut Trace<'a>,
    pub(super) id: usize,
    pub(super) index: usize,
}

impl Variant<'_, '_> {
    fn content<R>(self, run: impl FnOnce(Tracer<'_, '_>) -> Result<R, Failed>) -> Result<R, Failed> {
        self.trace.within(self.id, self.index, |trace| run(Tracer { trace }))
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, '_> {
    type Error = Failed;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Failed> {
        let deserializer = IntoDeserializer::<Failed>::into_deserializer(self.index as u32);
        match seed.deserialize(deserializer) {
            Ok(value) => Ok((value, self)),
            Err(Failed) => {
                // serde lists an alias as a variant of its own; it has no index.
                self.trace.absent(self.id, self.index);
                Err(Failed)
            }
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, '_> {
    type Error = Failed;

    fn unit_variant(self) -> Result<(), Failed> {
        self.content(|tracer| {
            tracer.trace.record(Form::Leaf("unit"));
            Ok(())
        })
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Failed> {
        self.content(|tracer| seed.deserialize(tracer))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Failed> {
        self.content(|tracer| tracer.parts(Kind::Tuple, "", &[], len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Failed> {
        self.content(|tracer| tracer.parts(Kind::Struct, "", fields, fields.len(), visitor))
    }
}
