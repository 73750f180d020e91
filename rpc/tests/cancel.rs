//! Who stops waiting stops the work: a handler whose caller is gone is dropped.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::raw::{CANCEL, Frame, Raw};
use common::{client, hold_to, server, until};
use rpc::{CallOptions, Client, Code, RpcError, Server, rpc_service};

mod common;

const DROPPED_WITHIN: Duration = Duration::from_millis(100);
const MANY: usize = 500;

#[rpc_service(name = "test.Patience")]
trait Patience {
    /// Never answers.
    async fn wait(&self) -> Result<(), RpcError>;
    async fn answer(&self) -> Result<u8, RpcError>;
    async fn answer_later(&self) -> Result<u8, RpcError>;
}

/// Counts its handlers.
#[derive(Clone, Default)]
struct Counted {
    begun: Arc<AtomicUsize>,
    alive: Arc<AtomicUsize>,
}

struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Patience for Counted {
    async fn wait(&self) -> Result<(), RpcError> {
        self.alive.fetch_add(1, Ordering::SeqCst);
        let _alive = Alive(Arc::clone(&self.alive));
        self.begun.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    }

    async fn answer(&self) -> Result<u8, RpcError> {
        Ok(42)
    }

    async fn answer_later(&self) -> Result<u8, RpcError> {
        tokio::task::yield_now().await;
        Ok(42)
    }
}

impl Counted {
    async fn begun(&self, count: usize) {
        until(DROPPED_WITHIN, "handlers begun", || self.begun.load(Ordering::SeqCst) == count).await;
        assert_eq!(self.alive(), count);
    }

    async fn gone(&self) {
        until(DROPPED_WITHIN, "handlers dropped", || self.alive() == 0).await;
    }

    fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }
}

async fn serve() -> (Counted, Server, Client, PatienceStub) {
    let service = Counted::default();
    let server = server(PatienceDispatcher::new(service.clone())).start().await.unwrap();
    let client = client(&[server.address()]).timeout(Duration::from_secs(60)).build().unwrap();
    let stub = client.stub().unwrap();
    (service, server, client, stub)
}

#[tokio::test]
async fn dropping_a_call_drops_its_handler() {
    let (service, _server, _client, stub) = serve().await;
    let call = tokio::spawn({
        let stub = stub.clone();
        async move { stub.wait().await }
    });
    service.begun(1).await;
    call.abort();
    service.gone().await;
    assert_eq!(stub.answer().await.unwrap(), 42);
}

#[tokio::test]
async fn dropping_many_calls_drops_all_of_their_handlers_and_no_other() {
    let (service, _server, _client, stub) = serve().await;
    let mut calls: Vec<_> = (0..MANY)
        .map(|_| {
            let stub = stub.clone();
            tokio::spawn(async move { stub.wait().await })
        })
        .collect();
    service.begun(MANY).await;
    let kept = calls.split_off(MANY / 2);
    calls.iter().for_each(|call| call.abort());
    until(DROPPED_WITHIN, "half of the handlers dropped", || service.alive() == kept.len()).await;
    assert_eq!(stub.answer().await.unwrap(), 42);
    assert_eq!(service.alive(), kept.len());
    kept.iter().for_each(|call| call.abort());
    service.gone().await;
}

#[tokio::test]
async fn a_deadline_drops_the_handler() {
    let (service, _server, _client, stub) = serve().await;
    let timeout = Duration::from_millis(200);
    let started = Instant::now();
    let error = stub.with(CallOptions::new().timeout(timeout)).wait().await.unwrap_err();
    assert!(started.elapsed() >= timeout, "never early");
    hold_to(timeout, started.elapsed(), "deadline");
    assert_eq!(error.code(), Code::DeadlineExceeded, "{error}");
    service.gone().await;
    assert_eq!(service.begun.load(Ordering::SeqCst), 1);
    assert_eq!(stub.answer().await.unwrap(), 42);
}

