//! Whatever bytes a client sends, it harms nobody but itself.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::raw::{self, Frame, HELLO, MAX_FRAME, REQUEST, Raw};
use common::traffic::{EchoDispatcher, Mirror, Traffic};
use common::{hold_to, log, process, server};
use rpc::{RpcError, Server, rpc_service};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinSet;

mod common;

const CLOSED_WITHIN: Duration = Duration::from_secs(1);
const MAY_GROW: usize = 16 << 20;
const LIMIT: u32 = 1 << 20;
/// Connections of one wave of a storm.
const AT_ONCE: usize = 20;
const LASTS: Duration = Duration::from_secs(2);
/// Half of those that are made meanwhile, if the machine is not busy.
const HONEST_CALLS: usize = 200;

/// The tests share their memory: one at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Holds what happens to it to the promises: honest calls go on, memory does not grow, and each connection is warned of once.
struct Siege {
    server: Server,
    traffic: Traffic,
    resident: usize,
    _alone: MutexGuard<'static, ()>,
}

impl Siege {
    async fn begin() -> Self {
        let alone = ALONE.lock().await;
        log::keep();
        let server = server(EchoDispatcher::new(Mirror)).service(ClaimsDispatcher::new(Believer));
        let server = server.max_frame(LIMIT).start().await.unwrap();
        let traffic = Traffic::start(server.address());
        // What a first connection makes is no growth.
        drop(Raw::greet(server.address()).await);
        Self { server, traffic, resident: process::resident(), _alone: alone }
    }

    fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Lets all these storms rage, at the same time, and honest calls go on beside them.
    async fn storms(&self, storms: Vec<Storm>) {
        let (started, mark) = (Instant::now(), log::mark());
        let mut raging = JoinSet::new();
        for storm in storms {
            raging.spawn(storm.rage(self.address(), self.traffic.answered()));
        }
        let connections: usize = raging.join_all().await.into_iter().sum();
        println!("{connections} connections in {:?}", started.elapsed());
        assert_eq!(log::since(mark, "connection ended").len(), connections, "each connection is warned of once");
        let growth = process::growth(self.resident);
        println!("memory grew by {} KiB", growth >> 10);
        assert!(growth < MAY_GROW, "memory grew by {growth} bytes");
    }

    async fn end(self) {
        self.traffic.stop().await;
    }
}

/// Bytes that no client sends, after a hello if they are `greeted`, and the cause that the warning then names.
struct Storm {
    bytes: Arc<[u8]>,
    greeted: bool,
    cause: String,
}

impl Storm {
    fn new(bytes: &[u8], greeted: bool, cause: impl Into<String>) -> Self {
        Self { bytes: bytes.into(), greeted, cause: cause.into() }
    }

    /// Wave after wave until its time is over and as many honest calls as that takes are `answered`. Gives the number of connections.
    async fn rage(self, address: SocketAddr, answered: Arc<AtomicUsize>) -> usize {
        let (started, mut slowest, mut waves) = (Instant::now(), Duration::ZERO, 0);
        let enough = answered.load(Ordering::Relaxed) + HONEST_CALLS;
        while started.elapsed() < LASTS || answered.load(Ordering::Relaxed) < enough {
            assert!(started.elapsed() < LASTS * 10, "fewer than {HONEST_CALLS} honest calls were answered");
            slowest = slowest.max(self.wave(address).await);
            waves += 1;
        }
        let what = format!("{waves} times {AT_ONCE} connections closed, each ({})", self.cause);
        hold_to(CLOSED_WITHIN, slowest, &what);
        waves * AT_ONCE
    }

