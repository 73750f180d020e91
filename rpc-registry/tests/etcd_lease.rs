//! What providers announce in etcd, and keep announced whatever happens to the lease.

#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]
#![cfg(feature = "etcd")]

mod common;

use std::time::{Duration, Instant};

use common::etcd::Server;
use common::proxy::Proxy;
use common::{client, entry, ids, instance, key, lease, log, registry, until};
use rpc_core::registry::Registrar;
use rpc_core::{ServiceInstance, registry::Registration};

/// The lease that tests ask for, and what they are granted, in seconds.
const TTL: u64 = 2;
/// How soon an instance is back once that is possible: a third of the lease, and 2 s.
const BACK_WITHIN: Duration = Duration::from_millis(TTL * 1_000 / 3 + 2_000);

/// The warnings of the registrar of an etcd.
fn warnings(address: &str) -> Vec<String> {
    log::since(0, &format!("etcd={address}"))
}

/// Holds a time to what was promised, with less than the usual allowance: the promise has seconds to spare.
fn hold_to(promised: Duration, since: Instant, what: &str) {
    let measured = since.elapsed();
    println!("{what}: {measured:?} (promised: {promised:?})");
    assert!(measured <= promised * 3, "{what}: {measured:?}, promised were {promised:?}");
}

async fn leases(server: &Server) -> Vec<i64> {
    let answer = client(server).await.leases().await.unwrap();
    answer.leases().iter().map(|lease| lease.id()).collect()
}

#[tokio::test]
async fn all_instances_of_a_registrar_are_under_one_lease_that_goes_with_the_last() {
    let server = Server::start().await;
    let registry = registry(&server.address(), 5);
    let a = registry.register(instance("a")).await.unwrap();
    let b = registry.register(instance("b")).await.unwrap();
    let orders = registry.register(ServiceInstance::new("order", "a:1")).await.unwrap();
    let [only] = leases(&server).await[..] else { panic!("one lease") };
    assert_eq!((lease(&server, "a").await, lease(&server, "b").await), (Some(only), Some(only)));

    a.release().await.unwrap();
    a.release().await.unwrap();
    assert_eq!((lease(&server, "a").await, lease(&server, "b").await), (None, Some(only)));
    orders.release().await.unwrap();
    assert_eq!(leases(&server).await, [only]);
    b.release().await.unwrap();
    assert!(leases(&server).await.is_empty());

    // And comes again with the next.
    let _again = registry.register(instance("a")).await.unwrap();
    let [another] = leases(&server).await[..] else { panic!("one lease") };
    assert_eq!(lease(&server, "a").await, Some(another));
}

