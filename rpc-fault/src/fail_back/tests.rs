use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use rpc_core::fault::Run;
use rpc_core::generated::{Method, ServiceDescriptor, Signature};
use rpc_core::{Code, Executed};
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::*;

struct Plain;

impl Signature for Plain {
    type Arguments = ();
    type Outcome = Result<(), RpcError>;
    const DEFAULT: Option<fn() -> Self::Outcome> = Some(|| Ok(()));
}

const SERVICE: &ServiceDescriptor =
    &ServiceDescriptor::new("Users", &[Method::new::<Plain>("add"), Method::new::<Plain>("get").idempotent()]);
const ADD: usize = 0;
const GET: usize = 1;

/// A far side that fails, and counts.
struct Failing {
    this: Weak<Self>,
    code: Code,
    /// Whether the method may have run.
    executed: AtomicBool,
    /// After this many runs it answers.
    failures: usize,
    runs: AtomicUsize,
    begun: Mutex<Vec<u64>>,
    start: Instant,
}

impl Failing {
    fn new(code: Code, executed: Executed, failures: usize) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            code,
            executed: AtomicBool::new(executed != Executed::No),
            failures,
            runs: AtomicUsize::new(0),
            begun: Mutex::default(),
            start: Instant::now(),
        })
    }

    async fn call(&self, strategy: &FailBack, method: usize) -> Result<Reply, RpcError> {
        let call = Invocation::new(SERVICE, method, Duration::from_secs(3));
        strategy.call(&call, Next::new(self)).await
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }
}

impl Run for Failing {
    fn run<'a>(&'a self, _: &'a Invocation, _: Option<Duration>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        self.begun.lock().unwrap().push(self.start.elapsed().as_millis() as u64);
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let result = match run < self.failures {
            true => {
                let executed = if self.executed.load(Ordering::Relaxed) { Executed::Maybe } else { Executed::No };
                Err(RpcError::with_code(self.code, executed, "as told"))
            }
            // What an answer is does not matter to the strategy.
            false => Ok(Reply::degraded(RpcError::new("an answer"))),
        };
        Box::pin(std::future::ready(result))
    }

    fn downgrade(&self) -> Weak<dyn Run> {
        self.this.clone()
    }
}

