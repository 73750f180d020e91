//! Whatever text arrives: no panic, no abort, no memory beyond what its bytes are worth.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use hostile::{Link, Tree, peak};
use rpc_core::Codec;
use rpc_core::generated::{DecodeError, Decoder, Encoder};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_bytes::ByteBuf;

mod hostile;

const ROUNDS: usize = 30_000;

type Rich = hostile::Rich<i64>;

fn rich() -> Rich {
    hostile::rich(-7)
}

fn decode<T: DeserializeOwned + 'static>(body: &Bytes) -> Result<T, DecodeError> {
    let mut decoder = Decoder::new(Codec::Json, body);
    let value = decoder.next()?;
    decoder.finish()?;
    Ok(value)
}

fn encode<T: Serialize + 'static>(value: &T) -> Bytes {
    let mut encoder = Encoder::new(Codec::Json);
    encoder.push(value).expect("the value is plain");
    encoder.finish().into_bytes()
}

#[test]
fn every_truncation_of_a_valid_body_is_an_error() {
    let body = encode(&rich());
    assert_eq!(decode::<Rich>(&body).unwrap(), rich());
    for end in 0..body.len() {
        assert!(decode::<Rich>(&body.slice(..end)).is_err(), "{end}");
    }
}

#[test]
fn a_million_brackets_are_an_error_and_not_a_stack_overflow() {
    for open in ["[", "{\"a\":", "{\"Node\":{\"children\":[", "{\"Pair\":["] {
        let body = Bytes::from(format!("[{}", open.repeat(1_000_000)));
        assert!(decode::<Tree>(&body).is_err());
        assert!(decode::<IgnoredAny>(&body).is_err());
        assert!(decode::<Rich>(&[&b"[{\"unknown\":"[..], &body].concat().into()).is_err());
    }
}

/// Decodes `body` as many types; an error is as good as a value.
fn try_all(body: Vec<u8>) {
    fn attempt<T: DeserializeOwned + 'static>(body: &Bytes) {
        let (_, held) = peak(|| decode::<T>(body).is_ok());
        let allowed = 128 * body.len() + 4_096;
        assert!(held <= allowed, "{} held {held} bytes for {body:?}", std::any::type_name::<T>());
    }
    let body = &Bytes::from(body);
    attempt::<Rich>(body);
    attempt::<Tree>(body);
    attempt::<Vec<Tree>>(body);
    attempt::<Link>(body);
    attempt::<Vec<u8>>(body);
    attempt::<ByteBuf>(body);
    attempt::<String>(body);
    attempt::<f64>(body);
    attempt::<Vec<Option<char>>>(body);
    attempt::<HashMap<u16, Vec<i128>>>(body);
    attempt::<Option<Vec<(bool, f64, String)>>>(body);
    attempt::<Vec<Vec<Vec<()>>>>(body);
    attempt::<Vec<SystemTime>>(body);
    attempt::<SocketAddr>(body);
    attempt::<BTreeMap<String, Result<u32, Duration>>>(body);
    attempt::<IgnoredAny>(body);
}

#[test]
fn random_bytes_never_panic() {
    let mut random = fastrand::Rng::with_seed(1);
    let words = [
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "\"",
        "\\",
        "\\u",
        "d800",
        "null",
        "true",
        "1",
        "-",
        "0.5",
        "1e9",
        "e",
        " ",
        "\n",
        "Leaf",
        "\"Node\":",
        "\"children\":",
        "\"a\"",
        "ü",
    ];
    for _ in 0..ROUNDS {
        let mut body = b"[".to_vec();
        for _ in 0..random.usize(..24) {
            match random.u8(..8) {
                0 => body.push(random.u8(..)),
                _ => body.extend(random.choice(words).expect("there are words").bytes()),
            }
        }
        try_all(body);
    }
}

#[test]
fn changed_bytes_never_panic() {
    let mut random = fastrand::Rng::with_seed(2);
    let valid = encode(&rich());
    for _ in 0..ROUNDS {
        let mut body = valid.to_vec();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..body.len());
            match random.u8(..5) {
                0 => body[at] ^= 1 << random.u8(..8),
                1 => body[at] = random.u8(..),
                2 => body[at] = *random.choice(b"[]{},:\"\\0-e").expect("there are bytes"),
                3 => body.truncate(at + 1),
                _ => body.insert(at, random.u8(..)),
            }
        }
        try_all(body);
    }
}