#[tokio::test]
async fn the_server_keeps_a_deadline_that_its_client_forgets() {
    let (service, server, _client, _) = serve().await;
    let (mut raw, welcome) = Raw::greet(server.address()).await;
    let mut request = Frame::request(7, welcome.position("wait"), &200_000u64.to_le_bytes());
    request.flags = 1;
    let started = Instant::now();
    let (code, message) = raw.ask(request).await.status().expect("a status");
    assert!(started.elapsed() >= Duration::from_millis(200), "never early");
    hold_to(Duration::from_millis(200), started.elapsed(), "deadline");
    assert_eq!(code, common::raw::DEADLINE_EXCEEDED, "{message}");
    service.gone().await;
}

#[tokio::test]
async fn a_cancelled_request_is_not_answered() {
    let (service, server, _client, _) = serve().await;
    let (mut raw, welcome) = Raw::greet(server.address()).await;
    raw.send(&Frame::request(7, welcome.position("wait"), b"").bytes()).await.unwrap();
    service.begun(1).await;
    // Unknown, then known, then known no more.
    for id in [8, 7, 7] {
        raw.send(&Frame::new(CANCEL, 0, id, b"").bytes()).await.unwrap();
    }
    service.gone().await;
    // The id is free again, and the next answer is not one to the cancelled request.
    assert_eq!(raw.ask(Frame::request(7, welcome.position("answer"), b"")).await.payload, [42]);
}

#[tokio::test]
async fn a_client_that_is_dropped_takes_its_handlers_along() {
    let (service, _server, client, stub) = serve().await;
    let call = tokio::spawn(async move { stub.wait().await });
    service.begun(1).await;
    call.abort();
    drop(client);
    service.gone().await;
}

#[tokio::test]
async fn a_connection_that_vanishes_takes_its_handlers_along() {
    let (service, server, _client, stub) = serve().await;
    for (round, reset) in [(1, false), (2, true)] {
        let (mut raw, welcome) = Raw::greet(server.address()).await;
        for id in 0..MANY as u64 {
            raw.send(&Frame::request(id, welcome.position("wait"), b"").bytes()).await.unwrap();
        }
        until(DROPPED_WITHIN, "handlers begun", || service.begun.load(Ordering::SeqCst) == round * MANY).await;
        assert_eq!(service.alive(), MANY);
        if reset {
            raw.reset()
        } else {
            drop(raw)
        }
        service.gone().await;
        assert_eq!(stub.answer().await.unwrap(), 42);
    }
}

#[tokio::test]
async fn a_server_that_is_dropped_takes_its_handlers_along() {
    let (service, server, _client, stub) = serve().await;
    let call = tokio::spawn(async move { stub.wait().await });
    service.begun(1).await;
    drop(server);
    service.gone().await;
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.code(), Code::ConnectionLost, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_place_of_a_dropped_call_is_free_for_the_next() {
    let service = Counted::default();
    let server = server(PatienceDispatcher::new(service.clone())).max_in_flight(1).start().await.unwrap();
    let stub: PatienceStub = client(&[server.address()]).build().unwrap().stub().unwrap();
    for round in 1..=500 {
        let call = tokio::spawn({
            let stub = stub.clone();
            async move { stub.wait().await }
        });
        while service.begun.load(Ordering::SeqCst) < round {
            tokio::task::yield_now().await;
        }
        call.abort();
        call.await.unwrap_err();
        assert_eq!(stub.answer().await.unwrap(), 42, "round {round}");
        while service.alive() > 0 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_place_of_an_answered_call_is_free_for_the_next() {
    let server = server(PatienceDispatcher::new(Counted::default())).max_in_flight(1).start().await.unwrap();
    let stub: PatienceStub = client(&[server.address()]).build().unwrap().stub().unwrap();
    for round in 0..5_000 {
        assert_eq!(stub.answer_later().await.unwrap(), 42, "round {round}");
    }
}
