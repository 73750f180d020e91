//! A handler that panics fails its own call and nothing else.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::collections::HashSet;
use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use common::{client, log, server, until, within};
use rpc::{CallOptions, Code, Context, Executed, RpcError, Server, rpc_service};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

mod common;

const AT_ONCE: Duration = Duration::from_millis(100);
const IN_FLIGHT: usize = 100;
/// What the panics say, which is nobody's affair but the server's.
const SECRET: &str = "the secret of the handler";

/// Where a handler panics.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum At {
    Once,
    Await,
    Lock,
    LockAfterAwait,
    NoText,
    /// What is thrown panics when it is dropped.
    Bomb,
    BombAfterAwait,
    Decode,
    Encode,
    Drop,
    Cancel,
}

/// A number that panics when it is read as 13, and when it is written as 14.
#[derive(Debug)]
struct Touchy(u8);

impl Serialize for Touchy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        assert_ne!(self.0, 14, "{SECRET}");
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Touchy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u8::deserialize(deserializer)?;
        assert_ne!(number, 13, "{SECRET}");
        Ok(Self(number))
    }
}

/// Panics when it is dropped.
struct Explosive;

impl Drop for Explosive {
    fn drop(&mut self) {
        panic!("{SECRET}");
    }
}

#[rpc_service(name = "test.Nervous")]
trait Nervous {
    /// Answers, once the gate opens, with the caller's port.
    async fn wait(&self, id: usize) -> Result<(usize, u16), RpcError>;
    async fn panic(&self, at: At, number: Touchy) -> Result<Touchy, RpcError>;
}

#[derive(Clone)]
struct Gated {
    alive: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
    state: Arc<Mutex<u64>>,
}

struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Gated {
    fn alive(&self) -> Alive {
        self.alive.fetch_add(1, Ordering::SeqCst);
        Alive(Arc::clone(&self.alive))
    }
}

impl Nervous for Gated {
    async fn wait(&self, id: usize) -> Result<(usize, u16), RpcError> {
        let _alive = self.alive();
        let _passed = self.gate.acquire().await.unwrap();
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Ok((id, Context::current().unwrap().peer().unwrap().port()))
    }

    async fn panic(&self, at: At, number: Touchy) -> Result<Touchy, RpcError> {
        let _alive = self.alive();
        match at {
            At::Once => panic!("{SECRET}"),
            At::Await => {
                tokio::task::yield_now().await;
                panic!("{SECRET}");
            }
            At::Lock => {
                let _held = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                panic!("{SECRET}");
            }
            At::LockAfterAwait => {
                tokio::time::sleep(Duration::from_millis(1)).await;
                let _held = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                panic!("{SECRET}");
            }
            At::NoText => panic_any(7),
            At::Bomb => panic_any(Explosive),
            At::BombAfterAwait => {
                tokio::task::yield_now().await;
                panic_any(Explosive)
            }
            At::Drop => {
                let _explosive = Explosive;
                tokio::task::yield_now().await;
            }
            At::Encode => return Ok(Touchy(14)),
            At::Cancel => {
                let _explosive = Explosive;
                std::future::pending::<()>().await;
            }
            At::Decode => {}
        }
        Ok(number)
    }
}

struct Scene {
    service: Gated,
    stub: NervousStub,
    _server: Server,
}

impl Scene {
    async fn set() -> Self {
        log::keep();
        let service = Gated { alive: Arc::default(), gate: Arc::new(Semaphore::new(0)), state: Arc::default() };
        let server = server(NervousDispatcher::new(service.clone())).max_in_flight(IN_FLIGHT as u32);
        let server = server.start().await.unwrap();
        let stub = client(&[server.address()]).timeout(Duration::from_secs(60)).build().unwrap().stub().unwrap();
        Self { service, stub, _server: server }
    }

    /// Has calls wait in flight.
    async fn waiting(&self, count: usize) -> Vec<JoinHandle<(usize, u16)>> {
        let call = |id| {
            let stub = self.stub.clone();
            tokio::spawn(async move { stub.wait(id).await.unwrap() })
        };
        let calls = (0..count).map(call).collect();
        until(AT_ONCE, "calls in flight", || self.alive() == count).await;
        calls
    }

    /// Lets the calls go; gives the ports that they came from.
    async fn release(&self, calls: Vec<JoinHandle<(usize, u16)>>) -> HashSet<u16> {
        self.service.gate.add_permits(calls.len());
        let mut ports = HashSet::new();
        for (id, call) in calls.into_iter().enumerate() {
            let (answered, port) = call.await.unwrap();
            assert_eq!(answered, id);
            ports.insert(port);
        }
        until(AT_ONCE, "nothing in flight", || self.alive() == 0).await;
        self.service.gate.forget_permits(usize::MAX >> 3);
        ports
    }

    fn alive(&self) -> usize {
        self.service.alive.load(Ordering::SeqCst)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_fails_its_own_call_and_no_other() {
    let scene = Scene::set().await;
    let mut ports = HashSet::new();
    for at in [
        At::Once,
        At::Await,
        At::Lock,
        At::LockAfterAwait,
        At::NoText,
        At::Bomb,
        At::BombAfterAwait,
        At::Decode,
        At::Encode,
        At::Drop,
    ] {
        let calls = scene.waiting(IN_FLIGHT - 1).await;
        let number = Touchy(if at == At::Decode { 13 } else { 1 });
        let error = within(AT_ONCE, "failed", scene.stub.panic(at, number)).await.unwrap_err();
        println!("  {at:?}: {error}");
        assert_eq!((error.code(), error.executed()), (Code::Internal, Executed::Maybe), "{at:?}");
        assert_eq!(error.message(), "`test.Nervous.panic`: the handler panicked");
        assert!(!format!("{error:?}").contains(SECRET), "{error:?} tells what the panic said");
        ports.extend(scene.release(calls).await);
        // Every place is free again.
        let calls = scene.waiting(IN_FLIGHT).await;
        ports.extend(scene.release(calls).await);
    }
    assert_eq!(ports.len(), 1, "all on one connection: {ports:?}");
    let logged = log::since(0, "a handler panicked service=test.Nervous method=panic");
    assert_eq!(logged.len(), 10, "{logged:?}");
    assert_eq!(
        logged.iter().filter(|line| line.starts_with("ERROR") && line.contains(SECRET)).count(),
        7,
        "{logged:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_panics_when_it_is_cancelled_harms_nobody() {
    let scene = Scene::set().await;
    let calls = scene.waiting(IN_FLIGHT - 2).await;
    let ports = scene.release(calls).await;
    for round in 1..=10 {
        let call = tokio::spawn({
            let stub = scene.stub.clone();
            async move { stub.panic(At::Cancel, Touchy(1)).await }
        });
        until(AT_ONCE, "the handler began", || scene.alive() == 1).await;
        match round % 2 {
            0 => call.abort(),
            _ => {
                let options = CallOptions::new().timeout(Duration::from_millis(20));
                let error = scene.stub.with(options).panic(At::Cancel, Touchy(1)).await.unwrap_err();
                assert_eq!(error.code(), Code::DeadlineExceeded, "{error}");
                call.abort();
            }
        }
        until(AT_ONCE, "the handler is gone", || scene.alive() == 0).await;
    }
    let calls = scene.waiting(IN_FLIGHT).await;
    assert_eq!(scene.release(calls).await, ports);
}
