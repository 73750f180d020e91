//! `failOver`: what is repeated, how often, where, and what the caller hears of it.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rpc::extension::keys;
use rpc::loadbalancer::LoadBalancer;
use rpc::{CallOptions, CallReport, Client, Code, Executed, PluginConfig, RpcError, Server, rpc_service};
use serde::{Deserialize, Serialize, Serializer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use common::raw::{Raw, Welcome};
use common::stage::{hello, honest_start};
use common::{client, server, within};

mod common;

#[rpc_service(name = "test.Work")]
trait Work {
    /// Says how often it was asked.
    async fn add(&self) -> Result<usize, RpcError>;

    /// Never answers, but counts.
    async fn hang(&self) -> Result<(), RpcError>;

    /// The same, and may be repeated.
    #[rpc(idempotent)]
    async fn look(&self) -> Result<(), RpcError>;

    /// Refuses with an error of the service's own.
    #[rpc(idempotent)]
    async fn refuse(&self) -> Result<(), Refusal>;

    /// Refuses with the framework's error.
    #[rpc(idempotent)]
    async fn fail(&self) -> Result<(), RpcError>;

    /// Takes what cannot be encoded.
    #[rpc(idempotent)]
    async fn take(&self, value: Unwritable) -> Result<(), RpcError>;
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Refusal {
    NotToday { code: u8 },
    Failed(String),
}

impl From<RpcError> for Refusal {
    fn from(error: RpcError) -> Self {
        Self::Failed(error.to_string())
    }
}

#[derive(Debug, Deserialize)]
struct Unwritable(u8);

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom(format!("{} is secret", self.0)))
    }
}

/// Counts the calls that reach it.
#[derive(Debug, Default, Clone)]
struct Counting(Arc<AtomicUsize>);

impl Counting {
    fn note(&self) -> usize {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Work for Counting {
    async fn add(&self) -> Result<usize, RpcError> {
        Ok(self.note())
    }

    async fn hang(&self) -> Result<(), RpcError> {
        self.note();
        std::future::pending().await
    }

    async fn look(&self) -> Result<(), RpcError> {
        self.hang().await
    }

    async fn refuse(&self) -> Result<(), Refusal> {
        Err(Refusal::NotToday { code: self.note() as u8 })
    }

    async fn fail(&self) -> Result<(), RpcError> {
        self.note();
        Err(RpcError::new("out of paper"))
    }

    async fn take(&self, _: Unwritable) -> Result<(), RpcError> {
        self.note();
        Ok(())
    }
}

/// Three servers that count together.
async fn three_servers() -> (Counting, Vec<Server>, Vec<SocketAddr>) {
    let (service, mut servers) = (Counting::default(), Vec::new());
    for _ in 0..3 {
        servers.push(server(WorkDispatcher::new(service.clone())).start().await.unwrap());
    }
    let addresses = servers.iter().map(Server::address).collect();
    (service, servers, addresses)
}

/// Addresses where nobody listens.
async fn nowhere() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

/// A server that meets each client with a script; how many requests it read.
async fn scripted(welcome: Welcome, hangs_up: bool) -> (SocketAddr, Counting) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, requests) = (listener.local_addr().unwrap(), Counting::default());
    let counting = requests.clone();
    tokio::spawn(async move {
        loop {
            let mut raw = Raw::accept(&listener).await;
            if hangs_up {
                honest_start(&mut raw, &welcome).await;
                counting.note();
            } else {
                raw.send(&hello(&welcome.bytes())).await.unwrap();
                let counting = counting.clone();
                tokio::spawn(async move {
                    while let Ok(Some(_)) = raw.read().await {
                        counting.note();
                    }
                });
            }
        }
    });
    (address, requests)
}

/// What an honest server says of itself.
async fn welcome() -> Welcome {
    let honest = server(WorkDispatcher::new(Counting::default())).start().await.unwrap();
    Raw::greet(honest.address()).await.1
}

