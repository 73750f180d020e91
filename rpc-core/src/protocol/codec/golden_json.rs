//! The text of JSON bodies, pinned.

use std::collections::BTreeMap;
use std::fmt::Debug;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::*;
use crate::RpcError;
use crate::arguments::Arguments;

#[track_caller]
fn pinned<T>(value: T, text: &str)
where
    T: Serialize + DeserializeOwned + Debug + PartialEq + 'static,
{
    let body = encode(Codec::Json, &value).unwrap().into_bytes();
    assert_eq!(str::from_utf8(&body).unwrap(), text);
    assert_eq!(decode::<T>(Codec::Json, &body).unwrap(), value);
    let mut encoder = Encoder::new(Codec::Json);
    encoder.push(&value).unwrap();
    assert_eq!(encoder.finish().into_bytes(), format!("[{text}]"));
    assert_eq!(serde_json::to_string(&value).unwrap(), text, "the guard writes what serde_json does");
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum State {
    Active,
    Moved(String),
    Split(u8, i8),
    Suspended { until: u64 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Id(u32);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Marker;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct User {
    id: Id,
    state: State,
    marker: Marker,
    parent: Option<Box<User>>,
}

#[test]
fn numbers_are_exact() {
    pinned(0u8, "0");
    pinned(-1i8, "-1");
    pinned(u64::MAX, "18446744073709551615");
    pinned(i64::MIN, "-9223372036854775808");
    pinned(u128::MAX, "340282366920938463463374607431768211455");
    pinned(i128::MIN, "-170141183460469231731687303715884105728");
    pinned(1.5f32, "1.5");
    pinned(0.1f32, "0.1");
    pinned(-2.0f64, "-2.0");
    pinned(f64::MIN_POSITIVE, "2.2250738585072014e-308");
    assert!(decode::<f64>(Codec::Json, &Bytes::from_static(b"-0.0")).unwrap().is_sign_negative());
}

#[test]
fn every_float_arrives_as_it_was() {
    let mut random = fastrand::Rng::with_seed(3);
    let arrives = |float: f64| {
        let body = encode(Codec::Json, &(float, float as f32)).unwrap().into_bytes();
        let (double, single) = decode::<(f64, f32)>(Codec::Json, &body).unwrap();
        double.to_bits() == float.to_bits() && single.to_bits() == (float as f32).to_bits()
    };
    for float in (0..20_000).map(|_| f64::from_bits(random.u64(..))) {
        let fits = float.is_finite() && (float as f32).is_finite();
        assert!(!fits || arrives(float), "{float:?}");
    }
}

#[test]
fn other_primitives() {
    pinned(true, "true");
    pinned((), "null");
    pinned('ü', "\"ü\"");
    pinned("a\"\n\u{1}🦀".to_owned(), r#""a\"\n\u0001🦀""#);
}

#[test]
fn bytes_are_arrays_of_numbers() {
    pinned(vec![1u8, 2, 255], "[1,2,255]");
    pinned(serde_bytes::ByteBuf::from([1, 2, 255]), "[1,2,255]");
    pinned(BTreeMap::from([(1u8, vec![0u8])]), r#"{"1":[0]}"#);
}

#[test]
fn containers() {
    pinned(None::<u8>, "null");
    pinned(Some(9u8), "9");
    pinned(Vec::<u8>::new(), "[]");
    pinned((1u8, -1i16, "a".to_owned()), r#"[1,-1,"a"]"#);
    pinned([1u16, 2, 3], "[1,2,3]");
    pinned(BTreeMap::<String, ()>::new(), "{}");
    pinned(BTreeMap::from([(-1i8, true), (7, false)]), r#"{"-1":true,"7":false}"#);
    pinned(BTreeMap::from([('x', false)]), r#"{"x":false}"#);
    pinned(BTreeMap::from([(true, 1u8)]), r#"{"true":1}"#);
    pinned(BTreeMap::from([(State::Active, 1u8)]), r#"{"Active":1}"#);
    pinned(vec![(), ()], "[null,null]");
}

#[test]
fn an_enum_is_the_name_of_the_variant_around_its_contents() {
    pinned(State::Active, r#""Active""#);
    pinned(State::Moved("b".into()), r#"{"Moved":"b"}"#);
    pinned(State::Split(7, -7), r#"{"Split":[7,-7]}"#);
    pinned(State::Suspended { until: 251 }, r#"{"Suspended":{"until":251}}"#);
    pinned(Err::<u8, String>("e".into()), r#"{"Err":"e"}"#);
}

#[test]
fn a_struct_is_an_object() {
    let parent = User { id: Id(1), state: State::Active, marker: Marker, parent: None };
    let user = User { id: Id(7), state: State::Split(1, 2), marker: Marker, parent: Some(Box::new(parent)) };
    let text = r#"{"id":7,"state":{"Split":[1,2]},"marker":null,"parent":{"id":1,"state":"Active","marker":null,"parent":null}}"#;
    pinned(user, text);
}

#[test]
fn types_that_bincode_cannot_carry_are_carried() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Loose {
        #[serde(skip_serializing_if = "Option::is_none")]
        nick: Option<String>,
        either: Either,
        #[serde(flatten)]
        rest: BTreeMap<String, u32>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u32),
        Text(String),
    }
    let rest = BTreeMap::from([("a".to_owned(), 1)]);
    pinned(Loose { nick: None, either: Either::Text("x".into()), rest }, r#"{"either":"x","a":1}"#);
    pinned(serde_json::json!({"a": [1, null, {"b": -2.5}]}), r#"{"a":[1,null,{"b":-2.5}]}"#);
}

#[test]
fn an_rpc_error_is_its_message() {
    let body = encode(Codec::Json, &RpcError::new("sold \"out\"")).unwrap().into_bytes();
    assert_eq!(body, r#""sold \"out\"""#);
    assert_eq!(decode::<RpcError>(Codec::Json, &body).unwrap().message(), "sold \"out\"");
}

#[test]
fn arguments_are_an_array() {
    type Three = (u32, (String, (Vec<u8>, ())));
    let three: Three = (7, ("seven".into(), (vec![7, 7], ())));
    let written = |arguments: &dyn Fn(&mut Encoder)| -> Bytes {
        let mut encoder = Encoder::new(Codec::Json);
        arguments(&mut encoder);
        encoder.finish().into_bytes()
    };
    assert_eq!(written(&|encoder| three.encode(encoder).unwrap()), r#"[7,"seven",[7,7]]"#);
    assert_eq!(written(&|encoder| ().encode(encoder).unwrap()), "[]");
    let read = |body: &'static str| {
        let body = Bytes::from_static(body.as_bytes());
        let mut decoder = Decoder::new(Codec::Json, &body);
        let read = Three::decode(&mut decoder).and_then(|three| decoder.finish().map(|()| three));
        read.map_err(|error| error.to_string())
    };
    assert_eq!(read(" [ 7 ,\n\"seven\"\t, [ 7,7]]\r\n").unwrap(), three);
    let faults = [
        ("", "argument 1: cannot decode `u32` at byte 0: the arguments are no array"),
        ("7", "at byte 0: the arguments are no array"),
        ("{}", "at byte 0: the arguments are no array"),
        ("[", "argument 1: cannot decode `u32` at byte 1: the body ends where a value is expected"),
        ("[]", "argument 1: cannot decode `u32` at byte 1: the array ends here, but the method takes more arguments"),
        ("[7]", "argument 2: cannot decode `alloc::string::String` at byte 2: the array ends here"),
        ("[7 7", "argument 2: cannot decode `alloc::string::String` at byte 3: expected `,` or `]`"),
        ("[7,]", "argument 2: cannot decode `alloc::string::String` at byte 4: expected value"),
        ("[\n7,\n8]", "argument 2: cannot decode `alloc::string::String` at byte 6: invalid type: integer `8`"),
        ("[-1]", "argument 1: cannot decode `u32` at byte 3: invalid value: integer `-1`, expected u32"),
        ("[7,\"a\",[]", "cannot decode `body` at byte 9: expected `,` or `]`"),
        ("[7,\"a\",[],0]", "cannot decode `body` at byte 9: the array holds more arguments than the method takes"),
        ("[7,\"a\",[]]]", "cannot decode `body` at byte 10: 1 bytes are left over"),
    ];
    for (body, fault) in faults {
        let error = read(body).unwrap_err();
        assert!(error.contains(fault), "{body}: {error} should say {fault}");
    }
    let finish =
        |body: &'static str| Decoder::new(Codec::Json, &body.into()).finish().map_err(|error| error.to_string());
    assert_eq!(finish(" [ ] "), Ok(()));
    assert!(finish("[1]").unwrap_err().contains("more arguments"));
    assert!(finish("").unwrap_err().contains("no array"));
}
