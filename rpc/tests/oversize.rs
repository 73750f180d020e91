//! What is larger than the other side accepts is refused on this side, with both sizes named, and harms nothing else.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::raw::{Frame, HELLO, RESPONSE, Raw};
use common::{client, server, stub, until, within};
use rpc::{Code, Context, Executed, RpcError, rpc_service};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

mod common;

const LIMIT: usize = 1 << 20;
const AT_ONCE: Duration = Duration::from_millis(100);
/// Bytes of a request before its arguments: method and time left.
const HEAD: usize = 12;
/// Bytes before a byte string of about [`LIMIT`].
const PREFIX: usize = 5;

#[rpc_service(name = "test.Sizes")]
trait Sizes {
    /// Answers the length once the gate opens, with the port of the client.
    async fn measure(&self, bytes: Vec<u8>) -> Result<(usize, u16), RpcError>;
    async fn make(&self, length: usize) -> Result<Vec<u8>, RpcError>;
    async fn fail(&self, length: usize) -> Result<(), RpcError>;
}

#[derive(Clone)]
struct Gated {
    begun: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
}

impl Gated {
    fn new(open: usize) -> Self {
        Self { begun: Arc::default(), gate: Arc::new(Semaphore::new(open)) }
    }
}

impl Sizes for Gated {
    async fn measure(&self, bytes: Vec<u8>) -> Result<(usize, u16), RpcError> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let _passed = self.gate.acquire().await.unwrap();
        Ok((bytes.len(), Context::current().unwrap().peer().unwrap().port()))
    }

    async fn make(&self, length: usize) -> Result<Vec<u8>, RpcError> {
        Ok(vec![7; length])
    }

    async fn fail(&self, length: usize) -> Result<(), RpcError> {
        Err(RpcError::new("x".repeat(length)))
    }
}

/// An argument that is encoded in this many bytes.
fn argument(encoded: usize) -> Vec<u8> {
    vec![7; encoded - PREFIX]
}

#[tokio::test]
async fn a_request_above_the_servers_limit_is_refused_and_the_calls_in_flight_succeed() {
    let service = Gated::new(0);
    let server = server(SizesDispatcher::new(service.clone())).max_frame(LIMIT as u32).start().await.unwrap();
    let stub: SizesStub = stub(server.address());
    let others: Vec<_> = (0..10usize)
        .map(|length| {
            let stub = stub.clone();
            tokio::spawn(async move { (length, stub.measure(vec![7; length]).await) })
        })
        .collect();
    until(AT_ONCE, "ten calls in flight", || service.begun.load(Ordering::Relaxed) == 10).await;

    let error = within(AT_ONCE, "refused", stub.measure(argument(LIMIT + 1))).await.unwrap_err();
    println!("  {error}");
    assert_eq!((error.code(), error.executed()), (Code::TooLarge, Executed::No));
    for part in ["test.Sizes.measure", &(LIMIT + 1 + HEAD).to_string(), &LIMIT.to_string()] {
        assert!(error.message().contains(part), "{error} should say: {part}");
    }
    assert_eq!(service.begun.load(Ordering::Relaxed), 10);

    service.gate.add_permits(1);
    let mut ports = Vec::new();
    for other in others {
        let (length, answer) = other.await.unwrap();
        let (measured, port) = answer.unwrap();
        assert_eq!(measured, length);
        ports.push(port);
    }
    let (_, port) = stub.measure(Vec::new()).await.unwrap();
    assert!(ports.iter().all(|other| *other == port), "all on one connection: {ports:?}, {port}");
}

#[tokio::test]
async fn the_largest_request_is_sent_and_one_byte_more_is_not() {
    let service = Gated::new(1);
    let server = server(SizesDispatcher::new(service.clone())).max_frame(LIMIT as u32).start().await.unwrap();
    let stub: SizesStub = stub(server.address());
    let (measured, _) = stub.measure(argument(LIMIT - HEAD)).await.unwrap();
    assert_eq!(measured, LIMIT - HEAD - PREFIX);
    let error = stub.measure(argument(LIMIT - HEAD + 1)).await.unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::TooLarge, Executed::No));
    assert_eq!(service.begun.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn nothing_of_a_request_that_is_too_large_is_written() {
    let real = server(SizesDispatcher::new(Gated::new(0))).max_frame(LIMIT as u32).start().await.unwrap();
    let (_, welcome) = Raw::greet(real.address()).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stub: SizesStub = stub(listener.local_addr().unwrap());
    let large = tokio::spawn({
        let stub = stub.clone();
        async move { stub.measure(argument(LIMIT + 1)).await }
    });
    let mut raw = Raw::accept(&listener).await;
    raw.send(&Frame::new(HELLO, 0, 0, welcome.bytes()).bytes()).await.unwrap();
    assert_eq!(large.await.unwrap().unwrap_err().code(), Code::TooLarge);

    let small = tokio::spawn(async move { stub.make(300).await });
    let request = raw.read().await.unwrap().expect("a request");
    // What comes first is the small request: 300 as marker and two bytes.
    assert_eq!(request.payload[HEAD..], [0xFB, 44, 1]);
    raw.send(&Frame::new(RESPONSE, 0, request.id, [1, 9]).bytes()).await.unwrap();
    assert_eq!(small.await.unwrap().unwrap(), [9]);
}

#[tokio::test]
async fn a_request_above_the_clients_own_limit_is_not_even_connected_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&[listener.local_addr().unwrap()]).max_frame(LIMIT as u32).build().unwrap();
    let stub: SizesStub = client.stub().unwrap();
    let error = within(AT_ONCE, "refused", stub.measure(argument(LIMIT + 1))).await.unwrap_err();
    println!("  {error}");
    assert_eq!((error.code(), error.executed()), (Code::TooLarge, Executed::No));
    for part in ["test.Sizes.measure", "this client", &LIMIT.to_string()] {
        assert!(error.message().contains(part), "{error} should say: {part}");
    }
}

#[tokio::test]
async fn an_answer_above_the_clients_limit_fails_its_call_and_the_connection_lives() {
    let service = Gated::new(1);
    let server = server(SizesDispatcher::new(service)).start().await.unwrap();
    let client = client(&[server.address()]).max_frame(LIMIT as u32).build().unwrap();
    let stub: SizesStub = client.stub().unwrap();
    let (_, port) = stub.measure(Vec::new()).await.unwrap();
    assert_eq!(stub.make(LIMIT - PREFIX).await.unwrap().len(), LIMIT - PREFIX);
    let errors = [stub.make(LIMIT - PREFIX + 1).await.unwrap_err(), stub.fail(LIMIT - PREFIX + 1).await.unwrap_err()];
    for (error, method) in errors.iter().zip(["test.Sizes.make", "test.Sizes.fail"]) {
        println!("  {error}");
        assert_eq!((error.code(), error.executed()), (Code::TooLarge, Executed::Yes));
        for part in [method, "the answer", &(LIMIT + 1).to_string(), &LIMIT.to_string()] {
            assert!(error.message().contains(part), "{error} should say: {part}");
        }
    }
    assert_eq!(stub.measure(Vec::new()).await.unwrap(), (0, port));
}
