//! How far the tracing reaches into types, and where it ends.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_bytes::ByteArray;

use super::*;

fn text<T: Serialize + DeserializeOwned>() -> String {
    let shape = Shape::of::<T>().unwrap();
    assert_eq!(shape.unknown, Vec::<String>::new());
    shape.text
}

#[derive(Serialize, Deserialize)]
enum Color {
    Red,
    Blue,
}

#[test]
fn every_variant_of_every_enum_is_found() {
    #[derive(Serialize, Deserialize)]
    struct Holder {
        first: Outer,
        maybe: Option<Outer>,
        many: HashMap<Kind, Vec<(Kind, Outer)>>,
    }
    #[derive(Serialize, Deserialize)]
    enum Outer {
        Inner(Option<Kind>),
        Deep { kinds: Vec<Option<Box<Inner>>> },
    }
    #[derive(Serialize, Deserialize)]
    enum Inner {
        Back(Box<Outer>),
        Kind(Kind),
        Last(bool),
    }
    #[derive(Serialize, Deserialize, PartialEq, Eq, Hash)]
    enum Kind {
        One,
        Two(u16),
        Three { deep: Option<u8> },
    }
    let text = text::<Holder>();
    for path in [
        "value.first::Inner: option<enum>",
        "value.first::Inner?::Three.deep: option<u8>",
        "value.maybe?::Deep.kinds[]?::Last: bool",
        "value.many{value}[].1::Deep.kinds[]?::Kind::Two: u16",
        "value.many{value}[].0::Two: u16",
        "value.many{key}::One: unit",
        "value.first::Deep.kinds[]?::Back: ^value.first",
    ] {
        assert!(text.contains(path), "{path} is not in\n{text}");
    }
}

#[test]
fn types_that_check_their_values_are_seen_through() {
    #[derive(Serialize, Deserialize)]
    struct Checked {
        address: IpAddr,
        socket: SocketAddr,
        count: NonZeroU32,
        time: SystemTime,
        elapsed: Duration,
        percent: Percent,
        words: NonEmpty,
        id: ByteArray<16>,
        present: Present,
        last: bool,
    }
    #[derive(Serialize, Deserialize)]
    #[serde(try_from = "u8")]
    struct Percent(u8);
    impl TryFrom<u8> for Percent {
        type Error = String;
        fn try_from(value: u8) -> Result<Self, String> {
            (50..=100).contains(&value).then_some(Percent(value)).ok_or_else(|| "out of range".to_owned())
        }
    }
    #[derive(Serialize, Deserialize)]
    #[serde(try_from = "Vec<String>")]
    struct NonEmpty(Vec<String>);
    impl TryFrom<Vec<String>> for NonEmpty {
        type Error = &'static str;
        fn try_from(words: Vec<String>) -> Result<Self, &'static str> {
            match words.as_slice() {
                [] => Err("empty"),
                _ => Ok(NonEmpty(words)),
            }
        }
    }
    struct Present(Color);
    impl Serialize for Present {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_some(&self.0)
        }
    }
    impl<'de> Deserialize<'de> for Present {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            match Option::deserialize(deserializer).map_err(D::Error::custom)? {
                Some(Color::Blue) => Ok(Present(Color::Blue)),
                _ => Err(D::Error::custom("only blue is allowed")),
            }
        }
    }
    let text = text::<Checked>();
    for line in [
        "value.address::V6: [u8; 16]",
        "value.socket::V4: ([u8; 4], u16)",
        "value.count: u32",
        "value.time.nanos_since_epoch: u32",
        "value.elapsed.secs: u64",
        "value.percent: u8",
        "value.words: seq<str>",
        "value.id: bytes",
        "value.present?::Blue: unit",
        "value.last: bool",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[derive(Serialize)]
struct Never(u16);
impl<'de> Deserialize<'de> for Never {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u16::deserialize(deserializer)?;
        Err(D::Error::custom("refused"))
    }
}

