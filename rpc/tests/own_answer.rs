//! Whatever calls are dropped, every other gets exactly its own answer.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::collections::HashSet;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use common::{client, server, until};
use fastrand::Rng;
use rpc::{Context, RpcError, rpc_service};
use tokio::task::JoinSet;

mod common;

const ROUNDS: u64 = 1_000;
const CALLS: u64 = 6;
const IN_FLIGHT: u32 = 64;
/// The longest body: a little less than the largest frame.
const LONGEST: usize = (8 << 20) - 64;
const AT_ONCE: Duration = Duration::from_millis(100);

#[rpc_service(name = "test.Copies")]
trait Copies {
    /// Answers what it is asked, after this many pauses.
    async fn copy(&self, pauses: u8, body: Vec<u8>) -> Result<Vec<u8>, RpcError>;
}

#[derive(Clone, Default)]
struct Copier {
    alive: Arc<AtomicUsize>,
    /// Where calls came from.
    ports: Arc<Mutex<HashSet<u16>>>,
}

struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Copies for Copier {
    async fn copy(&self, pauses: u8, body: Vec<u8>) -> Result<Vec<u8>, RpcError> {
        self.alive.fetch_add(1, Ordering::SeqCst);
        let _alive = Alive(Arc::clone(&self.alive));
        for _ in 0..pauses {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        self.ports.lock().unwrap().insert(Context::current().unwrap().peer().unwrap().port());
        Ok(body)
    }
}

/// When a caller goes away.
#[derive(Clone, Copy)]
enum Patience {
    Endless,
    Time(Duration),
    Polls(u32),
}

impl Patience {
    fn random(random: &mut Rng) -> Self {
        match random.u8(..3) {
            0 => Self::Endless,
            1 => Self::Time(Duration::from_micros(random.u64(..5_000))),
            _ => Self::Polls(random.u32(..3)),
        }
    }

    async fn wait<T>(self, call: impl Future<Output = T>) -> Option<T> {
        match self {
            Self::Endless => Some(call.await),
            Self::Time(time) => tokio::time::timeout(time, call).await.ok(),
            Self::Polls(mut left) => {
                let mut call = pin!(call);
                let poll = move |cx: &mut std::task::Context<'_>| match left.checked_sub(1) {
                    None => Poll::Ready(None),
                    Some(less) => {
                        left = less;
                        call.as_mut().poll(cx).map(Some)
                    }
                };
                std::future::poll_fn(poll).await
            }
        }
    }
}

/// A body like no other, of a random length; short ones are as frequent as long ones.
fn body(random: &mut Rng, number: u64) -> Vec<u8> {
    let magnitude = 1 << random.u32(3..=23);
    let length = random.usize(magnitude / 2..=magnitude).min(LONGEST);
    let mut body = number.to_le_bytes().repeat(length.div_ceil(8));
    body.truncate(length);
    body
}

#[derive(Debug, Default)]
struct Counts {
    kept: usize,
    answered: usize,
    dropped: usize,
    bytes: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_callers_never_mix_up_the_answers_of_others() {
    let service = Copier::default();
    let server = server(CopiesDispatcher::new(service.clone())).max_in_flight(IN_FLIGHT).start().await.unwrap();
    let client = client(&[server.address()]).timeout(Duration::from_secs(60)).build().unwrap();
    let stub: CopiesStub = client.stub().unwrap();

    let started = Instant::now();
    let mut random = Rng::with_seed(7);
    let mut counts = Counts::default();
    for round in 0..ROUNDS {
        let mut calls = JoinSet::new();
        for call in 0..CALLS {
            let body = body(&mut random, round * CALLS + call);
            let (pauses, patience) = (random.u8(..4) / 2, Patience::random(&mut random));
            let stub = stub.clone();
            calls.spawn(async move {
                let answer = patience.wait(stub.copy(pauses, body.clone())).await;
                (matches!(patience, Patience::Endless), body, answer)
            });
        }
        while let Some(call) = calls.join_next().await {
            let (kept, body, answer) = call.unwrap();
            counts.bytes += body.len();
            counts.kept += usize::from(kept);
            match answer {
                Some(answer) => {
                    let copy = answer.expect("no call fails");
                    assert!(copy == body, "a call got {} bytes that are not its own", copy.len());
                    counts.answered += 1;
                }
                None => counts.dropped += 1,
            }
        }
    }
    println!("{counts:?} in {:?}", started.elapsed());
    assert!(counts.dropped > 1_000 && counts.answered >= counts.kept && counts.kept > 1_000);

    until(AT_ONCE, "nothing in flight", || service.alive.load(Ordering::SeqCst) == 0).await;
    // Every place is free again, on both sides.
    let mut calls = JoinSet::new();
    for call in 0..IN_FLIGHT {
        let stub = stub.clone();
        calls.spawn(async move { (call, stub.copy(100, call.to_le_bytes().to_vec()).await.unwrap()) });
    }
    until(AT_ONCE, "all places taken", || service.alive.load(Ordering::SeqCst) == IN_FLIGHT as usize).await;
    for (call, copy) in calls.join_all().await {
        assert_eq!(copy, call.to_le_bytes());
    }
    assert_eq!(service.ports.lock().unwrap().len(), 1, "one connection for all");
}