    /// Sends the bytes, then nothing, on many connections at once; each is closed, with a warning. Gives the time until all are.
    async fn wave(&self, address: SocketAddr) -> Duration {
        let mark = log::mark();
        let mut open = Vec::new();
        for _ in 0..AT_ONCE {
            open.push(match self.greeted {
                true => Raw::greet(address).await.0,
                false => Raw::connect(address).await,
            });
        }
        let started = Instant::now();
        let attacks = open.into_iter().map(|mut raw| {
            let bytes = Arc::clone(&self.bytes);
            tokio::spawn(async move {
                // The server may have closed before it saw all.
                let _cut = raw.send(&bytes).await;
                assert_eq!(raw.closed().await, b"");
                raw.address().to_string()
            })
        });
        let attacks: Vec<_> = attacks.collect();
        let mut addresses = Vec::new();
        for attack in attacks {
            addresses.push(tokio::time::timeout(CLOSED_WITHIN * 10, attack).await.expect("closed in time").unwrap());
        }
        let took = started.elapsed();
        // Another storm may have had one of the ports before.
        let warned = |address: &String| {
            let lines = log::since(mark, &format!(" peer={address} "));
            lines.iter().any(|line| line.starts_with("WARN") && line.contains(&self.cause))
        };
        let all_warned = async {
            while !addresses.iter().all(warned) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let in_time = tokio::time::timeout(CLOSED_WITHIN * 10, all_warned).await;
        in_time.unwrap_or_else(|_| panic!("each is warned of, with `{}`: {:?}", self.cause, log::since(mark, "WARN")));
        took
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lengths_that_lie_end_the_connection_and_make_no_memory() {
    let siege = Siege::begin().await;
    let hello = |length, cause: String| Storm::new(&raw::header(HELLO, 0, 0, 0, length), false, cause);
    let request = |length, cause: String| Storm::new(&raw::header(REQUEST, 0, 1, 1, length), true, cause);
    let mut storms = vec![
        hello(0, "a malformed payload: the client's lowest version".into()),
        request(0, "a malformed payload: the method of a request".into()),
    ];
    for length in [1_025, 0x7FFF_FFFF, 0xFFFF_FFFF] {
        storms.push(hello(length, format!("a Hello frame of {length} bytes; at most 1024")));
    }
    for length in [LIMIT + 1, 0x7FFF_FFFF, 0xFFFF_FFFF] {
        storms.push(request(length, format!("a Request frame of {length} bytes; at most {LIMIT}")));
    }
    siege.storms(storms).await;
    siege.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_largest_payload_is_accepted() {
    let siege = Siege::begin().await;
    let (mut raw, welcome) = Raw::greet(siege.address()).await;
    assert_eq!(welcome.max_frame, LIMIT);
    // The method, a marker, the length in four bytes, then the bytes themselves.
    let length = LIMIT - 4 - 1 - 4;
    let argument = [&[0xFC][..], &length.to_le_bytes(), &vec![7; length as usize]].concat();
    let request = Frame::request(1, welcome.position("echo"), &argument);
    assert_eq!(request.payload.len(), LIMIT as usize);
    assert!(raw.ask(request).await.payload == argument);
    siege.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_protocols_are_told_from_this_one() {
    let siege = Siege::begin().await;
    let mut random = fastrand::Rng::with_seed(2);
    let noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(1 << 20).collect();
    let not_this = "not this protocol";
    let cases: [(&[u8], &str); 9] = [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", not_this),
        (b"GET ", "HTTP?"),
        (b"POST /users HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", not_this),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2?"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", not_this),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03", "TLS?"),
        (&noise, not_this),
        (b"\xF1RPC\x02", "version 2"),
        (
            b"\xF1RPC\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x02\x02\x00\x00\x80\x00",
            "version 2",
        ),
    ];
    let both = |(bytes, cause)| [false, true].map(|greeted| Storm::new(bytes, greeted, cause));
    siege.storms(cases.into_iter().flat_map(both).collect()).await;
    siege.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_that_no_client_sends_end_the_connection() {
    let siege = Siege::begin().await;
    let frame = |kind, flags, payload: &[u8]| Frame::new(kind, flags, 0, payload).bytes();
    let storms = vec![
        Storm::new(&frame(REQUEST, 0, &[0; 8]), false, "began with a Request frame"),
        Storm::new(&raw::client_hello(MAX_FRAME), true, "sent a Hello frame"),
        Storm::new(&frame(raw::RESPONSE, 0, b""), true, "sent a Response frame"),
        Storm::new(&frame(0x7F, 0, b""), true, "unknown kind 0x7f"),
        Storm::new(&frame(REQUEST, 4, &[0; 8]), true, "undefined flags 0x04"),
        Storm::new(&frame(raw::PING, 0, b"ping"), true, "a Ping frame of 4 bytes"),
        Storm::new(&frame(raw::CANCEL, 0, &[0; 4_096]), true, "a Cancel frame of 4096 bytes"),
    ];
    siege.storms(storms).await;
    siege.end().await;
}

/// A recursive type.
#[derive(Debug, Serialize, Deserialize)]
struct Deep(Option<Box<Deep>>);

#[rpc_service(name = "test.Claims")]
trait Claims {
    async fn bytes(&self, value: Vec<u8>) -> Result<u64, RpcError>;
    async fn longs(&self, value: Vec<u64>) -> Result<u64, RpcError>;
    async fn text(&self, value: String) -> Result<u64, RpcError>;
    async fn map(&self, value: HashMap<u64, u64>) -> Result<u64, RpcError>;
    async fn units(&self, value: Vec<()>) -> Result<u64, RpcError>;
    async fn nested(&self, value: Vec<Vec<()>>) -> Result<u64, RpcError>;
    async fn deep(&self, value: Deep) -> Result<u64, RpcError>;
}

struct Believer;

impl Claims for Believer {
    async fn bytes(&self, value: Vec<u8>) -> Result<u64, RpcError> {
        Ok(value.len() as u64)
    }

    async fn longs(&self, value: Vec<u64>) -> Result<u64, RpcError> {
        Ok(value.len() as u64)
    }

    async fn text(&self, value: String) -> Result<u64, RpcError> {
        Ok(value.len() as u64)
    }

    async fn map(&self, value: HashMap<u64, u64>) -> Result<u64, RpcError> {
        Ok(value.len() as u64)
    }

    async fn units(&self, value: Vec<()>) -> Result<u64, RpcError> {
        Ok(value.len() as u64)
    }

    async fn nested(&self, value: Vec<Vec<()>>) -> Result<u64, RpcError> {
        Ok(value.len() as u64)
    }

    async fn deep(&self, value: Deep) -> Result<u64, RpcError> {
        Ok(value.0.is_some().into())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_that_lie_are_a_bad_request_and_the_connection_goes_on() {
    let siege = Siege::begin().await;
    let (mut raw, welcome) = Raw::greet(siege.address()).await;
    let elements = |count: u64| [&[0xFD][..], &count.to_le_bytes()].concat();
    let claims = [elements(1 << 63), elements(u64::MAX), elements(1 << 32), vec![0xFF; 8], vec![0xFE; 17]];
    let mut id = 0;
    for method in ["bytes", "longs", "text", "map", "units", "nested"] {
        let position = welcome.position(method);
        for claim in &claims {
            for tail in [0, 1, 40] {
                id += 1;
                let request = Frame::request(id, position, &[&claim[..], &vec![1; tail]].concat());
                assert!(request.bytes().len() - 20 < 64);
                let answer = raw.ask(request).await;
                let (code, message) = answer.status().expect("a status");
                assert_eq!(code, raw::BAD_REQUEST, "{method}: {message}");
            }
        }
        id += 1;
        assert_eq!(raw.ask(Frame::request(id, position, &[0])).await.payload, [0], "{method}");
    }
    let deep = welcome.position("deep");
    let answer = raw.ask(Frame::request(id + 1, deep, &vec![1; 200_000])).await;
    let (code, message) = answer.status().expect("a status");
    assert_eq!(code, raw::BAD_REQUEST);
    assert!(message.contains("nested deeper"), "{message}");
    assert_eq!(raw.ask(Frame::request(id + 2, deep, &[1, 0])).await.payload, [1]);
    let growth = process::growth(siege.resident);
    println!("memory grew by {} KiB", growth >> 10);
    assert!(growth < MAY_GROW, "memory grew by {growth} bytes");
    siege.end().await;
}
