//! Many instances, and many who write and read at the same time.

#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]
#![cfg(feature = "file")]

#[path = "common/file.rs"]
mod common;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{files, ids, instance, registry};
use rpc_core::registry::{Discovery, Registrar};
use tokio::task::JoinSet;

/// How long the stress lasts.
const STRESS: Duration = Duration::from_secs(3);
const PROVIDERS: usize = 100;
const READERS: usize = 4;

/// What is announced for certain: from after its registration until before its release.
type Announced = Arc<Mutex<BTreeSet<String>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_live_instance_is_missing_while_a_hundred_come_go_and_change() {
    let dir = tempfile::tempdir().unwrap();
    let (announced, ended) = (Announced::default(), Arc::new(AtomicBool::new(false)));
    let rounds = Arc::new(AtomicUsize::new(0));
    let (mut providers, mut readers) = (JoinSet::new(), JoinSet::new());
    for provider in 0..PROVIDERS {
        let (registry, announced) = (registry(dir.path()), Arc::clone(&announced));
        let (ended, rounds) = (Arc::clone(&ended), Arc::clone(&rounds));
        providers.spawn(async move {
            for round in 0.. {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let instance = instance(&format!("{provider}-{round}"));
                let registration = registry.register(instance.clone()).await.unwrap();
                announced.lock().unwrap().insert(instance.id.clone());
                registration.update(instance.clone().with_weight(0)).await.unwrap();
                announced.lock().unwrap().remove(&instance.id);
                // Some crash.
                if (provider + round) % 4 > 0 {
                    registration.release().await.unwrap();
                }
                rounds.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    for _ in 0..READERS {
        let (registry, announced, ended) = (registry(dir.path()), Arc::clone(&announced), Arc::clone(&ended));
        readers.spawn(async move {
            let mut lists = 0;
            while !ended.load(Ordering::Relaxed) {
                let before = announced.lock().unwrap().clone();
                let found = BTreeSet::from_iter(ids(&registry).await);
                let after = announced.lock().unwrap().clone();
                let missing: Vec<_> = before.intersection(&after).filter(|id| !found.contains(*id)).collect();
                assert!(missing.is_empty(), "{missing:?} are missing");
                lists += 1;
            }
            lists
        });
    }
    let started = Instant::now();
    while started.elapsed() < STRESS && !readers.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    ended.store(true, Ordering::Relaxed);
    let lists: usize = readers.join_all().await.into_iter().sum();
    providers.join_all().await;
    println!("{} registrations, {lists} lists", rounds.load(Ordering::Relaxed));
    assert_eq!(ids(&registry(dir.path())).await, [""; 0]);
    assert_eq!(files(dir.path()), [""; 0]);
}

#[tokio::test]
async fn a_thousand_instances_are_listed_quickly() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let mut kept = Vec::new();
    for number in 0..1_000 {
        kept.push(registry.register(instance(&number.to_string())).await.unwrap());
    }
    // The best of several: the machine may be busy.
    let mut best = Duration::MAX;
    for _ in 0..10 {
        let started = Instant::now();
        assert_eq!(registry.lookup("user").await.unwrap().instances.len(), 1_000);
        best = best.min(started.elapsed());
    }
    println!("1,000 instances in {best:?} (promised: 100 ms)");
    assert!(best < Duration::from_millis(1_000), "{best:?}");
}