fn strategy(settings: &[(&str, u64)]) -> FailBack {
    let settings = Settings::from_table(&HashMap::<_, _>::from_iter(settings.iter().copied())).unwrap();
    FailBack::new(settings.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_call_is_made_again_after_growing_pauses_until_it_is_answered() {
    let (failing, strategy) = (Failing::new(Code::Unavailable, Executed::No, 4), strategy(&[]));
    failing.call(&strategy, ADD).await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(*failing.begun.lock().unwrap(), [0, 1_000, 3_000, 7_000, 15_000]);
    assert_eq!(strategy.queue.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_bounded_and_gives_up_in_the_end() {
    let failing = Failing::new(Code::Unavailable, Executed::No, usize::MAX);
    let strategy = strategy(&[("retries", 2), ("maxCalls", 2)]);
    for _ in 0..2 {
        failing.call(&strategy, ADD).await.unwrap();
    }
    let error = failing.call(&strategy, ADD).await.unwrap_err();
    assert_eq!(error.to_string(), "unavailable: fail-back queue full (2 of 2): as told");
    assert_eq!((strategy.queue.len(), failing.runs()), (2, 3));
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((strategy.queue.len(), failing.runs()), (0, 3 + 4));
}

#[tokio::test(start_paused = true)]
async fn what_may_have_run_is_queued_only_if_it_is_idempotent() {
    for (method, executed, queued) in
        [(ADD, Executed::No, 1), (ADD, Executed::Maybe, 0), (GET, Executed::No, 1), (GET, Executed::Maybe, 1)]
    {
        let (failing, strategy) = (Failing::new(Code::ConnectionLost, executed, usize::MAX), strategy(&[]));
        let result = failing.call(&strategy, method).await;
        assert_eq!((result.is_ok(), strategy.queue.len()), (queued == 1, queued), "{method} {executed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_try_that_may_have_run_is_the_last_of_a_method_that_is_not_idempotent() {
    for (method, runs) in [(ADD, 3), (GET, 6)] {
        let (failing, strategy) = (Failing::new(Code::ConnectionLost, Executed::No, usize::MAX), strategy(&[]));
        failing.call(&strategy, method).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        failing.executed.store(true, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert_eq!((failing.runs(), strategy.queue.len()), (runs, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn mistakes_are_not_queued() {
    for code in [Code::MethodNotFound, Code::SchemaMismatch, Code::BadRequest, Code::TooLarge, Code::Codec] {
        let (failing, strategy) = (Failing::new(code, Executed::No, usize::MAX), strategy(&[]));
        assert_eq!(failing.call(&strategy, GET).await.unwrap_err().code(), code);
        assert_eq!(strategy.queue.len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn no_retries_means_that_nothing_is_made_again() {
    let (failing, strategy) =
        (Failing::new(Code::ConnectionLost, Executed::Maybe, usize::MAX), strategy(&[("retries", 0)]));
    failing.call(&strategy, ADD).await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((failing.runs(), strategy.queue.len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn closing_says_what_is_undone_and_nothing_is_made_again() {
    let (failing, strategy) = (Failing::new(Code::Unavailable, Executed::No, usize::MAX), strategy(&[]));
    for _ in 0..50 {
        failing.call(&strategy, ADD).await.unwrap();
    }
    assert_eq!(strategy.close().await, 50);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((failing.runs(), strategy.queue.len()), (50, 0));
    let error = failing.call(&strategy, ADD).await.unwrap_err();
    assert!(error.message().starts_with("fail-back queue closed"), "{error}");
}

#[tokio::test]
async fn calls_that_fail_while_the_strategy_closes_are_counted_as_undone_or_refused() {
    let failing = Failing::new(Code::Unavailable, Executed::No, usize::MAX);
    for _ in 0..200 {
        let strategy = Arc::new(strategy(&[("maxCalls", 1_000_000)]));
        let calling = [(); 4].map(|()| {
            let (this, other) = (Arc::clone(&strategy), Arc::clone(&failing));
            tokio::task::spawn_blocking(move || {
                let call = || Handle::current().block_on(other.call(&this, ADD));
                std::iter::repeat_with(call).take_while(Result::is_ok).count()
            })
        });
        while strategy.queue.len() < 10 {
            std::thread::yield_now();
        }
        let undone = strategy.close().await;
        let mut queued = 0;
        for calling in calling {
            queued += calling.await.unwrap();
        }
        assert_eq!(queued, undone);
        let tasks = std::mem::take(&mut *strategy.tasks.lock().unwrap());
        assert!(ended(tasks).await, "a task was begun after closing");
    }
}

/// Whether all tasks end long before they would give up.
async fn ended(mut tasks: JoinSet<()>) -> bool {
    tokio::time::timeout(Duration::from_secs(10), async { while tasks.join_next().await.is_some() {} }).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn dropping_the_strategy_ends_its_tasks() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let (failing, strategy) = (Failing::new(Code::Unavailable, Executed::No, usize::MAX), strategy(&[]));
    for _ in 0..50 {
        failing.call(&strategy, ADD).await.unwrap();
    }
    assert_eq!(tasks(), before + 50);
    drop(strategy);
    tokio::task::yield_now().await;
    assert_eq!(tasks(), before);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(failing.runs(), 50);
}

#[test]
fn a_setting_out_of_bounds_is_refused_with_the_bounds() {
    for (name, value, bounds) in [
        ("retries", -1, "from 0 to 100"),
        ("retries", 101, "from 0 to 100"),
        ("pauseMs", 0, "1 or more"),
        ("maxCalls", 0, "1 or more"),
        ("maxBytes", 0, "1 or more"),
    ] {
        let settings = Settings::from_table(&HashMap::from([(name, value)])).unwrap();
        let error = build(&settings).unwrap_err();
        assert_eq!(error.to_string(), format!("setting `{name}` is not accepted"));
        let told = error.source().unwrap().to_string();
        assert!(told.contains(&format!("`{value}`")) && told.ends_with(bounds), "{told}");
    }
}
