//! What consumers see of the instances in etcd.

#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]
#![cfg(feature = "etcd")]

mod common;

use std::time::Duration;

use common::etcd::Server;
use common::proxy::Proxy;
use common::{client, ids, instance, key, log, next, registry, until, watch};
use rpc_core::ServiceInstance;
use rpc_core::registry::{Discovery, Registrar};

#[tokio::test]
async fn a_service_is_found_and_watched_by_its_whole_name_alone() {
    let server = Server::start().await;
    let registry = registry(&server.address(), 5);
    let of = |service: &str| ServiceInstance::new(service, format!("{service}.internal:80"));
    let mut kept = Vec::new();
    for service in ["user", "user2", "user-admin", "användare"] {
        kept.push(registry.register(of(service)).await.unwrap());
    }
    assert_eq!(registry.lookup("user").await.unwrap().instances, [of("user")]);
    assert_eq!(registry.lookup("use").await.unwrap().instances, []);
    assert_eq!(ids(&registry, "användare").await, ["användare.internal:80"]);

    let mut watch = watch(&registry).await;
    assert_eq!(next(&mut watch).await, ["user.internal:80"]);
    for (other, service) in kept[1..3].iter().zip(["user2", "user-admin"]) {
        other.update(of(service).with_weight(1)).await.unwrap();
        other.release().await.unwrap();
    }
    kept[0].update(of("user").with_weight(7)).await.unwrap();
    // The changes of the others came first, and no list with them.
    assert_eq!(watch.next().await.unwrap().unwrap().instances, [of("user").with_weight(7)]);
}

#[tokio::test]
async fn a_name_that_would_be_more_than_one_part_of_a_key_is_refused() {
    // Nobody is asked.
    let registry = registry("127.0.0.1:1", 5);
    for name in ["user/x", "", "us er"] {
        for refused in [instance("a").with_id(name), ServiceInstance::new(name, "a:1")] {
            let error = registry.register(refused).await.unwrap_err().to_string();
            assert!(error.contains(&format!("`{name}` is empty or contains `/`, white space")), "{error}");
        }
        assert!(registry.lookup(name).await.is_err());
        assert!(registry.watch(name).await.is_err());
    }
}

#[tokio::test]
async fn every_field_of_an_instance_is_stored_and_found() {
    let server = Server::start().await;
    let registry = registry(&server.address(), 5);
    let full = instance("a").with_weight(0).with_metadata("zone", "west");
    let _kept = registry.register(full.clone()).await.unwrap();
    assert_eq!(registry.lookup("user").await.unwrap().instances, [full]);
    let stored = common::entry(&server, "a").await.unwrap();
    let expected = r#"{"service":"user","id":"a","address":"a.internal:80","weight":0,"metadata":{"zone":"west"}}"#;
    assert_eq!(stored.value_str().unwrap(), expected);
}

#[tokio::test]
async fn nothing_is_lost_between_the_list_and_the_watch() {
    let server = Server::start().await;
    let direct = registry(&server.address(), 5);
    let gone = direct.register(instance("gone")).await.unwrap();
    let proxy = Proxy::to(server.address()).await;
    let consumer = registry(&proxy.address, 5);
    // The list still arrives; the request for the watch after it does not.
    proxy.hold_after("gone.internal:80");
    let mut watch = watch(&consumer).await;
    let (first, _kept) = tokio::join!(next(&mut watch), async {
        proxy.held().await;
        let kept = direct.register(instance("new")).await.unwrap();
        gone.release().await.unwrap();
        proxy.release();
        kept
    });
    let mut seen = first;
    while seen != ["new"] {
        seen = tokio::time::timeout(Duration::from_secs(10), next(&mut watch)).await.expect("an event was lost");
    }
}

#[tokio::test]
async fn a_bad_value_costs_one_warning_and_no_other_instance() {
    log::keep();
    let server = Server::start().await;
    let registry = registry(&server.address(), 5);
    let mut client = client(&server).await;
    let good = |id: &str| format!(r#"{{"service":"x","id":"y","address":"{id}.internal:80","later":[1]}}"#);
    let namespaced = |id: &str| key("user", id);
    client.put(namespaced("a"), good("a"), None).await.unwrap();
    client.put(namespaced("b"), good("b"), None).await.unwrap();
    client.put(namespaced("broken"), r#"{"service":"user","id"#, None).await.unwrap();
    client.put(namespaced("gone"), good("gone"), None).await.unwrap();

    let mut watch = watch(&registry).await;
    assert_eq!(next(&mut watch).await, ["a", "b", "gone"]);
    client.delete(namespaced("gone"), None).await.unwrap();
    assert_eq!(next(&mut watch).await, ["a", "b"]);
    client.put(namespaced("c"), good("c"), None).await.unwrap();
    assert_eq!(next(&mut watch).await, ["a", "b", "c"]);
    // Identity comes from the key.
    assert_eq!(registry.lookup("user").await.unwrap().instances[0], instance("a"));
    assert_eq!(ids(&registry, "user").await, ["a", "b", "c"]);
    let warnings = log::since(0, &namespaced("broken"));
    assert_eq!(warnings.len(), 1, "{warnings:?}");

    // Mended, it is an instance; broken again, it is worth another word.
    client.put(namespaced("broken"), good("broken"), None).await.unwrap();
    assert_eq!(next(&mut watch).await, ["a", "b", "broken", "c"]);
    client.put(namespaced("broken"), "", None).await.unwrap();
    assert_eq!(next(&mut watch).await, ["a", "b", "c"]);
    assert_eq!(log::since(0, &namespaced("broken")).len(), 2);
}

#[tokio::test]
async fn a_watch_says_once_that_etcd_is_away_and_goes_on_when_it_is_back() {
    let mut server = Server::start().await;
    let registry = registry(&server.address(), 60);
    let mut client = client(&server).await;
    client.put(key("user", "a"), r#"{"service":"","id":"","address":"a:1"}"#, None).await.unwrap();
    let mut watch = watch(&registry).await;
    assert_eq!(next(&mut watch).await, ["a"]);

    server.stop();
    let error = watch.next().await.unwrap().unwrap_err().to_string();
    assert!(error.contains(&format!("etcd at `{}` does not answer", server.address())), "{error}");
    // Asked again it waits; given up it loses nothing.
    assert!(tokio::time::timeout(Duration::from_secs(1), watch.next()).await.is_err());

    server.start_again().await;
    client.put(key("user", "b"), r#"{"service":"","id":"","address":"b:1"}"#, None).await.unwrap();
    let now = client.get("x", None).await.unwrap().header().unwrap().revision();
    client.compact(now, None).await.unwrap();
    let mut seen = Vec::new();
    while seen != ["a", "b"] {
        seen = tokio::time::timeout(Duration::from_secs(50), next(&mut watch)).await.expect("the watch does not go on");
    }
    client.delete(key("user", "a"), None).await.unwrap();
    assert_eq!(next(&mut watch).await, ["b"]);
}

#[tokio::test]
async fn a_lookup_ends_in_time_when_etcd_is_silent() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let registry = registry(&silent.local_addr().unwrap().to_string(), 5);
    let error =
        until(Duration::from_secs(3), "a lookup of a silent etcd", || async { registry.lookup("user").await.err() });
    assert!(error.await.to_string().contains("does not answer"));
}
