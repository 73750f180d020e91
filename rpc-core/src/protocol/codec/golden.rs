//! The bytes of bincode bodies, pinned, so that another encoder of the same bytes could take its place.

use std::collections::BTreeMap;
use std::fmt::Debug;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::*;

#[track_caller]
fn pinned<T>(value: T, bytes: &[u8])
where
    T: Serialize + DeserializeOwned + Debug + PartialEq + 'static,
{
    let mut encoder = Encoder::new(Codec::Bincode);
    encoder.push(&value).unwrap();
    assert_eq!(encoder.finish().into_bytes(), bytes, "{value:?}");
    let body = Bytes::copy_from_slice(bytes);
    let mut decoder = Decoder::new(Codec::Bincode, &body);
    assert_eq!(decoder.next::<T>().unwrap(), value);
    decoder.finish().unwrap();
    let plain = bincode::serde::encode_to_vec(&value, bincode::config::standard()).unwrap();
    assert_eq!(plain, bytes, "the guard writes what bincode does");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
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
    name: String,
    state: State,
    marker: Marker,
    parent: Option<Box<User>>,
}

#[test]
fn unsigned_integers_grow_with_their_value() {
    pinned(0u8, &[0]);
    pinned(255u8, &[255]);
    pinned(250u16, &[250]);
    pinned(251u16, &[251, 251, 0]);
    pinned(65_535u32, &[251, 255, 255]);
    pinned(65_536u32, &[252, 0, 0, 1, 0]);
    pinned(1u64 << 32, &[253, 0, 0, 0, 0, 1, 0, 0, 0]);
    pinned(u64::MAX, &[253, 255, 255, 255, 255, 255, 255, 255, 255]);
    pinned(300usize, &[251, 44, 1]);
    pinned(1u128, &[1]);
    pinned(u128::MAX, &[254, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255]);
}

#[test]
fn signed_integers_alternate_around_zero() {
    pinned(-1i8, &[255]);
    pinned(0i16, &[0]);
    pinned(-1i16, &[1]);
    pinned(1i32, &[2]);
    pinned(-126i32, &[251, 251, 0]);
    pinned(i64::MIN, &[253, 255, 255, 255, 255, 255, 255, 255, 255]);
    pinned(-2i128, &[3]);
}

#[test]
fn other_primitives() {
    pinned(true, &[1]);
    pinned(false, &[0]);
    pinned(1.5f32, &[0, 0, 192, 63]);
    pinned(-2.0f64, &[0, 0, 0, 0, 0, 0, 0, 192]);
    pinned('a', &[97]);
    pinned('ü', &[195, 188]);
    pinned('🦀', &[240, 159, 166, 128]);
    pinned((), &[]);
}

#[test]
fn strings_and_bytes_follow_their_length() {
    pinned(String::new(), &[0]);
    pinned("grün".to_owned(), &[5, 103, 114, 195, 188, 110]);
    pinned(vec![1u8, 2, 255], &[3, 1, 2, 255]);
    pinned(serde_bytes::ByteBuf::from([1, 2, 255]), &[3, 1, 2, 255]);
    let mut long = vec![251, 44, 1];
    long.extend([7; 300]);
    pinned(vec![7u8; 300], &long);
}

#[test]
fn containers() {
    pinned(vec![1u32, 300], &[2, 1, 251, 44, 1]);
    pinned(None::<u8>, &[0]);
    pinned(Some(9u8), &[1, 9]);
    pinned((1u8, -1i16, "a".to_owned()), &[1, 1, 1, 97]);
    pinned([1u16, 2, 3], &[1, 2, 3]);
    pinned(BTreeMap::from([("k".to_owned(), 258u64)]), &[1, 1, 107, 251, 2, 1]);
    pinned(BTreeMap::from([(1u8, vec![2u8]), (3, vec![])]), &[2, 1, 1, 2, 3, 0]);
}

#[test]
fn an_enum_begins_with_the_number_of_the_variant() {
    pinned(State::Active, &[0]);
    pinned(State::Moved("b".into()), &[1, 1, 98]);
    pinned(State::Split(7, -7), &[2, 7, 249]);
    pinned(State::Suspended { until: 251 }, &[3, 251, 251, 0]);
    pinned(Ok::<u8, String>(4), &[0, 4]);
    pinned(Err::<u8, String>("e".into()), &[1, 1, 101]);
}

#[test]
fn a_struct_is_its_fields() {
    let parent = User { id: Id(1), name: "p".into(), state: State::Active, marker: Marker, parent: None };
    let user = User {
        id: Id(70_000),
        name: "u".into(),
        state: State::Suspended { until: 1 },
        marker: Marker,
        parent: Some(Box::new(parent)),
    };
    pinned(user, &[252, 112, 17, 1, 0, 1, 117, 3, 1, 1, 1, 1, 112, 0, 0]);
}
