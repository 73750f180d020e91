//! Every instance in turn, seen from clients.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rpc::registry::{Discovery, InstanceList};
use rpc::{BoxError, BoxFuture, Client, Context, RpcError, Server, ServiceInstance, Settings, register, rpc_service};

mod common;

#[rpc_service(name = "test.Alone")]
trait Alone {
    async fn instance(&self) -> Result<String, RpcError>;
}

#[rpc_service(name = "test.Turns")]
trait Turns {
    async fn instance(&self) -> Result<String, RpcError>;
}

struct Named;

fn instance() -> Result<String, RpcError> {
    Ok(Context::current().unwrap().instance().to_owned())
}

impl Alone for Named {
    async fn instance(&self) -> Result<String, RpcError> {
        instance()
    }
}

impl Turns for Named {
    async fn instance(&self) -> Result<String, RpcError> {
        instance()
    }
}

async fn turns(count: usize) -> (Vec<Server>, Vec<SocketAddr>) {
    let mut servers = Vec::new();
    for _ in 0..count {
        servers.push(common::server(TurnsDispatcher::new(Named)).start().await.unwrap());
    }
    let addresses = servers.iter().map(Server::address).collect();
    (servers, addresses)
}

#[tokio::test]
async fn each_service_of_a_client_has_turns_of_its_own() {
    let at_home = |name| common::server(TurnsDispatcher::new(Named)).id(name).registry("memory:turns");
    let _a = at_home("a").service(AloneDispatcher::new(Named)).start().await.unwrap();
    let _b = at_home("b").start().await.unwrap();
    let client = Client::builder().registry("memory:turns").build().unwrap();
    let (alone, turns): (AloneStub, TurnsStub) = (client.stub().unwrap(), client.stub().unwrap());
    let mut counts: HashMap<String, usize> = HashMap::new();
    for _ in 0..1_000 {
        assert_eq!(alone.instance().await.unwrap(), "a");
        *counts.entry(turns.instance().await.unwrap()).or_default() += 1;
    }
    assert_eq!(counts, HashMap::from([("a".to_owned(), 500), ("b".to_owned(), 500)]));
}

/// What `shuffled:` finds, in another order each time.
static INSTANCES: Mutex<Vec<SocketAddr>> = Mutex::new(Vec::new());
static LOOKUPS: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
struct Shuffled;

impl Discovery for Shuffled {
    fn lookup<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<InstanceList, BoxError>> {
        LOOKUPS.fetch_add(1, Ordering::Relaxed);
        let mut addresses = INSTANCES.lock().unwrap().clone();
        fastrand::shuffle(&mut addresses);
        let instances = addresses.iter().map(|address| ServiceInstance::new(service, address.to_string()));
        let list = InstanceList::new(instances.collect());
        Box::pin(async { Ok(list) })
    }
}

register!(dyn Discovery, "shuffled", |_: &Settings| Ok::<_, BoxError>(Arc::new(Shuffled)));

#[tokio::test]
async fn a_thousand_refreshes_of_an_unchanged_list_do_not_touch_the_sequence() {
    let (_servers, addresses) = turns(5).await;
    INSTANCES.lock().unwrap().clone_from(&addresses);
    let client = Client::builder().registry("shuffled:").refresh(Duration::from_millis(1)).build().unwrap();
    let turns: TurnsStub = client.stub().unwrap();
    let mut round = Vec::new();
    for _ in 0..5 {
        round.push(turns.instance().await.unwrap());
    }
    let mut calls = 0;
    while LOOKUPS.load(Ordering::Relaxed) < 1_000 {
        assert_eq!(turns.instance().await.unwrap(), round[calls % 5], "after {calls} calls");
        calls += 1;
    }
    println!("{calls} calls in turn");
    assert!(calls >= 100);
}

#[tokio::test]
async fn the_first_calls_of_a_thousand_clients_are_spread() {
    let (_servers, addresses) = turns(5).await;
    let mut counts: HashMap<String, u32> = HashMap::new();
    for _ in 0..1_000 {
        let turns: TurnsStub = common::client(&addresses).build().unwrap().stub().unwrap();
        *counts.entry(turns.instance().await.unwrap()).or_default() += 1;
    }
    println!("{counts:?}");
    // Five times the standard deviation around the mean.
    assert!(counts.len() == 5 && counts.values().all(|count| (137..=263).contains(count)), "{counts:?}");
}