/// A stub whose reports are kept.
fn observed(client: rpc::ClientBuilder) -> (WorkStub, Arc<Mutex<Vec<CallReport>>>) {
    let reports: Arc<Mutex<Vec<CallReport>>> = Arc::default();
    let kept = Arc::clone(&reports);
    let client = client.observe(move |report| kept.lock().unwrap().push(report.clone()));
    (client.build().unwrap().stub().unwrap(), reports)
}

fn fail_over(settings: &[(&str, i64)]) -> PluginConfig {
    settings.iter().fold(PluginConfig::new("failOver"), |config, (name, value)| config.with(*name, value))
}

#[tokio::test]
async fn instances_that_refuse_connections_cost_no_call_whatever_the_balancer() {
    for balancer in keys::<dyn LoadBalancer>() {
        let service = Counting::default();
        let alive = server(WorkDispatcher::new(service.clone())).start().await.unwrap();
        let addresses = [nowhere().await, alive.address(), nowhere().await];
        let (work, reports) = observed(client(&addresses).load_balancer(balancer).fault("failOver"));
        let mut callers = JoinSet::new();
        for caller in 0..32 {
            let work = work.with(CallOptions::new().hash_key(format!("caller {caller}")));
            callers.spawn(async move {
                for _ in 0..32 {
                    work.add().await.unwrap();
                }
            });
        }
        callers.join_all().await;
        assert_eq!(service.count(), 1_024, "{balancer}");
        for report in reports.lock().unwrap().iter() {
            let instances: BTreeSet<_> = report.steps.iter().map(|step| &step.instance).collect();
            assert_eq!(instances.len(), report.steps.len(), "{balancer}: {report:?}");
        }
    }
}

#[tokio::test]
async fn every_run_goes_elsewhere_and_the_error_tells_of_all() {
    let welcome = welcome().await;
    let (a, asked_a) = scripted(welcome.clone(), true).await;
    let (b, asked_b) = scripted(welcome, true).await;
    let (work, reports) = observed(client(&[a, b]).fault(fail_over(&[("retries", 5)])));
    let error = work.look().await.unwrap_err();
    assert_eq!((asked_a.count(), asked_b.count()), (3, 3));
    assert_eq!((error.code(), error.executed()), (Code::ConnectionLost, Executed::Maybe));
    let start = error.message().split(';').next().unwrap();
    assert!(
        [format!("6 attempts, at {a}, {b}"), format!("6 attempts, at {b}, {a}")].contains(&start.into()),
        "{error}"
    );
    let cause = "; the last run: `test.Work.look`: the request was sent, then the connection ended: the server closed";
    assert!(error.message().contains(cause), "{error}");
    let report = reports.lock().unwrap().pop().unwrap();
    let instances: Vec<_> = report.steps.iter().map(|step| step.instance.as_str()).collect();
    assert!(instances.windows(2).all(|pair| pair[0] != pair[1]), "{instances:?}");
    assert_eq!((report.error, report.executed), (Some(Code::ConnectionLost), Executed::Maybe));
}

#[tokio::test]
async fn a_lost_connection_is_the_callers_affair_if_the_method_is_not_idempotent() {
    let (address, asked) = scripted(welcome().await, true).await;
    let work: WorkStub = client(&[address]).fault("failOver").build().unwrap().stub().unwrap();
    let error = work.hang().await.unwrap_err();
    assert_eq!((error.code(), error.executed(), asked.count()), (Code::ConnectionLost, Executed::Maybe, 1));
    assert!(error.message().starts_with(&format!("1 attempt, at {address}: `test.Work.hang`")), "{error}");
}

#[tokio::test]
async fn the_services_own_errors_are_answers() {
    let (service, _servers, addresses) = three_servers().await;
    let work: WorkStub = client(&addresses).fault("failOver").build().unwrap().stub().unwrap();
    assert_eq!(work.refuse().await.unwrap_err(), Refusal::NotToday { code: 1 });
    let error = work.fail().await.unwrap_err();
    assert_eq!((error.code(), error.to_string()), (Code::Remote, "remote error: out of paper".to_owned()));
    assert_eq!(service.count(), 2);
}

