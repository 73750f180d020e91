//! Providers and consumers that find each other through etcd, while either of them, or etcd, goes away.

#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]
#![cfg(all(unix, feature = "etcd"))]

mod common;
#[allow(dead_code, reason = "the registry's own tests need more of it")]
#[path = "../../rpc-registry/tests/common/etcd.rs"]
mod etcd;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{until, within};
use etcd::Server as EtcdServer;
use rpc::registry::Discovery;
use rpc::{Client, Code, Context, RpcError, Server, Settings, extension, rpc_service};

/// What the tests ask for, and are granted.
const LEASE: Duration = Duration::from_secs(2);
/// Where a process that is a provider finds its registry.
const REGISTRY: &str = "RPC_TEST_ETCD_REGISTRY";

#[rpc_service(name = "test.Node")]
trait Node {
    /// The instance that answers.
    #[rpc(idempotent)]
    async fn whoami(&self) -> Result<String, RpcError>;
}

struct Here;

impl Node for Here {
    async fn whoami(&self) -> Result<String, RpcError> {
        Ok(Context::current().unwrap().instance().to_owned())
    }
}

fn url(etcd: &EtcdServer) -> String {
    format!("etcd://{}/test?leaseTtl={}", etcd.address(), LEASE.as_secs())
}

async fn serve(url: &str, id: &str) -> Server {
    let server = Server::builder().service(NodeDispatcher::new(Here)).listen("127.0.0.1:0").registry(url).id(id);
    server.start().await.unwrap()
}

fn consumer(url: &str, fault: &str) -> NodeStub {
    Client::builder().registry(url).fault(fault).build().unwrap().stub().unwrap()
}

fn discovery(url: &str) -> Arc<dyn Discovery> {
    let (key, settings) = Settings::from_url(url).unwrap();
    extension::build(key, &settings).unwrap()
}

/// The instances in etcd, with their weights.
async fn registered(discovery: &Arc<dyn Discovery>) -> BTreeMap<String, u32> {
    let list = discovery.lookup("test.Node").await.unwrap();
    list.instances.into_iter().map(|instance| (instance.id, instance.weight)).collect()
}

/// Calls for a while, 200 times a second; gives how often each instance answered.
async fn call_for(node: &NodeStub, time: Duration) -> BTreeMap<String, usize> {
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    let (until, mut answers) = (Instant::now() + time, BTreeMap::new());
    while Instant::now() < until {
        ticks.tick().await;
        *answers.entry(node.whoami().await.unwrap()).or_default() += 1;
    }
    answers
}

/// A provider in a process of its own, with the id `process`.
struct Process(Child);

