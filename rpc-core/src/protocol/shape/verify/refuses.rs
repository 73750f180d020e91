//! Types that write something else than they read.

#![expect(dead_code, reason = "what one direction skips is only read")]

use std::collections::HashMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::protocol::shape::Shape;

fn refusal<T: Serialize + DeserializeOwned>() -> String {
    Shape::of::<T>().unwrap_err().to_string()
}

/// Around a type, to see that it is found wherever it is.
#[derive(Serialize, Deserialize)]
struct Holder<T> {
    id: u8,
    extra: HashMap<u8, Vec<Option<T>>>,
}

#[test]
fn a_skipped_variant_before_others() {
    #[derive(Serialize, Deserialize)]
    enum First {
        #[serde(skip)]
        _A,
        B,
        C,
    }
    #[derive(Serialize, Deserialize)]
    enum Middle {
        A,
        #[serde(skip)]
        _B,
        C {
            field: u8,
        },
    }
    assert_eq!(
        refusal::<First>(),
        "`value`: `Deserialize` reads variant `B` as number 0 where `Serialize` writes it as number 1; \
         move a skipped variant behind all others, and skip it in both directions"
    );
    let refusal = refusal::<Holder<Middle>>();
    assert!(refusal.starts_with("`value.extra{value}[]?`: `Deserialize` reads variant `C` as number 1"), "{refusal}");
}

#[test]
fn a_variant_that_one_direction_skips() {
    #[derive(Serialize, Deserialize)]
    enum Unread {
        A,
        #[serde(skip_deserializing)]
        _B,
        C,
    }
    #[derive(Serialize, Deserialize)]
    enum Unwritten {
        A,
        #[serde(skip_serializing)]
        B,
    }
    assert!(refusal::<Unread>().contains("reads variant `C` as number 1 where `Serialize` writes it as number 2"));
    let error = Shape::of::<Option<Unwritten>>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`value?`: `Serialize` refuses a value that `Deserialize` makes; \
         skip variants in both directions, and let both refuse the same"
    );
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("Unwritten::B"), "{source}");
}

