use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::sync::{Mutex, Weak};

use rpc_core::fault::Run;
use rpc_core::generated::{Method, ServiceDescriptor, Signature};
use rpc_core::{Code, extension};
use tokio::time::Instant;

use super::*;

struct Plain;

impl Signature for Plain {
    type Arguments = ();
    type Outcome = Result<(), RpcError>;
    const DEFAULT: Option<fn() -> Self::Outcome> = Some(|| Ok(()));
}

/// A service with a method that may run once, and one that may run twice.
const SERVICE: &ServiceDescriptor =
    &ServiceDescriptor::new("Users", &[Method::new::<Plain>("add"), Method::new::<Plain>("get").idempotent()]);
const ADD: usize = 0;
const GET: usize = 1;

/// What is below the strategy: runs that take a time and fail, and when they began.
struct Failing {
    outcomes: Mutex<VecDeque<(u64, Code, Executed)>>,
    begun: Mutex<Vec<u64>>,
    start: Instant,
}

impl Failing {
    /// These outcomes, each after so many milliseconds; the last one again and again.
    fn new(outcomes: &[(u64, Code, Executed)]) -> Self {
        let outcomes = Mutex::new(outcomes.iter().copied().collect());
        Self { outcomes, begun: Mutex::default(), start: Instant::now() }
    }

    /// Calls through a strategy; gives the error, when each run began and when the call ended, in milliseconds.
    async fn call(&self, strategy: &FailOver, method: usize, timeout: u64) -> (RpcError, Vec<u64>, u64) {
        let call = Invocation::new(SERVICE, method, Duration::from_millis(timeout));
        let error = strategy.call(&call, Next::new(self)).await.unwrap_err();
        (error, self.begun.lock().unwrap().clone(), self.elapsed())
    }

    fn elapsed(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }
}

impl Run for Failing {
    fn run<'a>(&'a self, call: &'a Invocation, within: Option<Duration>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        self.begun.lock().unwrap().push(self.elapsed());
        let (took, code, executed) = {
            let mut outcomes = self.outcomes.lock().unwrap();
            if outcomes.len() > 1 { outcomes.pop_front().unwrap() } else { outcomes[0] }
        };
        let took = Duration::from_millis(took).min(within.unwrap_or(Duration::MAX)).min(call.time_left());
        Box::pin(async move {
            tokio::time::sleep(took).await;
            Err(RpcError::with_code(code, executed, "as told"))
        })
    }

    fn downgrade(&self) -> Weak<dyn Run> {
        Weak::<Self>::new()
    }
}

fn strategy(settings: &[(&str, i64)]) -> FailOver {
    let settings = Settings::from_table(&HashMap::<_, _>::from_iter(settings.iter().copied())).unwrap();
    settings.parse().unwrap()
}

/// Runs that a call of `method` makes when each fails like this.
async fn runs(settings: &[(&str, i64)], method: usize, code: Code, executed: Executed) -> usize {
    Failing::new(&[(0, code, executed)]).call(&strategy(settings), method, 60_000).await.1.len()
}

