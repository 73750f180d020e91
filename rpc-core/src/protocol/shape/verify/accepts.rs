//! Types that write what they read, however they do it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{CString, OsString};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::num::{NonZeroI128, NonZeroU8, Wrapping};
use std::ops::{Bound, Range, RangeInclusive};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::protocol::shape::Shape;

fn accept<T: Serialize + DeserializeOwned>() -> String {
    let shape = Shape::of::<T>().unwrap();
    assert_eq!(shape.unknown, Vec::<String>::new());
    shape.text
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash, Clone, Copy, Default)]
enum Color {
    #[default]
    Red,
    Blue,
}

#[test]
fn what_serde_itself_carries() {
    #[derive(Serialize, Deserialize)]
    struct Plain(bool, i8, i16, i32, i64, i128, u8, u16, u32, u64, u128, f32, f64, char, usize, isize);
    #[derive(Serialize, Deserialize)]
    struct Texts(String, Box<str>, Cow<'static, str>, PathBuf, CString);
    #[derive(Serialize, Deserialize)]
    struct Numbers(Wrapping<u8>, NonZeroU8, NonZeroI128, AtomicU64, std::cmp::Reverse<i8>);
    #[derive(Serialize, Deserialize)]
    struct Times(Duration, SystemTime, Range<u8>, RangeInclusive<Color>, Bound<Color>);
    #[derive(Serialize, Deserialize)]
    struct Addresses(IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6);
    #[derive(Serialize, Deserialize)]
    struct Wrapped(Box<Color>, Cow<'static, [Color]>, PhantomData<Color>, Mutex<Color>, Option<()>, ());
    accept::<Plain>();
    accept::<Texts>();
    accept::<Numbers>();
    accept::<Times>();
    accept::<Addresses>();
    accept::<Wrapped>();
    // It has a variant for another system.
    assert!(Shape::of::<OsString>().is_ok());
}

#[test]
fn collections_arrays_and_tuples() {
    #[derive(Serialize, Deserialize)]
    struct Lists(Vec<Color>, VecDeque<u8>, LinkedList<Color>, BinaryHeap<u8>, Box<[Color]>);
    #[derive(Serialize, Deserialize)]
    struct Sets(BTreeSet<Color>, HashSet<Color>, BTreeMap<Color, Vec<Color>>, HashMap<String, Color>);
    type Twelve = (u8, u16, u32, u64, i8, i16, i32, i64, Color, String, bool, char);
    accept::<Lists>();
    accept::<Sets>();
    accept::<Twelve>();
    accept::<([Color; 0], [u8; 1], [Color; 32], [[u8; 3]; 2], (u8,))>();
    accept::<Result<Option<Result<Color, String>>, Vec<Result<u8, ()>>>>();
    accept::<Option<Option<Vec<Option<HashMap<u8, Option<Color>>>>>>>();
}

#[test]
fn byte_strings_of_any_kind() {
    #[derive(Serialize, Deserialize)]
    struct Bytes {
        plain: Vec<u8>,
        #[serde(with = "serde_bytes")]
        with: Vec<u8>,
        #[serde(serialize_with = "serde_bytes::serialize")]
        written: Vec<u8>,
        #[serde(deserialize_with = "serde_bytes::deserialize")]
        read: Vec<u8>,
        buffer: serde_bytes::ByteBuf,
        array: serde_bytes::ByteArray<16>,
    }
    accept::<Bytes>();
}

#[test]
fn structs_and_enums_of_every_form() {
    #[derive(Serialize, Deserialize)]
    struct Unit;
    #[derive(Serialize, Deserialize)]
    struct Empty {}
    #[derive(Serialize, Deserialize)]
    struct EmptyTuple();
    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Transparent {
        value: Color,
    }
    #[derive(Serialize, Deserialize)]
    enum Forms {
        Unit,
        EmptyTuple(),
        Empty {},
        Newtype(Color),
        Tuple(Color, Option<u8>),
        Struct { color: Color, maybe: Option<Transparent> },
        Nothing(()),
    }
    #[derive(Serialize, Deserialize)]
    struct Generic<T> {
        one: T,
        many: [Vec<T>; 2],
    }
    accept::<(Unit, Empty, EmptyTuple)>();
    accept::<Vec<Forms>>();
    accept::<(Generic<Color>, Generic<String>)>();
}

#[test]
fn attributes_that_hold_in_both_directions() {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Fields {
        #[serde(skip)]
        first: u8,
        long_name: u8,
        #[serde(skip)]
        middle: Vec<u8>,
        #[serde(rename = "other", default)]
        renamed: Option<Color>,
        #[serde(skip_serializing, skip_deserializing)]
        last: u8,
    }
    impl Default for Fields {
        fn default() -> Self {
            Fields { first: 1, long_name: 2, middle: vec![3], renamed: Some(Color::Blue), last: 4 }
        }
    }
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Variants {
        Old,
        #[serde(rename = "b")]
        New {
            #[serde(skip)]
            _hidden: u8,
            shown: u16,
        },
        #[serde(skip)]
        _Last,
    }
    #[derive(Serialize, Deserialize)]
    enum Open {
        One,
        Two,
        #[serde(other)]
        Other,
    }
    accept::<Fields>();
    accept::<Variants>();
    assert_eq!(accept::<Open>(), "value: enum\nvalue::One: unit\nvalue::Two: unit\nvalue::Other: unit\n");
}

#[test]
fn aliases_wherever_they_stand() {
    #[derive(Serialize, Deserialize)]
    struct Fields {
        #[serde(alias = "a", alias = "z")]
        name: String,
        #[serde(alias = "b")]
        age: u8,
        last: Variants,
    }
    #[derive(Serialize, Deserialize)]
    enum Variants {
        #[serde(alias = "Crimson")]
        Red,
        #[serde(alias = "Navy", alias = "Azure")]
        Blue,
        Green,
    }
    #[derive(Serialize, Deserialize)]
    enum Open {
        #[serde(alias = "Zero")]
        One,
        Two(u8),
        #[serde(other)]
        Other,
    }
    assert_eq!(
        accept::<Fields>(),
        "value: struct\n\
         value.name: str\n\
         value.age: u8\n\
         value.last: enum\n\
         value.last::Red: unit\n\
         value.last::Blue: unit\n\
         value.last::Green: unit\n"
    );
    assert_eq!(accept::<Open>(), "value: enum\nvalue::One: unit\nvalue::Two: u8\nvalue::Other: unit\n");
}

#[test]
fn conversions_through_a_type_of_the_same_shape() {
    #[derive(Serialize, Deserialize, Clone)]
    #[serde(from = "Pair", into = "Pair")]
    struct Both(u8, String);
    #[derive(Serialize, Deserialize)]
    struct Pair {
        number: u8,
        word: String,
    }
    impl From<Pair> for Both {
        fn from(pair: Pair) -> Self {
            Both(pair.number, pair.word)
        }
    }
    impl From<Both> for Pair {
        fn from(both: Both) -> Self {
            Pair { number: both.0, word: both.1 }
        }
    }
    #[derive(Serialize, Deserialize)]
    #[serde(try_from = "u8")]
    struct Even(u8);
    impl TryFrom<u8> for Even {
        type Error = String;
        fn try_from(value: u8) -> Result<Self, String> {
            (value > 0 && value.is_multiple_of(2)).then_some(Even(value)).ok_or_else(|| format!("{value} is odd"))
        }
    }
    accept::<(Both, Even)>();
}

mod text {
    use super::*;

    pub(super) fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[test]
fn modules_for_both_directions_and_for_foreign_types() {
    mod foreign {
        #[derive(Debug)]
        pub(super) struct Size {
            pub(super) width: u8,
            pub(super) height: u8,
        }
    }
    #[derive(Serialize, Deserialize)]
    #[serde(remote = "foreign::Size")]
    struct Size {
        width: u8,
        height: u8,
    }
    #[derive(Serialize, Deserialize)]
    struct Holder {
        #[serde(with = "text")]
        id: u64,
        #[serde(with = "Size")]
        size: foreign::Size,
    }
    assert!(accept::<Holder>().contains("value.id: str\nvalue.size: struct\nvalue.size.width: u8\n"));
}

#[test]
fn types_that_write_otherwise_for_people() {
    struct Id([u8; 4]);
    impl Serialize for Id {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if serializer.is_human_readable() {
                return serializer.collect_str(&format_args!("{:?}", self.0));
            }
            let mut tuple = serializer.serialize_tuple(4)?;
            self.0.iter().try_for_each(|byte| tuple.serialize_element(byte))?;
            tuple.end()
        }
    }
    impl<'de> Deserialize<'de> for Id {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            assert!(!deserializer.is_human_readable());
            <[u8; 4]>::deserialize(deserializer).map(Id)
        }
    }
    accept::<HashMap<u8, Option<Id>>>();
}

#[test]
fn types_that_contain_themselves() {
    #[derive(Serialize, Deserialize)]
    struct Tree {
        children: Vec<Tree>,
        named: HashMap<String, Tree>,
        state: State,
    }
    #[derive(Serialize, Deserialize)]
    enum State {
        Again(Box<State>, Option<Box<Tree>>),
        Both { left: Box<State>, right: Box<State> },
        End(Color),
    }
    accept::<Tree>();
}

#[test]
fn a_place_that_an_enum_decides() {
    struct Event(Result<u32, String>);
    impl Serialize for Event {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match &self.0 {
                Ok(number) => (Color::Red, number).serialize(serializer),
                Err(word) => (Color::Blue, word).serialize(serializer),
            }
        }
    }
    impl<'de> Deserialize<'de> for Event {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Event;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an event")
                }
                fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut parts: A) -> Result<Event, A::Error> {
                    Ok(Event(match parts.next_element()? {
                        Some(Color::Red) => Ok(parts.next_element()?.unwrap_or_default()),
                        _ => Err(parts.next_element()?.unwrap_or_default()),
                    }))
                }
            }
            deserializer.deserialize_tuple(2, Visitor)
        }
    }
    assert_eq!(accept::<Event>(), "value: (enum, u32 | str)\nvalue.0::Red: unit\nvalue.0::Blue: unit\n");
}