impl Process {
    fn start(url: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "is_a_provider_in_a_process_of_its_own", "--nocapture"]).env(REGISTRY, url);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let process = Self(child);
        assert!(lines.map_while(Result::ok).any(|line| line.contains("ready")), "the provider did not start");
        process
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test, but what one runs; ends with the process that started it.
#[tokio::test]
async fn is_a_provider_in_a_process_of_its_own() {
    let Ok(url) = std::env::var(REGISTRY) else { return };
    let _server = serve(&url, "process").await;
    println!("ready");
    tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin())).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_is_killed_is_forgotten_in_time_and_no_call_is_lost() {
    let etcd = EtcdServer::start().await;
    let (url, discovery) = (url(&etcd), discovery(&url(&etcd)));
    let _servers = [serve(&url, "a").await, serve(&url, "b").await];
    let mut process = {
        let url = url.clone();
        tokio::task::spawn_blocking(move || Process::start(&url)).await.unwrap()
    };
    let node = consumer(&url, "failOver");
    let before = call_for(&node, Duration::from_millis(300)).await;
    assert!(before.contains_key("process"), "{before:?}");

    process.kill();
    let killed = Instant::now();
    let calling = tokio::spawn(async move { call_for(&node, LEASE + Duration::from_secs(2)).await });
    loop {
        if !registered(&discovery).await.contains_key("process") {
            break;
        }
        assert!(killed.elapsed() < (LEASE + Duration::from_secs(2)) * 3, "still there: {:?}", killed.elapsed());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("gone {:?} after it was killed", killed.elapsed());
    let after = calling.await.unwrap();
    println!("{after:?}");
    assert!(!after.contains_key("process"));
}

#[tokio::test]
async fn a_provider_that_leaves_is_seen_at_weight_0_and_then_not_at_all() {
    let etcd = EtcdServer::start().await;
    let (url, discovery) = (url(&etcd), discovery(&url(&etcd)));
    let server = serve(&url, "a").await;
    let mut watch = discovery.watch("test.Node").await.unwrap().unwrap();
    let mut next = async || {
        let list = within(Duration::from_secs(1), "a list", watch.next()).await.unwrap().unwrap();
        list.instances.into_iter().map(|instance| (instance.id, instance.weight)).collect::<Vec<_>>()
    };
    let mut seen = vec![next().await];
    let leaving = tokio::spawn(server.shutdown());
    while seen.last() != Some(&vec![]) {
        seen.push(next().await);
    }
    let with = |weight| vec![("a".to_owned(), weight)];
    assert_eq!(seen, [with(100), with(0), vec![]]);
    assert_eq!(leaving.await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consumers_go_on_while_etcd_is_away_and_see_what_changes_when_it_is_back() {
    let mut etcd = EtcdServer::start().await;
    let (url, discovery) = (url(&etcd), discovery(&url(&etcd)));
    let _a = serve(&url, "a").await;
    let b = serve(&url, "b").await;
    let client = Client::builder().registry(&url).build().unwrap();
    let node: NodeStub = client.stub().unwrap();
    assert_eq!(call_for(&node, Duration::from_millis(100)).await.len(), 2);

    etcd.stop();
    let answers = call_for(&node, LEASE * 2).await;
    println!("while etcd was away: {answers:?}");
    assert_eq!(answers.len(), 2);
    assert!(client.instances::<NodeStub>().unwrap().failure.unwrap().contains(&etcd.address()));
    // Leaving does not wait for etcd.
    within(Duration::from_millis(1_500), "leaving without etcd", b.shutdown()).await;

    etcd.start_again().await;
    let back = Instant::now();
    let _c = serve(&url, "c").await;
    let knows_both = || {
        let list = client.instances::<NodeStub>().unwrap().list;
        list.iter().map(|instance| instance.id.as_str()).eq(["a", "c"])
    };
    until(Duration::from_secs(5), "consumers see what changed", knows_both).await;
    println!("{:?} after etcd was back", back.elapsed());
    assert_eq!(registered(&discovery).await, BTreeMap::from([("a".to_owned(), 100), ("c".to_owned(), 100)]));
    assert_eq!(call_for(&node, Duration::from_millis(100)).await.len(), 2);
}

#[tokio::test]
async fn both_sides_say_that_etcd_is_not_there_and_a_consumer_waits_for_it() {
    let mut etcd = EtcdServer::start().await;
    let url = url(&etcd);
    etcd.stop();
    let server = Server::builder().service(NodeDispatcher::new(Here)).listen("127.0.0.1:0").registry(&url);
    let error = within(Duration::from_secs(3), "a server without etcd", server.start()).await.unwrap_err();
    assert_eq!(error.to_string(), format!("service `test.Node` cannot be registered in `{url}`"));
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains(&format!("etcd at `{}` does not answer", etcd.address())), "{source}");

    let node = consumer(&url, "failFast");
    let error = within(Duration::from_secs(3), "a call without etcd", node.whoami()).await.unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    assert!(error.to_string().contains(&url), "{error}");

    etcd.start_again().await;
    let _server = serve(&url, "a").await;
    let started = Instant::now();
    while node.whoami().await.is_err() {
        assert!(started.elapsed() < Duration::from_secs(50), "the consumer does not find etcd");
        // A call that knows of no instance fails at once: this is no busier than it needs to be.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("the first call is answered {:?} after etcd was back", started.elapsed());
}

#[tokio::test]
async fn a_password_in_the_url_is_refused_and_not_repeated() {
    let url = "etcd://ann:secret@127.0.0.1:2379";
    let server = Server::builder().service(NodeDispatcher::new(Here)).listen("127.0.0.1:0").registry(url);
    let client = Client::builder().registry(url);
    let mut said = format!("{server:?} {client:?}");
    let errors: [Box<dyn std::error::Error>; 2] =
        [server.start().await.unwrap_err().into(), client.build().unwrap_err().into()];
    for error in errors {
        let mut cause: Option<&dyn std::error::Error> = Some(&*error);
        while let Some(error) = cause {
            said += &format!("\n{error} {error:?}");
            cause = error.source();
        }
    }
    println!("{said}");
    assert!(said.contains("has a user, which is not supported"));
    assert!(!said.contains("secret"));
}
