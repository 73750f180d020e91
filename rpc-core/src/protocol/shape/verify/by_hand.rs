//! A `Serialize` by hand that disagrees with its `Deserialize`.

use std::collections::HashMap;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::protocol::shape::Shape;

fn refusal<T: Serialize + DeserializeOwned>() -> String {
    Shape::of::<T>().unwrap_err().to_string()
}

/// Reads what `T` reads, and writes as `W` says.
struct ByHand<T, W>(T, PhantomData<W>);

trait Write<T> {
    fn write<S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error>;
}

impl<T, W: Write<T>> Serialize for ByHand<T, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        W::write(&self.0, serializer)
    }
}

impl<'de, T: Deserialize<'de>, W> Deserialize<'de> for ByHand<T, W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| ByHand(value, PhantomData))
    }
}

macro_rules! by_hand {
    ($name:ident, $type:ty, |$value:ident, $serializer:ident| $write:expr) => {
        struct $name;
        impl Write<$type> for $name {
            fn write<S: Serializer>($value: &$type, $serializer: S) -> Result<S::Ok, S::Error> {
                $write
            }
        }
    };
}

#[test]
fn is_told_by_place_with_both_sides() {
    #[derive(Deserialize)]
    struct Point {
        x: u8,
        y: u8,
    }
    #[derive(Deserialize, Serialize, Clone, Copy)]
    enum Color {
        Red,
        Blue,
    }
    by_hand!(Reversed, Point, |point, serializer| {
        let mut point_writer = serializer.serialize_struct("Point", 2)?;
        point_writer.serialize_field("y", &point.y)?;
        point_writer.serialize_field("x", &point.x)?;
        point_writer.end()
    });
    by_hand!(Shorter, Point, |point, serializer| {
        let mut point_writer = serializer.serialize_struct("Point", 1)?;
        point_writer.serialize_field("x", &point.x)?;
        point_writer.serialize_field("y", &point.y)?;
        point_writer.end()
    });
    by_hand!(Counted, Vec<u8>, |bytes, serializer| {
        let mut sequence = serializer.serialize_seq(Some(bytes.len() + 1))?;
        bytes.iter().try_for_each(|byte| sequence.serialize_element(byte))?;
        sequence.end()
    });
    by_hand!(Uncounted, Vec<u8>, |bytes, serializer| serializer.collect_seq(bytes.iter().filter(|byte| **byte > 0)));
    by_hand!(Wider, Vec<u8>, |bytes, serializer| serializer.collect_seq(bytes.iter().map(|byte| u16::from(*byte))));
    by_hand!(Elements, serde_bytes::ByteBuf, |_bytes, serializer| [1u16].as_slice().serialize(serializer));
    by_hand!(Number, Color, |color, serializer| (*color as u32).serialize(serializer));
    by_hand!(Unwrapped, Option<u8>, |value, serializer| value.unwrap_or_default().serialize(serializer));
    by_hand!(Outside, Color, |_color, serializer| serializer.serialize_unit_variant("Color", 2, "Green"));
    by_hand!(Content, Color, |_color, serializer| serializer.serialize_newtype_variant("Color", 0, "Red", &7u8));
    by_hand!(Pairs, HashMap<u8, String>, |map, serializer| serializer
        .collect_map(map.iter().map(|(key, value)| (value, key))));

    let cases = [
        (refusal::<ByHand<Point, Reversed>>(), "reads field `x` where `Serialize` writes field `y`"),
        (refusal::<ByHand<Point, Shorter>>(), "reads the 1 parts that are declared where `Serialize` writes 2"),
        (refusal::<ByHand<Vec<u8>, Counted>>(), "reads the 2 parts that are declared where `Serialize` writes 1"),
        (
            refusal::<ByHand<Vec<u8>, Uncounted>>(),
            "reads a sequence where `Serialize` writes a sequence of unknown length",
        ),
        (refusal::<ByHand<Vec<u8>, Wider>>(), "`value[]`: `Deserialize` reads u8 where `Serialize` writes u16"),
        (refusal::<ByHand<serde_bytes::ByteBuf, Elements>>(), "reads u8 where `Serialize` writes u16"),
        (refusal::<ByHand<Color, Number>>(), "reads an enum where `Serialize` writes u32"),
        (refusal::<ByHand<Option<u8>, Unwrapped>>(), "reads an option where `Serialize` writes u8"),
        (refusal::<ByHand<Color, Outside>>(), "reads no variant of number 2 where `Serialize` writes `Green`"),
        (refusal::<ByHand<Color, Content>>(), "`value::Red`: `Deserialize` reads unit where `Serialize` writes u8"),
        (
            refusal::<ByHand<HashMap<u8, String>, Pairs>>(),
            "`value{key}`: `Deserialize` reads u8 where `Serialize` writes str",
        ),
    ];
    for (text, expected) in cases {
        assert!(text.contains(expected), "{text}\ndoes not say: {expected}");
    }
}
