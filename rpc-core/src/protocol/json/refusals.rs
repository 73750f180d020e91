//! What is refused in both directions.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::protocol::codec::{Codec, Decoder, Encoder, decode, encode};

#[track_caller]
fn unwritable<T: Serialize + 'static>(value: T) -> String {
    let mut encoder = Encoder::new(Codec::Json);
    encoder.push(&7u8).unwrap();
    let error = encoder.push(&value).unwrap_err();
    assert_eq!(encoder.finish().into_bytes(), "[7]", "a failed push leaves no bytes");
    error.to_string()
}

#[track_caller]
fn unreadable<T: DeserializeOwned + Debug + 'static>(body: impl Into<Bytes>) -> String {
    decode::<T>(Codec::Json, &body.into()).unwrap_err().to_string()
}

/// Knows no field.
#[derive(Debug, Deserialize)]
struct Nothing {}

#[derive(Debug, Deserialize)]
struct Id {
    #[expect(dead_code, reason = "never decoded")]
    number: u32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Tree {
    Leaf,
    Node(Vec<Tree>),
    Pair(Box<Tree>, u8),
    Named { tree: Box<Tree> },
}

#[derive(Debug, Serialize, Deserialize)]
struct Link(Option<Box<Link>>);

/// Nests by options alone.
#[derive(Debug)]
struct Deep(usize);

impl Serialize for Deep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            0 => serializer.serialize_u8(7),
            rest => serializer.serialize_some(&Deep(rest - 1)),
        }
    }
}

impl<'de> Deserialize<'de> for Deep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::<Deep>::deserialize(deserializer).map(|inner| inner.unwrap_or(Deep(0)))
    }
}

#[test]
fn what_would_arrive_as_another_value_is_not_written() {
    assert_eq!(unwritable(f64::NAN), "cannot encode `f64`: NaN is no number in json");
    assert!(unwritable(vec![1.0, f32::INFINITY]).contains("inf is no number"));
    assert!(unwritable(Some(None::<u8>)).contains("json writes `Some` of what is null like `None`"));
    assert!(unwritable(vec![Some(())]).contains("like `None`"));
}

#[test]
fn a_key_that_is_no_text_is_not_written() {
    assert!(unwritable(HashMap::from([((1u8, 2u8), 3u8)])).contains("a key of a map is neither text"));
    assert!(unwritable(BTreeMap::from([(None::<u8>, 3u8)])).contains("a key of a map"));
    assert!(unwritable(BTreeMap::from([(Ok::<u8, u8>(1), 3u8)])).contains("a key of a map"));
}

#[test]
fn a_decoder_that_failed_fails_again() {
    let body = Bytes::from_static("[\"ü\u{2028}\", 1".as_bytes());
    let mut decoder = Decoder::new(Codec::Json, &body);
    for _ in 0..4 {
        assert!(decoder.next::<u64>().is_err());
    }
    assert!(decoder.finish().is_err());
}

#[test]
fn wrong_text_says_what_is_wrong_and_where() {
    assert_eq!(
        unreadable::<(u8, bool)>("[1,7]"),
        "cannot decode `(u8, bool)` at byte 4: invalid type: integer `7`, expected a boolean"
    );
    assert!(unreadable::<Id>("{}").contains("missing field `number`"));
    assert!(unreadable::<Tree>("\"Gone\"").contains("unknown variant `Gone`, expected one of"));
    assert!(unreadable::<f64>("null").contains("invalid type: null, expected f64"));
    assert!(unreadable::<f64>("NaN").contains("expected value"));
    assert!(unreadable::<f64>("1e999").contains("number out of range"));
    assert!(unreadable::<u8>("1 2").contains("1 bytes are left over"));
    assert!(unreadable::<u8>("").contains("the body ends"));
    assert!(unreadable::<String>(r#""\ud800""#).contains("hex escape"));
}

#[test]
fn a_text_is_not_taken_for_bytes() {
    let error = unreadable::<serde_bytes::ByteBuf>("\"AQL/\"");
    assert!(error.contains("invalid type: string \"AQL/\", expected byte array"), "{error}");
}

#[test]
fn bytes_that_are_no_utf8_are_refused_where_they_are_skipped_too() {
    let error = unreadable::<String>(b"\"a\xff\"".as_slice());
    assert_eq!(error, "cannot decode `alloc::string::String` at byte 2: a string is not utf-8");
    assert!(unreadable::<Nothing>(b"{\"a\":\"\xff\"}".as_slice()).contains("utf-8"));
    assert!(unreadable::<Nothing>(b"{}\xff".as_slice()).contains("utf-8"));
}

#[test]
fn a_type_within_itself_that_needs_no_byte_for_a_level_does_not_overflow_the_stack() {
    assert!(unreadable::<Link>("1").contains("deeper than 127 levels"));
    assert!(unreadable::<Deep>("1").contains("deeper than 127 levels"));
    assert_eq!(encode(Codec::Json, &Deep(127)).unwrap().into_bytes(), "7");
    assert!(unwritable(Deep(128)).contains("deeper than 127 levels"));
}

#[test]
fn what_is_written_at_the_limit_is_read_and_what_is_deeper_is_refused() {
    let wraps: [fn(Tree) -> Tree; 3] = [
        |tree| Tree::Node(vec![tree]),
        |tree| Tree::Pair(Box::new(tree), 0),
        |tree| Tree::Named { tree: Box::new(tree) },
    ];
    for wrap in wraps {
        let chain = |length: usize| (0..length).fold(Tree::Leaf, |inner, _| wrap(inner));
        // A variant and its contents for each, and the leaf.
        let body = encode(Codec::Json, &chain(63)).unwrap().into_bytes();
        assert_eq!(decode::<Tree>(Codec::Json, &body).unwrap(), chain(63));
        assert!(unwritable(chain(64)).contains("deeper than 127 levels"));
        let deeper = serde_json::to_string(&chain(64)).unwrap();
        assert!(decode::<Tree>(Codec::Json, &deeper.into()).is_err());
    }
}

#[test]
fn deep_nesting_is_refused_where_it_is_skipped_too() {
    let unknown = |depth: usize| format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(decode::<Nothing>(Codec::Json, &unknown(126).into()).is_ok());
    for depth in [127, 128, 200_000] {
        assert!(decode::<Nothing>(Codec::Json, &unknown(depth).into()).is_err(), "{depth}");
    }
}

#[test]
fn the_text_of_an_error_does_not_grow_with_the_body() {
    assert!(unreadable::<u8>(format!("\"{}\"", "ü".repeat(1 << 20))).len() < 1_000);
}