#[tokio::test]
async fn an_update_stays_under_the_lease_and_changes_neither_service_nor_id() {
    let server = Server::start().await;
    let registry = registry(&server.address(), 5);
    let registration = registry.register(instance("a")).await.unwrap();
    let before = lease(&server, "a").await;
    registration.update(instance("a").with_weight(0)).await.unwrap();
    assert!(entry(&server, "a").await.unwrap().value_str().unwrap().contains(r#""weight":0"#));
    assert_eq!(lease(&server, "a").await, before);
    registration.update(instance("b")).await.unwrap_err();
    registration.release().await.unwrap();
    registration.update(instance("a")).await.unwrap_err();
    assert_eq!(ids(&registry, "user").await, Vec::<String>::new());
}

#[tokio::test]
async fn an_instance_that_is_dropped_is_taken_out() {
    let server = Server::start().await;
    let registry = registry(&server.address(), 60);
    let a = registry.register(instance("a")).await.unwrap();
    let b = registry.register(instance("b")).await.unwrap();
    let gone = async |id: &'static str| {
        until(Duration::from_millis(200), "a dropped instance is gone", || async {
            entry(&server, id).await.is_none().then_some(())
        })
        .await;
    };
    drop(a);
    gone("a").await;
    // The same without anybody who could register others.
    drop(registry);
    assert!(entry(&server, "b").await.is_some());
    drop(b);
    gone("b").await;
    until(Duration::from_millis(200), "the lease is gone", || async { leases(&server).await.is_empty().then_some(()) })
        .await;
}

#[tokio::test]
async fn what_was_under_a_lease_that_was_revoked_is_back_under_another() {
    log::keep();
    let server = Server::start().await;
    let registry = registry(&server.address(), TTL);
    let _a = registry.register(instance("a")).await.unwrap();
    let b = registry.register(instance("b")).await.unwrap();
    b.update(instance("b").with_weight(7)).await.unwrap();
    let lost = lease(&server, "a").await.unwrap();

    client(&server).await.lease_revoke(lost).await.unwrap();
    let revoked = Instant::now();
    for id in ["a", "b"] {
        until(BACK_WITHIN, "back under another lease", || async {
            lease(&server, id).await.filter(|found| *found != lost)
        })
        .await;
    }
    hold_to(BACK_WITHIN, revoked, "after the lease was revoked, both instances are back");
    assert!(entry(&server, "b").await.unwrap().value_str().unwrap().contains(r#""weight":7"#));
    let warnings = warnings(&server.address());
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[tokio::test]
async fn an_instance_is_back_after_etcd_was_away_for_three_times_the_lease() {
    log::keep();
    let mut server = Server::start().await;
    let registry = registry(&server.address(), TTL);
    let registration = registry.register(instance("a")).await.unwrap();
    let lost = lease(&server, "a").await.unwrap();

    server.stop();
    let away = Instant::now();
    // What is wanted changes meanwhile, though nobody can be told.
    let error = registration.update(instance("a").with_weight(7)).await.unwrap_err().to_string();
    assert!(error.contains(&server.address()), "{error}");
    tokio::time::sleep_until((away + Duration::from_secs(3 * TTL)).into()).await;
    server.start_again().await;

    let reachable = Instant::now();
    until(BACK_WITHIN, "back under another lease", || async {
        lease(&server, "a").await.filter(|found| *found != lost)
    })
    .await;
    hold_to(BACK_WITHIN, reachable, "after etcd came back, the instance is back");
    assert!(entry(&server, "a").await.unwrap().value_str().unwrap().contains(r#""weight":7"#));
    let warnings = warnings(&server.address());
    assert_eq!(warnings.len(), 1, "{warnings:?}");

    // The old lease takes nothing with it.
    until(Duration::from_secs(TTL + 2), "the old lease is over", || async {
        (leases(&server).await.len() == 1).then_some(())
    })
    .await;
    assert!(entry(&server, "a").await.is_some());
}

#[tokio::test]
async fn an_outage_is_told_once_when_it_begins_and_once_when_it_ends() {
    log::keep();
    let mut server = Server::start().await;
    // So long that etcd is looked at several times before the lease is given up.
    let registry = registry(&server.address(), 9);
    let _registration = registry.register(instance("a")).await.unwrap();
    let etcd = format!("etcd={}", server.address());
    let told = || log::lines(0, &etcd);

    server.stop();
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert!(matches!(&told()[..], [begin] if begin.starts_with("WARN")), "{:?}", told());
    server.start_again().await;
    until(Duration::from_secs(3), "the end is told", || async { (told().len() > 1).then_some(()) }).await;
    assert!(matches!(&told()[..], [_, end] if end.starts_with("INFO")), "{:?}", told());
}

#[tokio::test]
async fn an_instance_that_somebody_deleted_is_back_under_the_same_lease() {
    let server = Server::start().await;
    let registry = registry(&server.address(), TTL);
    let _a = registry.register(instance("a")).await.unwrap();
    let _b = registry.register(instance("b")).await.unwrap();
    let first = lease(&server, "a").await;
    client(&server).await.delete(key("user", "a"), None).await.unwrap();
    until(BACK_WITHIN, "back", || async { lease(&server, "a").await.filter(|found| Some(*found) == first) }).await;
}

#[tokio::test]
async fn an_instance_is_back_after_etcd_lost_its_data() {
    let mut server = Server::start().await;
    let registry = registry(&server.address(), TTL);
    let _a = registry.register(instance("a")).await.unwrap();
    server.stop();
    server.wipe();
    server.start_again().await;
    let reachable = Instant::now();
    until(BACK_WITHIN, "back", || lease(&server, "a")).await;
    hold_to(BACK_WITHIN, reachable, "after etcd lost its data, the instance is back");
}

#[tokio::test]
async fn an_instance_stays_under_its_lease_when_the_connection_is_cut_for_less_than_that() {
    log::keep();
    let server = Server::start().await;
    let proxy = Proxy::to(server.address()).await;
    let registry = registry(&proxy.address, 4);
    let _a = registry.register(instance("a")).await.unwrap();
    let first = lease(&server, "a").await;
    assert!(first.is_some());
    let until = Instant::now() + Duration::from_secs(9);
    for round in 0.. {
        // Now the stream alone, now for longer than it takes to renew the lease.
        proxy.cut();
        if round % 2 == 1 {
            tokio::time::sleep(Duration::from_millis(1_500)).await;
        }
        proxy.heal();
        let healed = Instant::now();
        while healed.elapsed() < Duration::from_secs(2) {
            assert_eq!(lease(&server, "a").await, first, "in round {round}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if Instant::now() > until {
            break;
        }
    }
    println!("{:?}", warnings(&proxy.address));
}

#[tokio::test]
async fn a_crashed_provider_is_gone_when_its_lease_is() {
    let server = Server::start().await;
    let (address, crashed) = (server.address(), tokio::runtime::Runtime::new().unwrap());
    let registered = crashed.spawn(async move {
        let registry = registry(&address, TTL);
        registry.register(instance("a")).await.unwrap()
    });
    // Kept, so that nothing but the lease takes the instance out.
    let _registration: Box<dyn Registration> = registered.await.unwrap();
    tokio::time::sleep(Duration::from_secs(2 * TTL)).await;
    assert!(entry(&server, "a").await.is_some(), "it lives, so it is renewed");
    crashed.shutdown_background();
    let ended = Instant::now();
    until(Duration::from_secs(TTL + 2), "gone", || async { entry(&server, "a").await.is_none().then_some(()) }).await;
    hold_to(Duration::from_secs(TTL + 2), ended, "after a crash, the instance is gone");
}

#[tokio::test]
async fn a_lease_is_renewed_by_the_time_that_etcd_granted_not_by_what_was_asked() {
    // Of so slow an etcd no lease is shorter than 5 s.
    let server = Server::start_with(&["--election-timeout", "3000", "--heartbeat-interval", "300"]).await;
    let registry = registry(&server.address(), TTL);
    let _a = registry.register(instance("a")).await.unwrap();
    let first = lease(&server, "a").await.unwrap();
    let left = async || client(&server).await.lease_time_to_live(first, None).await.unwrap().ttl();
    // A third of 5 s is let pass, down to 3.3 s; a third of 2 s would never show less than 4 s, in whole ones.
    let third = Duration::from_millis(5_000 / 3);
    until(third, "a third of the lease is over", || async { (1..=3).contains(&left().await).then_some(()) }).await;
    until(third, "it is renewed", || async { (left().await >= 4).then_some(()) }).await;
    assert_eq!(lease(&server, "a").await, Some(first));
}