#[test]
fn a_field_that_one_direction_skips() {
    #[derive(Serialize, Deserialize)]
    struct Unread {
        a: u8,
        #[serde(skip_deserializing)]
        b: u8,
        c: u8,
    }
    #[derive(Serialize, Deserialize)]
    struct Unwritten {
        a: u8,
        #[serde(skip_serializing, default)]
        b: u8,
        c: u8,
    }
    #[derive(Serialize, Deserialize)]
    enum LastUnwritten {
        Variant {
            a: u8,
            #[serde(skip_serializing)]
            b: u8,
        },
    }
    #[derive(Serialize, Deserialize)]
    struct Tuple(u8, #[serde(skip_serializing)] u16, u32);
    assert_eq!(
        refusal::<Unread>(),
        "`value`: `Deserialize` reads field `c` where `Serialize` writes field `b`; \
         use `skip` and `rename` for both directions alike, and the same order"
    );
    assert!(refusal::<Unwritten>().contains("reads field `b` where `Serialize` writes field `c`"));
    let text = refusal::<LastUnwritten>();
    assert!(
        text.starts_with("`value::Variant`: `Deserialize` reads field `b` where `Serialize` writes nothing"),
        "{text}"
    );
    let text = refusal::<Tuple>();
    assert!(text.contains("reads a tuple or array of 3 where `Serialize` writes a tuple or array of 2"), "{text}");
}

#[test]
fn a_field_that_is_left_out_when_it_is_empty() {
    #[derive(Serialize, Deserialize)]
    struct Item {
        #[serde(skip_serializing_if = "Option::is_none")]
        nick: Option<String>,
        id: u8,
    }
    #[derive(Serialize, Deserialize)]
    enum Event {
        Nothing,
        Listed {
            #[serde(skip_serializing_if = "Vec::is_empty")]
            items: Vec<u8>,
        },
    }
    assert_eq!(
        refusal::<Item>(),
        "`value`: `Deserialize` reads field `nick` where `Serialize` writes nothing; remove `skip_serializing_if`"
    );
    let text = refusal::<Holder<Item>>();
    assert!(text.starts_with("`value.extra{value}[]?`: `Deserialize` reads field `nick`"), "{text}");
    let text = refusal::<Holder<Event>>();
    assert!(text.starts_with("`value.extra{value}[]?::Listed`: `Deserialize` reads field `items`"), "{text}");
}

#[test]
fn a_name_for_one_direction() {
    #[derive(Serialize, Deserialize)]
    struct Fields {
        #[serde(rename(serialize = "x"))]
        a: u8,
    }
    #[derive(Serialize, Deserialize)]
    struct Swapped {
        #[serde(rename(serialize = "b"))]
        a: u8,
        #[serde(rename(serialize = "a"))]
        b: u8,
    }
    #[derive(Serialize, Deserialize)]
    enum Variants {
        A,
        #[serde(rename(deserialize = "X"))]
        B,
    }
    #[derive(Serialize, Deserialize)]
    enum Moved {
        #[serde(rename(serialize = "B"))]
        A,
        #[serde(rename(serialize = "A"))]
        B,
    }
    #[derive(Serialize, Deserialize)]
    enum Twice {
        #[serde(rename(serialize = "B"))]
        A,
        B,
    }
    assert!(refusal::<Fields>().contains("reads field `a` where `Serialize` writes field `x`"));
    assert!(refusal::<Swapped>().contains("reads field `a` where `Serialize` writes field `b`"));
    assert_eq!(
        refusal::<Variants>(),
        "`value`: `Deserialize` reads variant `X` as number 1 where `Serialize` writes variant `B`; \
         use `rename` and `skip` for both directions alike"
    );
    assert!(refusal::<Moved>().contains("reads variant `A` as number 0 where `Serialize` writes it as number 1"));
    let text = refusal::<Twice>();
    assert!(
        text.contains(
            "reads variant `B` as number 1 where `Serialize` writes variant `B`, and as number 0 variant `B`"
        ),
        "{text}"
    );
}

#[test]
fn a_function_for_one_direction() {
    fn to_text<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }
    fn narrow<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        u32::deserialize(deserializer).map(u64::from)
    }
    fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        <[u8; 2]>::deserialize(deserializer).map(Vec::from)
    }
    fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
        u8::deserialize(deserializer).map(Some)
    }
    #[derive(Serialize, Deserialize)]
    struct Written {
        #[serde(serialize_with = "to_text")]
        id: u64,
    }
    #[derive(Serialize, Deserialize)]
    struct Read {
        #[serde(deserialize_with = "narrow")]
        id: u64,
    }
    #[derive(Serialize, Deserialize)]
    struct Length(#[serde(deserialize_with = "one")] Vec<u8>, u8);
    #[derive(Serialize, Deserialize)]
    struct Maybe(#[serde(deserialize_with = "some")] Option<u8>, u8);
    assert_eq!(
        refusal::<Written>(),
        "`value.id`: `Deserialize` reads u64 where `Serialize` writes str; \
         use one type for both, and `with` rather than `serialize_with` or `deserialize_with` alone"
    );
    assert!(refusal::<Read>().starts_with("`value.id`: `Deserialize` reads u32 where `Serialize` writes u64;"));
    let text = refusal::<Length>();
    assert!(
        text.starts_with("`value.0`: `Deserialize` reads a tuple or array of 2 where `Serialize` writes a seq"),
        "{text}"
    );
    assert!(refusal::<Maybe>().starts_with("`value.0`: `Deserialize` reads u8 where `Serialize` writes an option;"));
}

#[test]
fn conversions_through_types_of_different_shapes() {
    #[derive(Serialize, Deserialize)]
    #[serde(from = "Old")]
    struct New {
        name: String,
        age: u8,
    }
    #[derive(Deserialize)]
    struct Old {
        name: String,
    }
    impl From<Old> for New {
        fn from(old: Old) -> Self {
            New { name: old.name, age: 0 }
        }
    }
    #[derive(Serialize, Deserialize, Clone)]
    #[serde(into = "String")]
    struct Number(u8);
    impl From<Number> for String {
        fn from(number: Number) -> Self {
            number.0.to_string()
        }
    }
    #[derive(Serialize, Deserialize)]
    #[serde(try_from = "(u8, u8)")]
    struct Pair {
        first: u8,
        second: u8,
    }
    impl TryFrom<(u8, u8)> for Pair {
        type Error = String;
        fn try_from((first, second): (u8, u8)) -> Result<Self, String> {
            (first > 0).then_some(Pair { first, second }).ok_or_else(|| "zero".to_owned())
        }
    }
    assert!(refusal::<New>().contains("reads no more fields where `Serialize` writes field `age`"));
    assert!(refusal::<Number>().contains("reads u8 where `Serialize` writes str"));
    assert!(refusal::<Pair>().contains("reads a tuple or array of 2 where `Serialize` writes a struct"));
}

#[test]
fn a_flattened_field_that_is_only_written() {
    #[derive(Serialize)]
    struct Flat {
        id: u8,
        #[serde(flatten)]
        rest: HashMap<String, u8>,
    }
    #[derive(Deserialize)]
    struct Plain {
        id: u8,
        rest: HashMap<String, u8>,
    }
    struct Mixed(Plain);
    impl Serialize for Mixed {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            Flat { id: self.0.id, rest: self.0.rest.clone() }.serialize(serializer)
        }
    }
    impl<'de> Deserialize<'de> for Mixed {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Plain::deserialize(deserializer).map(Mixed)
        }
    }
    assert!(refusal::<Mixed>().contains("reads a struct where `Serialize` writes a map"));
}

#[test]
fn what_is_unknown_is_not_compared() {
    struct Never;
    impl Serialize for Never {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str("never")
        }
    }
    impl<'de> Deserialize<'de> for Never {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            u16::deserialize(deserializer)?;
            Err(serde::de::Error::custom("refused"))
        }
    }
    #[derive(Serialize, Deserialize)]
    struct Hidden {
        never: Never,
        #[serde(skip_serializing)]
        behind: u8,
    }
    assert_eq!(Shape::of::<Option<Hidden>>().unwrap().unknown, ["value?.behind"]);
}
