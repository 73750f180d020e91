//! What the tests against a real etcd share.

#![allow(dead_code, reason = "no test needs all of it")]
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

pub(crate) mod etcd;
#[path = "../../../rpc/tests/common/log.rs"]
pub(crate) mod log;
pub(crate) mod proxy;

use std::time::{Duration, Instant};

use etcd_client::{Client, KeyValue};
use rpc_core::ServiceInstance;
use rpc_core::registry::{Discovery, InstanceWatch};
use rpc_registry::Etcd;

use etcd::Server;

pub(crate) type Watch = Box<dyn InstanceWatch>;

/// The registry at an address, in the namespace `test`.
pub(crate) fn registry(address: &str, lease_ttl: u64) -> Etcd {
    Etcd::from_url(&format!("etcd://{address}/test?leaseTtl={lease_ttl}")).unwrap()
}

pub(crate) fn instance(id: &str) -> ServiceInstance {
    ServiceInstance::new("user", format!("{id}.internal:80")).with_id(id)
}

pub(crate) fn key(service: &str, id: &str) -> String {
    format!("/test/services/{service}/instances/{id}")
}

/// A client of the test's own.
pub(crate) async fn client(server: &Server) -> Client {
    Client::connect([server.address()], None).await.unwrap()
}

/// What etcd has under the key of an instance of `user`.
pub(crate) async fn entry(server: &Server, id: &str) -> Option<KeyValue> {
    let answer = client(server).await.get(key("user", id), None).await.unwrap();
    answer.kvs().first().cloned()
}

/// The lease that an instance of `user` is under.
pub(crate) async fn lease(server: &Server, id: &str) -> Option<i64> {
    entry(server, id).await.map(|entry| entry.lease())
}

/// The ids of a service's instances.
pub(crate) async fn ids(registry: &Etcd, service: &str) -> Vec<String> {
    let list = registry.lookup(service).await.unwrap();
    list.instances.into_iter().map(|instance| instance.id).collect()
}

pub(crate) async fn watch(registry: &Etcd) -> Watch {
    registry.watch("user").await.unwrap().unwrap()
}

/// The ids in the next list, which is no error.
pub(crate) async fn next(watch: &mut Watch) -> Vec<String> {
    let list = watch.next().await.unwrap().unwrap();
    list.instances.into_iter().map(|instance| instance.id).collect()
}

/// Asks again until the answer is what was waited for, and holds the time to the promise, ten times over; gives the time and the answer.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(
    promised: Duration,
    what: &str,
    mut ask: impl FnMut() -> F,
) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            println!("{what}: {:?} (promised: {promised:?})", started.elapsed());
            return answer;
        }
        assert!(started.elapsed() <= promised * 10, "not within ten times {promised:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