#[test]
fn a_type_that_refuses_all_values_hides_the_rest_of_its_struct() {
    #[derive(Serialize, Deserialize)]
    struct Outer {
        before: Color,
        hiding: Vec<Hiding>,
        option: Option<Never>,
        after: Color,
        last: Hiding,
        behind: u8,
    }
    #[derive(Serialize, Deserialize)]
    struct Hiding {
        seen: Option<Color>,
        never: Never,
        hidden: u64,
    }
    let shape = Shape::of::<Outer>().unwrap();
    assert_eq!(
        shape.text,
        "value: struct\n\
         value.before: enum\n\
         value.before::Red: unit\n\
         value.before::Blue: unit\n\
         value.hiding: seq<struct>\n\
         value.hiding[].seen: option<enum>\n\
         value.hiding[].seen?::Red: unit\n\
         value.hiding[].seen?::Blue: unit\n\
         value.hiding[].never: u16\n\
         value.hiding[].hidden: ?\n\
         value.option: option<u16>\n\
         value.after: enum\n\
         value.after::Red: unit\n\
         value.after::Blue: unit\n\
         value.last: struct\n\
         value.last.seen: option<enum>\n\
         value.last.seen?::Red: unit\n\
         value.last.seen?::Blue: unit\n\
         value.last.never: u16\n\
         value.last.hidden: ?\n\
         value.behind: ?\n"
    );
    assert_eq!(shape.unknown, ["value.hiding[].hidden", "value.last.hidden", "value.behind"]);
}

#[test]
fn self_describing_types_are_refused_by_place() {
    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u32),
        Word(String),
    }
    #[derive(Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        One { number: u32 },
    }
    #[derive(Serialize, Deserialize)]
    #[serde(tag = "kind", content = "content")]
    enum Adjacent {
        Number(u32),
    }
    #[derive(Serialize, Deserialize)]
    struct Flat {
        id: u8,
        #[serde(flatten)]
        rest: HashMap<String, u8>,
    }
    #[derive(Serialize, Deserialize)]
    struct Holder<T> {
        id: u8,
        extra: Option<Vec<T>>,
    }
    let refusal = Shape::of::<Holder<Either>>().unwrap_err().to_string();
    assert!(refusal.starts_with("`value.extra?[]` needs a self-describing"), "{refusal}");
    assert!(Shape::of::<Tagged>().is_err());
    assert!(Shape::of::<Adjacent>().is_err());
    let refusal = Shape::of::<Flat>().unwrap_err().to_string();
    assert!(refusal.contains("flatten"), "{refusal}");
    assert!(Shape::of::<Holder<serde_json::Value>>().is_err());
}

#[test]
fn a_type_of_any_size_ends() {
    #[derive(Serialize, Deserialize)]
    struct Twice<T>(Box<T>, Box<T>);
    type Four<T> = Twice<Twice<Twice<Twice<T>>>>;
    #[derive(Serialize, Deserialize)]
    struct Leaf {
        value: u8,
    }
    let shape = Shape::of::<Four<Four<Four<Four<Four<Leaf>>>>>>().unwrap();
    assert!(!shape.unknown.is_empty());
    assert!(shape.text.len() < 4 << 20, "{}", shape.text.len());

    struct Endless(Box<Endless>);
    impl Serialize for Endless {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            (1u8, &self.0).serialize(serializer)
        }
    }
    impl<'de> Deserialize<'de> for Endless {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            <(u8, Endless)>::deserialize(deserializer).map(|(_, inner)| Endless(Box::new(inner)))
        }
    }
    assert_eq!(Shape::of::<Endless>().unwrap().text, "value: (u8, ^value)\n");
}

#[test]
fn a_type_nested_as_deep_as_it_compiles_is_followed() {
    type Two<T> = Option<Box<Vec<(T, u8)>>>;
    type Eight<T> = Two<Two<Two<Two<T>>>>;
    let text = text::<Eight<Eight<Eight<u8>>>>();
    assert_eq!(text.matches("option").count(), 12, "{text}");
}