#[tokio::test]
async fn arguments_that_cannot_be_encoded_are_not_sent() {
    let (service, _servers, addresses) = three_servers().await;
    let work: WorkStub = client(&addresses).fault("failOver").build().unwrap().stub().unwrap();
    let error = work.take(Unwritable(7)).await.unwrap_err();
    assert_eq!((error.code(), error.executed(), service.count()), (Code::Codec, Executed::No, 0));
    assert!(error.message().contains("`test.Work.take`"), "{error}");
}

#[tokio::test]
async fn a_method_that_no_instance_has_is_not_asked_for() {
    let mut lacking = welcome().await;
    lacking.methods.retain(|entry| entry.1 != "look");
    let (mut addresses, mut asked) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let (address, requests) = scripted(lacking.clone(), false).await;
        addresses.push(address);
        asked.push(requests);
    }
    let work: WorkStub = client(&addresses).fault("failOver").build().unwrap().stub().unwrap();
    let error = work.look().await.unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::MethodNotFound, Executed::No));
    assert_eq!(asked.iter().map(Counting::count).sum::<usize>(), 0);
}

#[tokio::test]
async fn a_method_without_an_answer_is_repeated_only_if_it_is_idempotent() {
    let (service, _servers, addresses) = three_servers().await;
    let settings = [("attemptTimeoutMs", 200)];
    let client = client(&addresses).fault(fail_over(&settings)).timeout(Duration::from_secs(2));
    let (work, reports) = observed(client);
    let error = within(Duration::from_secs(2), "the only attempt", work.hang()).await.unwrap_err();
    assert_eq!((error.code(), error.executed(), service.count()), (Code::DeadlineExceeded, Executed::Maybe, 1));
    let error = within(Duration::from_millis(600), "three attempts", work.look()).await.unwrap_err();
    assert_eq!((error.code(), error.executed(), service.count()), (Code::DeadlineExceeded, Executed::Maybe, 4));
    assert!(error.message().contains("the time for one attempt passed"), "{error}");
    let report = reports.lock().unwrap().pop().unwrap();
    let instances: BTreeSet<_> = report.steps.iter().map(|step| &step.instance).collect();
    assert_eq!(instances.len(), 3, "{report:?}");
}

#[tokio::test]
async fn all_attempts_share_one_deadline() {
    let (service, _servers, addresses) = three_servers().await;
    for (backoff, sent, ends) in [(0, 2, 300), (500, 1, 200)] {
        let before = service.count();
        let settings = [("attemptTimeoutMs", 200), ("backoffMs", backoff)];
        let client = client(&addresses).fault(fail_over(&settings)).timeout(Duration::from_millis(300));
        let work: WorkStub = client.build().unwrap().stub().unwrap();
        let error = within(Duration::from_millis(ends), "all attempts", work.look()).await.unwrap_err();
        assert_eq!((error.code(), service.count() - before), (Code::DeadlineExceeded, sent));
    }
}

#[tokio::test]
async fn no_retries_means_one_attempt() {
    let (address, asked) = scripted(welcome().await, true).await;
    let work: WorkStub = client(&[address]).fault(fail_over(&[("retries", 0)])).build().unwrap().stub().unwrap();
    work.look().await.unwrap_err();
    assert_eq!(asked.count(), 1);
}

#[tokio::test]
async fn a_bad_setting_is_refused_when_the_client_is_built() {
    let client = || Client::builder().registry("direct://127.0.0.1:1");
    for (name, value) in HashMap::from([("retries", "-1"), ("attemptTimeoutMs", "soon"), ("retrys", "2")]) {
        let error = client().fault(PluginConfig::new("failOver").with(name, value)).build().unwrap_err();
        assert_eq!(error.to_string(), "`client.fault`: fault strategy `failOver` refuses its settings");
        assert_eq!(error.source().unwrap().to_string(), format!("setting `{name}` is not accepted"));
    }
}
