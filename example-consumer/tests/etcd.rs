//! Providers and consumers that find each other through a real etcd, all in processes of their own.

#![cfg(all(unix, feature = "etcd"))]
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

mod common;
#[allow(dead_code, reason = "the registry's own tests need more of it")]
#[path = "../../rpc-registry/tests/common/etcd.rs"]
mod etcd;

use std::fs;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Provider, Summary, call, consumer, provider};
use etcd::Server as EtcdServer;
use example_api::{UserService, UserServiceStub};
use rpc::registry::Discovery;
use rpc::{Client, Settings, extension};

/// How many times a promised time a test allows: the machine may be busy.
const ALLOWANCE: u32 = 10;

/// An etcd, and three providers that are registered there.
struct Stage {
    providers: Vec<Provider>,
    url: String,
    _etcd: EtcdServer,
}

impl Stage {
    async fn set() -> Self {
        let etcd = EtcdServer::start().await;
        let url = format!("etcd://{}/test", etcd.address());
        let providers = ["p1", "p2", "p3"].map(|id| provider(&url, id)).into();
        Self { providers, url, _etcd: etcd }
    }

    /// A consumer at work.
    fn begin(&self, arguments: &str) -> Child {
        let arguments: Vec<_> = arguments.split(' ').collect();
        let mut consumer = consumer(&[&["call", "--json", "--registry", &self.url], &arguments[..]].concat());
        consumer.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Waits until so many consumers have come to a provider.
    async fn visited(&self, position: usize, consumers: usize) {
        let address = &self.providers[position].address;
        let started = Instant::now();
        while connections(address) < consumers {
            assert!(started.elapsed() < Duration::from_secs(10), "no {consumers} consumers at {address}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The ids that are in etcd.
    async fn registered(&self) -> Vec<String> {
        let (key, settings) = Settings::from_url(&self.url).unwrap();
        let discovery: Arc<dyn Discovery> = extension::build(key, &settings).unwrap();
        let list = discovery.lookup("UserService").await.unwrap();
        list.instances.into_iter().map(|instance| instance.id).collect()
    }
}

/// How many connections are open at a listener on 127.0.0.1.
fn connections(address: &str) -> usize {
    let port: u16 = address.rsplit_once(':').unwrap().1.parse().unwrap();
    let (local, established) = (format!("0100007F:{port:04X}"), "01");
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let is_one = |line: &&str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        fields[1] == local && fields[3] == established
    };
    table.lines().filter(is_one).count()
}

/// What a consumer sums up when it is done.
fn sum(consumer: Child) -> Summary {
    let output = consumer.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let summary = Summary::read(&output.stdout);
    println!("{summary:?}");
    summary
}

#[tokio::test]
async fn each_load_balancer_spreads_calls_as_it_says() {
    let stage = Stage::set().await;
    let spread = |arguments: &str| {
        let arguments: Vec<_> = arguments.split(' ').collect();
        let summary = call(&stage.url, &arguments);
        assert_eq!(summary.ok, summary.requests, "{summary:?}");
        println!("{arguments:?}: {:?}", summary.by_instance);
        summary.by_instance
    };
    let turns = spread("--requests 3000 --concurrency 16");
    assert!(turns.len() == 3 && turns.values().all(|answers| (999..=1_001).contains(answers)));
    // 5 times the standard deviation of 3000 draws of 1 in 3.
    let draws = spread("--requests 3000 --concurrency 16 --load-balancer random");
    assert!(draws.len() == 3 && draws.values().all(|answers| (871..=1_129).contains(answers)));
    let key = "--requests 500 --concurrency 16 --load-balancer consistentHash --key x";
    let one = spread(key);
    assert_eq!((one.len(), &one), (1, &spread(key)));
    // By 160 points each: the shares differ by about 1 in the root of that.
    let keys = spread("--requests 30000 --keys 30000 --concurrency 64 --load-balancer consistentHash");
    assert!(keys.len() == 3 && keys.values().all(|answers| (7_000..=13_000).contains(answers)));
}

#[tokio::test]
async fn a_provider_that_is_killed_costs_no_call_under_fail_over() {
    let mut stage = Stage::set().await;
    let whoami = stage.begin("--fault failOver --rate 200 --requests 2000");
    let naps = stage.begin("--fault failOver --method nap --nap-ms 300 --concurrency 30 --requests 600");
    stage.visited(2, 2).await;
    stage.providers[2].process.kill().unwrap();
    let (whoami, naps) = (sum(whoami), sum(naps));
    assert_eq!((whoami.requests, whoami.failed), (2_000, 0));
    assert_eq!((naps.requests, naps.failed), (600, 0));
    assert!(naps.attempts > 600, "no call was under way at the provider");
}

#[tokio::test]
async fn a_provider_that_leaves_costs_no_call_at_all() {
    let mut stage = Stage::set().await;
    let whoami = stage.begin("--rate 500 --requests 2000");
    let naps = stage.begin("--method nap --nap-ms 1500 --timeout-ms 10000 --concurrency 30 --requests 60");
    stage.visited(1, 2).await;
    let told = Instant::now();
    stage.providers[1].signal("-TERM");
    let status = stage.providers[1].ended().await;
    let took = told.elapsed();
    assert_eq!((status.code(), stage.registered().await), (Some(0), vec!["p1".to_owned(), "p3".to_owned()]));
    let (whoami, naps) = (sum(whoami), sum(naps));
    assert_eq!((whoami.ok, naps.ok), (2_000, 60));
    assert!(naps.by_instance["p2"] > 0 && took >= Duration::from_secs(1), "no nap was under way: {took:?}");
}

#[tokio::test]
async fn a_provider_that_is_ready_is_called_soon() {
    let promised = Duration::from_secs(1);
    let stage = Stage::set().await;
    let users: UserServiceStub = Client::builder().registry(&stage.url).build().unwrap().stub().unwrap();
    users.whoami().await.unwrap();
    let _new = provider(&stage.url, "p4");
    let ready = Instant::now();
    while users.whoami().await.unwrap() != "p4" {
        assert!(ready.elapsed() < promised * ALLOWANCE, "p4 was not called within {:?}", ready.elapsed());
    }
    println!("p4 answered {:?} after it was ready (promised: {promised:?})", ready.elapsed());
}

#[tokio::test]
async fn a_registry_that_is_not_there_is_named_and_a_mistake_is_found_without_it() {
    let mut etcd = EtcdServer::start().await;
    let url = format!("etcd://{}/test", etcd.address());
    etcd.stop();
    let output = consumer(&["call", "--registry", &url]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&url) && said.contains("`example-consumer demo`"), "{said}");
    let output = consumer(&["call", "--registry", &url, "--load-balancer", "roundrobin"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("did you mean `roundRobin`?"), "{said}");
    let output = common::provider_command(&["--registry", &url, "--listen", "127.0.0.1:0"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("error: service `UserService` cannot be registered in `{url}`: ")), "{said}");
}
