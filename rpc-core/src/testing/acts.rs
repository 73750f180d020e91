//! A fault strategy is asked when it says that it acts, and is told of the run that was made without it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, timeout};

use super::fake::Fake;
use super::probe::{Counting, Probe, ProbeStub};
use super::{Network, assert_took};
use crate::fault::{Acts, FaultStrategy, Next, Reply};
use crate::lock::lock;
use crate::protocol::frame::{Header, Kind};
use crate::protocol::message::STATUS;
use crate::{
    BoxError, BoxFuture, CallReport, Code, Executed, Invocation, PluginConfig, RpcError, Server, Settings, register,
};

const FULL_ONCE: &str = "10.0.0.0:1";
const BROKEN: &str = "10.0.0.1:1";
const SILENT: &str = "10.0.0.2:1";
const NOBODY: &str = "10.0.0.4:1";
const ALIVE: &str = "10.0.0.3:1";
const LIMIT: Duration = Duration::from_millis(100);

/// The errors that the runs of each call gave to the strategy, by the name of the test.
static SEEN: LazyLock<Mutex<HashMap<String, Vec<Vec<String>>>>> = LazyLock::new(Mutex::default);

/// Makes up to three runs, and drops one that takes too long.
#[derive(Debug, Deserialize)]
struct Thrice {
    test: String,
    acts: When,
    /// Whether runs have a limit of their own.
    #[serde(default)]
    limited: bool,
}

#[derive(Debug, Clone, Copy, Deserialize)]
enum When {
    Always,
    OnFailure,
    Never,
}

impl When {
    fn acts(self) -> Acts {
        match self {
            Self::Always => Acts::Always,
            Self::OnFailure => Acts::OnFailure,
            Self::Never => Acts::Never,
        }
    }
}

impl Thrice {
    fn see<T>(&self, see: impl FnOnce(&mut Vec<Vec<String>>) -> T) -> T {
        see(lock(&SEEN).entry(self.test.clone()).or_default())
    }
}

impl FaultStrategy for Thrice {
    fn call<'a>(&'a self, call: &'a Invocation, next: Next<'a>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        self.see(|calls| calls.push(Vec::new()));
        Box::pin(async move {
            for _ in 0..3 {
                // Never awaited, and so no run.
                drop(next.run(call));
                let run = if self.limited { next.run_within(call, LIMIT * 2) } else { next.run(call) };
                match timeout(LIMIT, run).await {
                    Ok(Ok(reply)) => return Ok(reply),
                    Ok(Err(error)) => self.see(|calls| calls.last_mut().unwrap().push(error.to_string())),
                    Err(_) => {}
                }
            }
            Err(RpcError::new("three runs are over"))
        })
    }

    fn acts(&self) -> Acts {
        self.acts.acts()
    }
}

register!(dyn FaultStrategy, "thrice", |settings: &Settings| Ok::<_, BoxError>(Arc::new(settings.parse::<Thrice>()?)));

/// One broken instance, one that is silent and one that serves, asked in the order of their addresses.
struct Scene {
    test: &'static str,
    network: Network,
    reports: Arc<Mutex<Vec<CallReport>>>,
    _server: Server,
}

impl Scene {
    async fn new(test: &'static str) -> Self {
        let network = Network::default();
        let mut clients = network.listen(BROKEN.parse().unwrap());
        tokio::spawn(async move {
            let mut broken = Fake::server(&mut clients).await;
            loop {
                let header = Header { flags: STATUS, ..Header::plain(Kind::Response, broken.request().await) };
                broken.send(header, b"\x06broken").await;
            }
        });
        let mut clients = network.listen(SILENT.parse().unwrap());
        tokio::spawn(async move {
            let mut silent = Fake::server(&mut clients).await;
            while silent.read().await.is_some() {}
        });
        let _server = network.serve(ALIVE, Counting::default().server()).await;
        Self { test, network, reports: Arc::default(), _server }
    }

