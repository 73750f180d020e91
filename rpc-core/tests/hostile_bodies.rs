//! Whatever bytes arrive: no panic, no abort, no allocation sized by a number that is merely claimed.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use hostile::{Link, Tree, large_ones, peak};
use rpc_core::Codec;
use rpc_core::generated::{DecodeError, Decoder, Encoder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_bytes::ByteBuf;

mod hostile;

const ROUNDS: usize = 100_000;

type Rich = hostile::Rich<(u8, char)>;

fn rich() -> Rich {
    hostile::rich((1, 'x'))
}

fn decode<T: DeserializeOwned + 'static>(body: &Bytes) -> Result<T, DecodeError> {
    let mut decoder = Decoder::new(Codec::Bincode, body);
    let value = decoder.next()?;
    decoder.finish()?;
    Ok(value)
}

fn encode<T: Serialize + 'static>(value: &T) -> Bytes {
    let mut encoder = Encoder::new(Codec::Bincode);
    encoder.push(value).expect("the value is plain");
    encoder.finish().into_bytes()
}

/// A length of `claimed` in bincode's longest form, and a few bytes behind it.
fn claiming(claimed: u64) -> Bytes {
    let mut body = vec![0xfd];
    body.extend(claimed.to_le_bytes());
    body.extend([1; 20]);
    body.into()
}

#[track_caller]
fn refuses_claims<T: DeserializeOwned + Debug + 'static>() {
    for claimed in [1 << 32, 1 << 63, u64::MAX - 1, u64::MAX] {
        let body = claiming(claimed);
        let (result, held) = peak(|| decode::<T>(&body));
        let error = result.expect_err("nothing is there").to_string();
        assert!(error.contains("claims") || error.contains("missing"), "{error}");
        assert!(held < 1_024, "{held} bytes were held for: {error}");
    }
}

#[test]
fn many_bytes_cost_one_large_allocation_on_each_side() {
    // More than serde believes of a claimed length.
    let bytes: Vec<u8> = (0..4 << 20).map(|number: u32| number as u8).collect();
    let (body, encoding) = large_ones(|| encode(&bytes));
    let (decoded, decoding) = large_ones(|| decode::<Vec<u8>>(&body).unwrap());
    assert!(decoded == bytes);
    assert_eq!((encoding, decoding), (1, 1));
}

#[test]
fn many_bytes_in_a_shared_buffer_cost_no_large_allocation() {
    let bytes = Bytes::from(vec![7; 4 << 20]);
    let ((), encoding) = large_ones(|| {
        let mut encoder = Encoder::new(Codec::Bincode);
        encoder.push(&bytes).unwrap();
        drop(encoder.finish());
    });
    let body = encode(&bytes);
    let (decoded, decoding) = large_ones(|| decode::<Bytes>(&body).unwrap());
    assert!(decoded == bytes);
    assert_eq!((encoding, decoding), (0, 0));
}

#[test]
fn a_claimed_length_allocates_nothing() {
    refuses_claims::<Vec<u8>>();
    refuses_claims::<(Vec<u8>,)>();
    refuses_claims::<Vec<u64>>();
    refuses_claims::<Vec<()>>();
    refuses_claims::<Vec<[u64; 32]>>();
    refuses_claims::<String>();
    refuses_claims::<ByteBuf>();
    refuses_claims::<Bytes>();
    refuses_claims::<HashMap<u64, u64>>();
    refuses_claims::<HashMap<(), ()>>();
    refuses_claims::<BTreeMap<String, u64>>();
}

#[test]
fn a_claim_within_the_limit_allocates_by_the_bytes_that_are_there() {
    let mut body = vec![0xfb];
    body.extend(4_000u16.to_le_bytes());
    body.extend([0; 16]);
    let body = Bytes::from(body);
    let (result, held) = peak(|| decode::<Vec<[u64; 32]>>(&body));
    assert!(result.unwrap_err().to_string().contains("missing"));
    assert!(held < 16 * 256 + 1_024, "{held} bytes were held");
}

#[test]
fn elements_without_bytes_cannot_keep_a_thread_busy() {
    let billion = encode(&1_000_000_000u64);
    let error = decode::<Vec<()>>(&billion).unwrap_err();
    assert!(error.to_string().contains("claims 1000000000 elements"), "{error}");
    assert_eq!(decode::<Vec<()>>(&encode(&4_096u64)).unwrap().len(), 4_096);
}

#[test]
fn the_elements_of_all_sequences_of_a_body_are_counted_together() {
    let many: Vec<Vec<()>> = vec![vec![(); 200]; 100];
    let error = decode::<Vec<Vec<()>>>(&encode(&many)).unwrap_err();
    assert!(error.to_string().contains("elements"), "{error}");
    let mut encoder = Encoder::new(Codec::Bincode);
    encoder.push(&vec![(); 4_000]).unwrap();
    encoder.push(&vec![(); 4_000]).unwrap();
    let body = encoder.finish().into_bytes();
    let mut decoder = Decoder::new(Codec::Bincode, &body);
    assert!(decoder.next::<Vec<()>>().is_ok());
    assert!(decoder.next::<Vec<()>>().is_err());
}

#[test]
fn deep_nesting_is_an_error_and_not_a_stack_overflow() {
    let error = decode::<Link>(&vec![1; 200_000].into()).unwrap_err();
    assert!(error.to_string().contains("deeper than 128 levels"), "{error}");
    let chain = |length: usize| (0..length).fold(Link(None), |inner, _| Link(Some(inner.into())));
    // A newtype and an option for each link, and a newtype at the end.
    let deepest = encode(&chain(63));
    assert!(decode::<Link>(&deepest).is_ok());
    let mut deeper = vec![1u8; 64];
    deeper.push(0);
    assert!(decode::<Link>(&deeper.into()).is_err());
    assert!(decode::<Tree>(&vec![2; 200_000].into()).is_err());
    assert!(decode::<Tree>(&[3, 1].repeat(100_000).into()).is_err());
}

#[test]
fn every_truncation_of_a_valid_body_is_an_error() {
    let body = encode(&rich());
    assert_eq!(decode::<Rich>(&body).unwrap(), rich());
    for end in 0..body.len() {
        assert!(decode::<Rich>(&body.slice(..end)).is_err(), "{end}");
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
    attempt::<Bytes>(body);
    attempt::<String>(body);
    attempt::<Vec<Option<char>>>(body);
    attempt::<HashMap<u16, Vec<i128>>>(body);
    attempt::<Option<Vec<(bool, f64, String)>>>(body);
    attempt::<Vec<Vec<Vec<()>>>>(body);
    attempt::<Vec<SystemTime>>(body);
    attempt::<SocketAddr>(body);
    attempt::<BTreeMap<String, Result<u32, Duration>>>(body);
}

#[test]
fn random_bytes_never_panic() {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..ROUNDS {
        let length = random.usize(..96);
        // Small bytes are tags and lengths more often than large ones.
        let small = random.bool();
        let body: Vec<u8> = (0..length).map(|_| if small { random.u8(..6) } else { random.u8(..) }).collect();
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
                2 => body[at] = random.u8(250..),
                3 => body.truncate(at + 1),
                _ => body.insert(at, random.u8(..)),
            }
        }
        try_all(body);
    }
}
