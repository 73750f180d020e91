//! Who may register in etcd, and what is said to those who may not.

#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]
#![cfg(feature = "etcd")]

mod common;

use std::time::{Duration, Instant};

use common::etcd::Server;
use common::{entry, ids, instance, lease, registry, until};
use rpc_core::registry::{Registrar, Registration};
use rpc_core::{BoxError, ServiceInstance};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// A provider at `a.internal:80` with the id `a`, until its runtime ends.
async fn provider(server: &Server, lease_ttl: u64) -> (Runtime, Box<dyn Registration>) {
    let (address, runtime) = (server.address(), Runtime::new().unwrap());
    let registering = runtime.spawn(async move {
        let registry = registry(&address, lease_ttl);
        registry.register(instance("a")).await.unwrap()
    });
    let registration = registering.await.unwrap();
    (runtime, registration)
}

fn elsewhere() -> ServiceInstance {
    ServiceInstance::new("user", "b.internal:80").with_id("a")
}

#[tokio::test]
async fn an_id_that_another_provider_has_is_refused_with_both_addresses() {
    let server = Server::start().await;
    let first = registry(&server.address(), 60);
    let registration = first.register(instance("a")).await.unwrap();
    // In another process, and in the same one.
    for second in [registry(&server.address(), 60), first.clone()] {
        let error = second.register(elsewhere()).await.unwrap_err().to_string();
        for part in ["`a` of service `user`", "at `a.internal:80`", "at `b.internal:80`", "another id"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    assert!(entry(&server, "a").await.unwrap().value_str().unwrap().contains("a.internal:80"));
    registration.release().await.unwrap();
    let _second = registry(&server.address(), 60).register(elsewhere()).await.unwrap();
}

#[tokio::test]
async fn a_provider_that_crashed_takes_its_id_over_when_it_is_back_at_its_address() {
    let server = Server::start().await;
    let (crashed, _registration) = provider(&server, 2).await;
    let before = lease(&server, "a").await.unwrap();
    crashed.shutdown_background();
    let again = registry(&server.address(), 2);
    let _again = again.register(instance("a")).await.unwrap();
    let after = lease(&server, "a").await.unwrap();
    assert_ne!(before, after);
    // The earlier lease expires and takes nothing with it.
    let ended = Instant::now();
    while ended.elapsed() < Duration::from_secs(5) {
        assert_eq!(lease(&server, "a").await, Some(after));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_provider_that_crashed_gets_its_id_at_another_address_when_its_lease_is_over() {
    let server = Server::start().await;
    let (crashed, _registration) = provider(&server, 2).await;
    crashed.shutdown_background();
    let again = registry(&server.address(), 2);
    assert!(again.register(elsewhere()).await.is_err());
    let kept = until(Duration::from_secs(4), "the id is free", || async { again.register(elsewhere()).await.ok() });
    let _kept = kept.await;
    assert!(entry(&server, "a").await.unwrap().value_str().unwrap().contains("b.internal:80"));
}

#[tokio::test]
async fn releasing_leaves_what_another_provider_has_under_the_same_id() {
    let server = Server::start().await;
    let (cut_off, registration) = provider(&server, 60).await;
    // Another one at the same address takes it over.
    let second = registry(&server.address(), 60);
    let _second = second.register(instance("a")).await.unwrap();
    cut_off.spawn(async move { registration.release().await.unwrap() }).await.unwrap();
    assert_eq!(ids(&second, "user").await, ["a"]);
    cut_off.shutdown_background();
}

async fn fails_in_time(address: &str) -> BoxError {
    let started = Instant::now();
    let error = registry(address, 5).register(instance("a")).await.unwrap_err();
    println!("{address}: {error} after {:?}", started.elapsed());
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    let text = format!("cannot get a lease: etcd at `{address}` does not answer; check that it runs there");
    assert!(error.to_string().starts_with(&text), "{error}");
    error
}

#[tokio::test]
async fn registering_fails_within_three_seconds_without_etcd_and_names_it() {
    // Nobody listens here, as the port is taken without listening.
    let taken = tokio::net::TcpSocket::new_v4().unwrap();
    taken.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let error = fails_in_time(&taken.local_addr().unwrap().to_string()).await;
    assert!(error.source().unwrap().to_string().contains("tcp connect error"), "{:?}", error.source());

    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    fails_in_time(&silent.local_addr().unwrap().to_string()).await;
}

#[tokio::test]
async fn one_of_several_endpoints_is_enough() {
    let server = Server::start().await;
    let taken = tokio::net::TcpSocket::new_v4().unwrap();
    taken.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let registry = registry(&format!("{},{}", taken.local_addr().unwrap(), server.address()), 2);
    let registration = registry.register(instance("a")).await.unwrap();
    for weight in 0..20 {
        registration.update(instance("a").with_weight(weight)).await.unwrap();
        assert_eq!(ids(&registry, "user").await, ["a"]);
    }
    registration.release().await.unwrap();
}