    /// A stub of the instances at these addresses, with the strategy.
    fn stub(&self, addresses: &[&str], acts: &str, limited: bool) -> ProbeStub {
        let fault = PluginConfig::new("thrice").with("test", self.test).with("acts", acts).with("limited", limited);
        let reports = Arc::clone(&self.reports);
        let client = self.network.client(&addresses.join(",")).fault(fault);
        client.observe(move |report| lock(&reports).push(report.clone())).build().unwrap().stub().unwrap()
    }

    /// What the strategy has seen.
    fn seen(&self) -> Vec<Vec<String>> {
        lock(&SEEN).get(self.test).cloned().unwrap_or_default()
    }

    /// The runs and the instances of the last call, with their errors.
    fn steps(&self) -> Vec<(u32, String, Option<String>)> {
        let report = lock(&self.reports).pop().unwrap();
        report.steps.into_iter().map(|step| (step.run, step.instance, step.error)).collect()
    }
}

fn broken() -> String {
    "internal: `Probe.echo`: broken".to_owned()
}

#[tokio::test(start_paused = true)]
async fn one_that_acts_on_failure_is_not_asked_when_the_first_run_succeeds() {
    let scene = Scene::new("success").await;
    let probe = scene.stub(&[ALIVE], "OnFailure", false);
    probe.echo("hello".into()).await.unwrap();
    assert_eq!(scene.steps(), [(1, ALIVE.to_owned(), None)]);
    assert!(scene.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_that_acts_always_is_asked_for_every_call() {
    let scene = Scene::new("always").await;
    let probe = scene.stub(&[ALIVE], "Always", false);
    for _ in 0..2 {
        probe.echo("hello".into()).await.unwrap();
        assert_eq!(scene.steps(), [(1, ALIVE.to_owned(), None)]);
    }
    assert_eq!(scene.seen(), [[""; 0]; 2]);
}

#[tokio::test(start_paused = true)]
async fn one_that_never_acts_is_not_asked_when_the_first_run_fails() {
    let scene = Scene::new("never").await;
    let probe = scene.stub(&[BROKEN, ALIVE], "Never", false);
    assert_eq!(probe.echo("hello".into()).await.unwrap_err().code(), Code::Internal);
    assert_eq!(scene.steps(), [(1, BROKEN.to_owned(), Some(broken()))]);
    assert!(scene.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_that_acts_on_failure_is_given_the_failed_run_as_the_first_and_makes_the_next_elsewhere() {
    let scene = Scene::new("failure").await;
    let probe = scene.stub(&[BROKEN, ALIVE], "OnFailure", false);
    assert_eq!(probe.echo("hello".into()).await.unwrap(), "hello");
    assert_eq!(scene.seen(), [[broken()]]);
    assert_eq!(scene.steps(), [(1, BROKEN.to_owned(), Some(broken())), (2, ALIVE.to_owned(), None)]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_run_is_given_also_when_a_limit_is_asked_for() {
    let scene = Scene::new("limited").await;
    let probe = scene.stub(&[BROKEN, ALIVE], "OnFailure", true);
    assert_eq!(probe.echo("hello".into()).await.unwrap(), "hello");
    assert_eq!(scene.seen(), [[broken()]]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_the_strategy_drops_counts_and_the_next_goes_elsewhere() {
    let scene = Scene::new("dropped").await;
    let probe = scene.stub(&[BROKEN, SILENT, ALIVE], "OnFailure", false);
    assert_eq!(probe.echo("hello".into()).await.unwrap(), "hello");
    assert_eq!(scene.seen(), [[broken()]]);
    assert_eq!(scene.steps(), [(1, BROKEN.to_owned(), Some(broken())), (3, ALIVE.to_owned(), None)]);
}

#[tokio::test(start_paused = true)]
async fn a_first_run_that_finds_no_instance_is_one_too() {
    let scene = Scene::new("nobody").await;
    let probe = scene.stub(&[NOBODY], "OnFailure", false);
    probe.echo("hello".into()).await.unwrap_err();
    assert_eq!(scene.seen().concat().len(), 3);
    assert_eq!(scene.steps().iter().map(|(run, ..)| *run).collect::<Vec<_>>(), [1, 2, 3]);
}

/// Does not look at the time: what it does after a run, for longer than any test takes.
#[derive(Debug, Deserialize)]
struct Heedless {
    acts: When,
    /// Whether it tries on at once instead of sleeping.
    insists: bool,
}

impl FaultStrategy for Heedless {
    fn call<'a>(&'a self, call: &'a Invocation, next: Next<'a>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(async move {
            loop {
                if let Ok(reply) = next.run(call).await {
                    return Ok(reply);
                }
                if !self.insists {
                    tokio::time::sleep(LIMIT * 1_000).await;
                }
            }
        })
    }

    fn acts(&self) -> Acts {
        self.acts.acts()
    }
}

register!(dyn FaultStrategy, "heedless", |settings: &Settings| {
    Ok::<_, BoxError>(Arc::new(settings.parse::<Heedless>()?))
});

/// Begins a run and keeps it, but never looks at it again.
#[derive(Debug)]
struct Keeping;

impl FaultStrategy for Keeping {
    fn call<'a>(&'a self, call: &'a Invocation, next: Next<'a>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(async move {
            let mut run = next.run(call);
            let _ = timeout(LIMIT / 2, &mut run).await;
            tokio::time::sleep(LIMIT * 1_000).await;
            run.await
        })
    }
}

register!(dyn FaultStrategy, "keeping", |_: &Settings| Ok::<_, BoxError>(Arc::new(Keeping)));

#[tokio::test(start_paused = true)]
async fn a_strategy_that_keeps_a_run_and_does_not_poll_it_ends_soon_after_the_deadline() {
    let scene = Scene::new("keeping").await;
    let client = scene.network.client(SILENT).fault("keeping").timeout(LIMIT).build().unwrap();
    let started = Instant::now();
    let error = client.stub::<ProbeStub>().unwrap().echo("hello".into()).await.unwrap_err();
    let late = started.elapsed() - LIMIT;
    assert_eq!((error.code(), error.executed()), (Code::DeadlineExceeded, Executed::Maybe), "{error}");
    assert!(late <= Duration::from_millis(110), "{late:?}");
}

/// The error of a call that a heedless strategy carries out, at this instance.
async fn heedless(instance: &str, acts: &str, insists: bool) -> RpcError {
    let scene = Scene::new("heedless").await;
    let fault = PluginConfig::new("heedless").with("acts", acts).with("insists", insists);
    let client = scene.network.client(instance).fault(fault).timeout(LIMIT).build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    let error = probe.echo("hello".into()).await.unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded, "{error}");
    error
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_deadline_whatever_its_strategy_does() {
    for (instance, executed) in [(NOBODY, Executed::No), (BROKEN, Executed::Maybe), (SILENT, Executed::Maybe)] {
        for acts in ["Always", "OnFailure"] {
            let started = Instant::now();
            let error = heedless(instance, acts, false).await;
            assert_took(started, LIMIT);
            assert_eq!(error.executed(), executed, "{acts}: {error}");
        }
    }
}

#[tokio::test]
async fn a_strategy_that_tries_on_without_a_pause_ends_with_the_deadline_too() {
    for acts in ["Always", "OnFailure"] {
        let started = Instant::now();
        heedless(NOBODY, acts, true).await;
        let took = started.elapsed();
        println!("{acts}: {took:?}");
        assert!((LIMIT..LIMIT * 10).contains(&took), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_passed_the_call_on_may_be_asked_by_the_next_run() {
    let scene = Scene::new("passed").await;
    let mut clients = scene.network.listen(FULL_ONCE.parse().unwrap());
    tokio::spawn(async move {
        let mut full_once = Fake::server(&mut clients).await;
        let header = Header { flags: STATUS, ..Header::plain(Kind::Response, full_once.request().await) };
        full_once.send(header, b"\x04full").await;
        let id = full_once.request().await;
        full_once.answer(id, "not any more").await;
    });
    let probe = scene.stub(&[FULL_ONCE, BROKEN, ALIVE], "Always", false);
    assert_eq!(probe.echo("hello".into()).await.unwrap(), "not any more");
    let went: Vec<_> = scene.steps().into_iter().map(|(run, instance, _)| (run, instance)).collect();
    assert_eq!(went, [(1, FULL_ONCE.to_owned()), (1, BROKEN.to_owned()), (2, FULL_ONCE.to_owned())]);
}
