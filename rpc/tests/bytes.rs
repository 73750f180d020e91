//! Bytes arrive as they were sent, whatever their number and place; those of 16 KiB or more without a copy of their own.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use bytes::Bytes;
use rpc::{Client, Code, Codec, Executed, RpcError, rpc_service};
use serde::{Deserialize, Serialize};

mod common;

/// From here on bytes are shared.
const BOUND: usize = 16 * 1024;

const LENGTHS: [usize; 8] = [0, 1, BOUND - 10, BOUND - 1, BOUND, BOUND + 1, 64 * 1024, 1 << 20];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Holder {
    bytes: Bytes,
    id: u32,
}

#[rpc_service(name = "test.Blobs")]
trait Blobs {
    async fn alone(&self, bytes: Bytes) -> Result<Bytes, RpcError>;
    async fn last(&self, id: u32, bytes: Bytes) -> Result<(u32, Bytes), RpcError>;
    async fn first(&self, bytes: Bytes, id: u32) -> Result<(Bytes, u32), RpcError>;
    async fn both(&self, one: Bytes, two: Bytes) -> Result<Bytes, RpcError>;
    async fn within(&self, holder: Holder) -> Result<Holder, RpcError>;
    async fn make(&self, length: usize) -> Result<Bytes, RpcError>;
}

struct Mirror;

impl Blobs for Mirror {
    async fn alone(&self, bytes: Bytes) -> Result<Bytes, RpcError> {
        Ok(bytes)
    }

    async fn last(&self, id: u32, bytes: Bytes) -> Result<(u32, Bytes), RpcError> {
        Ok((id, bytes))
    }

    async fn first(&self, bytes: Bytes, id: u32) -> Result<(Bytes, u32), RpcError> {
        Ok((bytes, id))
    }

    async fn both(&self, one: Bytes, two: Bytes) -> Result<Bytes, RpcError> {
        Ok([one, two].concat().into())
    }

    async fn within(&self, holder: Holder) -> Result<Holder, RpcError> {
        Ok(holder)
    }

    async fn make(&self, length: usize) -> Result<Bytes, RpcError> {
        Ok(vec![7; length].into())
    }
}

/// So many bytes that are not all the same.
fn bytes(length: usize) -> Bytes {
    (0..length).map(|at| (at % 251) as u8).collect()
}

async fn arrives(blobs: &BlobsStub, length: usize) {
    let sent = bytes(length);
    assert!(blobs.alone(sent.clone()).await.unwrap() == sent, "{length}");
    assert!(blobs.last(7, sent.clone()).await.unwrap() == (7, sent.clone()), "{length}");
    assert!(blobs.first(sent.clone(), 7).await.unwrap() == (sent.clone(), 7), "{length}");
    for other in [bytes(1), bytes(BOUND)] {
        let expected = [sent.clone(), other.clone()].concat();
        assert!(blobs.both(sent.clone(), other).await.unwrap() == expected, "{length}");
    }
    let holder = Holder { bytes: sent, id: 7 };
    assert!(blobs.within(holder.clone()).await.unwrap() == holder, "{length}");
}

#[tokio::test]
async fn bytes_of_every_length_arrive_whole() {
    let server = common::server(BlobsDispatcher::new(Mirror)).start().await.unwrap();
    let client = || common::client(&[server.address()]);
    for client in [client(), client().load_balancer("consistentHash"), client().fault("failOver")] {
        let blobs: BlobsStub = client.build().unwrap().stub().unwrap();
        for length in LENGTHS {
            arrives(&blobs, length).await;
        }
    }
    let json: BlobsStub = client().codec(Codec::Json).build().unwrap().stub().unwrap();
    arrives(&json, BOUND).await;
}

#[tokio::test]
async fn calls_with_short_and_long_bytes_share_a_connection() {
    let server = common::server(BlobsDispatcher::new(Mirror)).start().await.unwrap();
    let blobs: BlobsStub = common::stub(server.address());
    let calls: Vec<_> = (0..200)
        .map(|number| {
            let blobs = blobs.clone();
            let sent = bytes(LENGTHS[number % LENGTHS.len()]);
            tokio::spawn(async move {
                assert!(blobs.last(number as u32, sent.clone()).await.unwrap() == (number as u32, sent))
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
}

#[tokio::test]
async fn a_fallback_gives_and_takes_long_bytes() {
    let client = Client::builder().registry("direct://127.0.0.1:1").fault("failSafe").build().unwrap();
    let blobs: BlobsStub = client.stub_with_fallback(BlobsDispatcher::new(Mirror)).unwrap();
    arrives(&blobs, BOUND).await;
}

#[tokio::test]
async fn shared_bytes_count_against_the_limits_of_both_sides() {
    let limit = 32 * 1024;
    let server = common::server(BlobsDispatcher::new(Mirror)).max_frame(limit).start().await.unwrap();
    let blobs: BlobsStub = common::stub(server.address());
    let error = blobs.alone(bytes(limit as usize)).await.unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::TooLarge, Executed::No));

    let small = common::client(&[server.address()]).max_frame(limit).build().unwrap();
    let blobs: BlobsStub = small.stub().unwrap();
    let error = blobs.alone(bytes(limit as usize)).await.unwrap_err();
    assert!(error.message().contains("this client sends at most"), "{error}");
    assert_eq!((error.code(), error.executed()), (Code::TooLarge, Executed::No));
    let error = blobs.make(limit as usize).await.unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::TooLarge, Executed::Yes));
    assert!(blobs.make(limit as usize - 5).await.unwrap() == vec![7; limit as usize - 5]);
}
