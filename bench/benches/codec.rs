//! The codec alone, as generated code uses it.

#![allow(missing_docs, reason = "criterion's macros")]

use std::hint::black_box;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rpc::Codec;
use rpc::generated::{Body, Decoder, Encoder};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A small argument.
#[derive(Serialize, Deserialize)]
struct User {
    id: u64,
    name: String,
    tags: Vec<String>,
    active: bool,
}

fn encode<T: Serialize + 'static>(value: &T) -> Body {
    let mut encoder = Encoder::new(Codec::Bincode);
    encoder.push(value).expect("the value can be encoded");
    encoder.finish()
}

fn decode<T: DeserializeOwned + 'static>(body: &Bytes) -> T {
    let mut decoder = Decoder::new(Codec::Bincode, body);
    let value = decoder.next().expect("the body is whole");
    decoder.finish().expect("nothing is left");
    value
}

fn both<T: Serialize + DeserializeOwned + 'static>(c: &mut Criterion, name: &str, value: &T) {
    let body = encode(value).into_bytes();
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function("encode", |b| b.iter(|| encode(black_box(value))));
    group.bench_function("decode", |b| b.iter(|| decode::<T>(black_box(&body))));
}

fn small_struct(c: &mut Criterion) {
    let tags = ["admin", "staff"].map(str::to_owned).into();
    both(c, "small struct", &User { id: 1 << 40, name: "Ada Lovelace".to_owned(), tags, active: true });
}

fn bytes(c: &mut Criterion) {
    both(c, "64 KiB of bytes", &Bytes::from(vec![7; 64 << 10]));
}

criterion_group!(benches, small_struct, bytes);
criterion_main!(benches);
