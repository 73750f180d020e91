//! What a watch of instances in files tells, and when it ends.

#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]
#![cfg(all(target_os = "linux", feature = "file"))]

#[path = "common/file.rs"]
mod common;

use std::fs;
use std::time::Duration;

use common::{SOON, instance, registry, sees, watch};
use rpc_core::registry::{Discovery, Registrar};
use tokio::time::timeout;

#[tokio::test]
async fn a_watch_may_begin_before_anybody_registered() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(&dir.path().join("not/yet/there"));
    assert_eq!(registry.lookup("user").await.unwrap().instances, []);
    let mut watch = watch(&registry).await;
    sees(&mut watch, &[]).await;
    let _kept = registry.register(instance("a")).await.unwrap();
    sees(&mut watch, &["a"]).await;
}

#[tokio::test]
async fn a_watch_of_a_directory_that_is_deleted_ends_and_another_begins_anew() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let lost = registry.register(instance("lost")).await.unwrap();
    let mut first = watch(&registry).await;
    sees(&mut first, &["lost"]).await;
    drop(lost);
    fs::remove_dir_all(dir.path()).unwrap();
    let mut last = Some(());
    while last.is_some() {
        let next = timeout(SOON * 10, first.next()).await.expect("the watch does not end");
        last = next.map(|list| assert_eq!(list.unwrap().instances, []));
    }
    let mut second = watch(&registry).await;
    sees(&mut second, &[]).await;
    let _kept = registry.register(instance("a")).await.unwrap();
    sees(&mut second, &["a"]).await;
}

#[tokio::test]
async fn a_watch_of_a_directory_that_is_moved_away_ends() {
    let dir = tempfile::tempdir().unwrap();
    let mut watch = watch(&registry(dir.path())).await;
    sees(&mut watch, &[]).await;
    fs::rename(dir.path().join("user"), dir.path().join("other")).unwrap();
    assert!(timeout(SOON * 10, watch.next()).await.expect("the watch does not end").is_none());
}

#[tokio::test]
async fn a_watch_below_a_directory_that_is_moved_away_ends_and_another_begins_anew() {
    let dir = tempfile::tempdir().unwrap();
    let above = dir.path().join("above");
    let registry = registry(&above.join("root"));
    let mut first = watch(&registry).await;
    sees(&mut first, &[]).await;
    fs::rename(&above, dir.path().join("elsewhere")).unwrap();
    let _kept = registry.register(instance("a")).await.unwrap();
    assert!(timeout(SOON * 10, first.next()).await.expect("the watch does not end").is_none());
    let mut second = watch(&registry).await;
    sees(&mut second, &["a"]).await;
}

#[tokio::test]
async fn changes_that_come_together_share_a_list() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let mut watch = watch(&registry).await;
    sees(&mut watch, &[]).await;
    let mut kept = Vec::new();
    for number in 0..200 {
        kept.push(registry.register(instance(&format!("{number:03}"))).await.unwrap());
    }
    // While nobody asks, nothing is read; then everything is.
    let list = timeout(SOON * 10, watch.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(list.instances.len(), 200);
}

#[tokio::test]
async fn looking_does_not_wake_who_watches() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let registration = registry.register(instance("a")).await.unwrap();
    let mut watch = watch(&registry).await;
    sees(&mut watch, &["a"]).await;
    for _ in 0..100 {
        registry.lookup("user").await.unwrap();
    }
    registration.update(instance("a")).await.unwrap();
    // Neither the lookups nor the same value again are a change.
    assert!(timeout(Duration::from_millis(300), watch.next()).await.is_err());
}
