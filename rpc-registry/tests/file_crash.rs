//! A provider that ends without taking its registration back.

#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]
#![cfg(all(unix, feature = "file"))]

#[path = "common/file.rs"]
mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use common::{Process, files, ids, instance, registry, sees, watch};
use rpc_core::registry::{Discovery, Registrar};

/// Not a test, but what one runs.
#[tokio::test]
async fn is_a_provider_in_a_process_of_its_own() {
    common::provide().await;
}

#[tokio::test]
async fn a_provider_that_is_killed_is_gone_at_once_and_its_files_too() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let mut watch = watch(&registry).await;
    let _other = registry.register(instance("other")).await.unwrap();
    for _ in 0..20 {
        let mut process = Process::start(dir.path());
        sees(&mut watch, &["other", "process"]).await;
        process.kill();
        sees(&mut watch, &["other"]).await;
        assert_eq!(ids(&registry).await, ["other"]);
        assert_eq!(files(dir.path()).len(), 2);
    }
}

#[tokio::test]
async fn a_lookup_alone_tells_the_dead_from_the_living_and_removes_them() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let mut processes = [(); 3].map(|()| Process::start(dir.path()));
    assert_eq!(files(dir.path()).len(), 6);
    for process in &mut processes {
        assert_eq!(ids(&registry).await, ["process"]);
        process.kill();
    }
    assert_eq!(ids(&registry).await, [""; 0]);
    assert_eq!(files(dir.path()), [""; 0]);
}

#[tokio::test]
async fn no_directory_means_one_in_the_session_which_nobody_else_enters() {
    let session = tempfile::tempdir().unwrap();
    let _process = Process::start_at("file:", session.path());
    let dir = session.path().join("rpc");
    assert_eq!(ids(&registry(&dir)).await, ["process"]);
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn what_a_crash_in_the_middle_leaves_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let _kept = registry.register(instance("a")).await.unwrap();
    // In the middle of the first value, of an update, and of a release.
    for (name, extensions) in
        [("1-1", vec!["lock", "new"]), ("2-1", vec!["lock", "json", "new"]), ("3-1", vec!["lock"])]
    {
        for extension in extensions {
            fs::write(dir.path().join("user").join(name).with_extension(extension), r#"{"service":"#).unwrap();
        }
    }
    assert_eq!(ids(&registry).await, ["a"]);
    assert_eq!(files(dir.path()).len(), 2);
}

#[tokio::test]
async fn dropping_a_registration_is_as_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let mut watch = watch(&registry).await;
    let registration = registry.register(instance("a")).await.unwrap();
    sees(&mut watch, &["a"]).await;
    let lock = fs::File::open(&common::paths(dir.path(), ".lock")[0]).unwrap();
    drop(registration);
    // Before the runtime has had a turn.
    lock.try_lock_shared().unwrap();
    drop(lock);
    sees(&mut watch, &[]).await;
    assert_eq!(files(dir.path()), [""; 0]);
}

#[tokio::test]
async fn of_two_with_one_id_the_later_counts_while_it_lives() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let of_weight = |weight| instance("a").with_weight(weight);
    let first = registry.register(of_weight(1)).await.unwrap();
    let second = registry.register(of_weight(2)).await.unwrap();
    first.update(of_weight(3)).await.unwrap();
    assert_eq!(registry.lookup("user").await.unwrap().instances, [of_weight(2)]);
    drop(second);
    assert_eq!(registry.lookup("user").await.unwrap().instances, [of_weight(3)]);
    first.release().await.unwrap();
    assert_eq!(ids(&registry).await, [""; 0]);
}

#[tokio::test]
async fn a_provider_whose_files_are_deleted_registers_again() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(&dir.path().join("rpc"));
    let registration = registry.register(instance("a").with_weight(7)).await.unwrap();
    let _other = registry.register(instance("b")).await.unwrap();
    fs::remove_dir_all(dir.path().join("rpc")).unwrap();
    let mut watch = watch(&registry).await;
    sees(&mut watch, &["a", "b"]).await;
    let list = registry.lookup("user").await.unwrap().instances;
    assert_eq!(list, [instance("a").with_weight(7), instance("b")]);
    // One of its files is as good as none, and an update does not wait.
    for extension in [".lock", ".json"] {
        let of_a = |path: &Path| fs::read_to_string(path).unwrap().contains("a.internal");
        let json = common::paths(&dir.path().join("rpc"), ".json").into_iter().find(|path| of_a(path)).unwrap();
        fs::remove_file(json.with_extension(&extension[1..])).unwrap();
        registration.update(instance("a").with_weight(8)).await.unwrap();
        let list = registry.lookup("user").await.unwrap().instances;
        assert_eq!(list, [instance("a").with_weight(8), instance("b")]);
        assert_eq!(files(&dir.path().join("rpc")).len(), 4);
    }
    registration.release().await.unwrap();
    assert_eq!(files(&dir.path().join("rpc")).len(), 2);
}