#[tokio::test(start_paused = true)]
async fn only_failures_that_another_run_can_mend_are_repeated() {
    use Code::*;
    for code in [Unavailable, Overloaded, ConnectionLost, DeadlineExceeded, Internal] {
        assert_eq!(runs(&[], GET, code, Executed::Maybe).await, 3, "{code}");
    }
    for code in [NoInstance, ServiceNotFound, MethodNotFound, SchemaMismatch, BadRequest, TooLarge, Codec, Remote] {
        assert_eq!(runs(&[], GET, code, Executed::No).await, 1, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_method_that_may_have_run_is_repeated_only_if_it_is_idempotent() {
    use Executed::*;
    for (executed, add, get) in [(No, 3, 3), (Maybe, 1, 3), (Yes, 1, 3)] {
        assert_eq!(runs(&[], ADD, Code::Internal, executed).await, add, "{executed:?}");
        assert_eq!(runs(&[], GET, Code::Internal, executed).await, get, "{executed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn there_are_as_many_extra_runs_as_asked_for() {
    for retries in [0, 1, 10] {
        let runs = runs(&[("retries", retries)], ADD, Code::Unavailable, Executed::No).await;
        assert_eq!(runs as i64, 1 + retries);
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_extra_run_begins_at_once_and_the_others_after_growing_pauses() {
    let failing = Failing::new(&[(0, Code::ConnectionLost, Executed::Maybe)]);
    let (_, begun, ended) = failing.call(&strategy(&[("retries", 10)]), GET, 60_000).await;
    assert_eq!(begun[..2], [0, 0]);
    let pauses: Vec<_> = begun.windows(2).skip(1).map(|pair| pair[1] - pair[0]).collect();
    for (pause, nominal) in pauses.iter().zip([20, 40, 80, 160, 320, 640, 1_000, 1_000, 1_000]) {
        // A timer fires at the next millisecond.
        assert!((nominal / 2..=nominal * 3 / 2 + 1).contains(pause), "{pause} ms instead of about {nominal}");
    }
    assert_eq!((pauses.len(), begun[10]), (9, ended));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_found_no_instance_is_not_repeated_at_once() {
    let failing = Failing::new(&[(0, Code::Unavailable, Executed::No)]);
    let (_, begun, _) = failing.call(&strategy(&[("retries", 1)]), ADD, 60_000).await;
    assert!((10..=31).contains(&begun[1]), "{begun:?}");
}

#[tokio::test(start_paused = true)]
async fn pauses_differ_from_call_to_call() {
    let mut seen = Vec::new();
    for _ in 0..100 {
        let failing = Failing::new(&[(0, Code::Unavailable, Executed::No)]);
        seen.push(failing.call(&strategy(&[("retries", 1)]), ADD, 60_000).await.2);
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 10, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_was_asked_for_comes_before_every_extra_run() {
    let failing = Failing::new(&[(0, Code::ConnectionLost, Executed::Maybe)]);
    let (_, begun, _) = failing.call(&strategy(&[("retries", 3), ("backoffMs", 70)]), GET, 60_000).await;
    assert_eq!(begun, [0, 70, 140, 210]);
}

#[tokio::test(start_paused = true)]
async fn all_runs_together_end_at_the_deadline() {
    let silent = Failing::new(&[(60_000, Code::DeadlineExceeded, Executed::Maybe)]);
    let (error, begun, ended) = silent.call(&strategy(&[("attemptTimeoutMs", 200)]), GET, 300).await;
    assert_eq!((begun, ended), (vec![0, 200], 300));
    assert_eq!((error.code(), error.executed()), (Code::DeadlineExceeded, Executed::Maybe));
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_would_pass_the_deadline_is_not_begun() {
    let silent = Failing::new(&[(60_000, Code::DeadlineExceeded, Executed::Maybe)]);
    let settings = [("attemptTimeoutMs", 200), ("backoffMs", 500)];
    let (_, begun, ended) = silent.call(&strategy(&settings), GET, 300).await;
    assert_eq!((begun, ended), (vec![0], 200));
}

#[test]
fn acts_before_a_failure_only_if_attempts_have_a_limit() {
    assert_eq!(strategy(&[("retries", 5), ("backoffMs", 70)]).acts(), Acts::OnFailure);
    assert_eq!(strategy(&[("attemptTimeoutMs", 200)]).acts(), Acts::Always);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_timeout_spares_methods_that_may_run_only_once() {
    let silent = Failing::new(&[(60_000, Code::DeadlineExceeded, Executed::Maybe)]);
    let (_, begun, ended) = silent.call(&strategy(&[("attemptTimeoutMs", 200)]), ADD, 300).await;
    assert_eq!((begun, ended), (vec![0], 300));
}

#[tokio::test(start_paused = true)]
async fn an_error_says_what_any_of_the_runs_may_have_executed() {
    let failing = Failing::new(&[(0, Code::ConnectionLost, Executed::Maybe), (0, Code::Unavailable, Executed::No)]);
    let (error, begun, _) = failing.call(&strategy(&[]), GET, 60_000).await;
    assert_eq!(begun.len(), 3);
    assert_eq!((error.code(), error.executed()), (Code::Unavailable, Executed::Maybe));
    assert_eq!(error.message(), "nothing was sent in 3 runs; the last: as told");
}

#[test]
fn each_instance_is_named_once() {
    assert_eq!(Once(&["b:1", "a:1", "b:1", "c:1", "a:1"]).to_string(), "b:1, a:1, c:1");
}

#[test]
fn a_setting_out_of_range_is_refused_and_named() {
    for (name, value, reason) in [
        ("retries", -1, "invalid value: integer `-1`, expected a number from 0 to 10"),
        ("retries", 11, "invalid value: integer `11`, expected a number from 0 to 10"),
        ("attemptTimeoutMs", 0, "invalid value: integer `0`, expected a number, 1 or more"),
        ("backoffMs", -5, "invalid value: integer `-5`, expected a number, 0 or more"),
        ("retrys", 1, "unknown field `retrys`, expected one of `retries`, `attemptTimeoutMs`, `backoffMs`"),
    ] {
        let settings = Settings::from_table(&HashMap::from([(name, value)])).unwrap();
        let error = extension::build::<dyn FaultStrategy>("failOver", &settings).unwrap_err();
        let refused = error.source().unwrap();
        assert_eq!(refused.to_string(), format!("setting `{name}` is not accepted"));
        assert_eq!(refused.source().unwrap().to_string(), reason);
    }
}

#[test]
fn a_setting_that_is_no_number_is_refused_and_named() {
    let settings = Settings::from_table(&HashMap::from([("retries", "many")])).unwrap();
    let error = extension::build::<dyn FaultStrategy>("failOver", &settings).unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "setting `retries` is not accepted");
}
