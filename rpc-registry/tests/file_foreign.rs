//! What is in the directory that no provider of this version wrote, and a directory that takes nothing.

#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]
#![cfg(all(unix, feature = "file"))]

#[path = "common/file.rs"]
mod common;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../../rpc/tests/common/log.rs"]
mod log;

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use common::{ids, instance, paths, registry, sees, watch};
use rpc_core::registry::{Discovery, Registrar};
use rpc_core::{BoxError, ServiceInstance};

/// A registration of another program, with this value, as long as the file is kept.
fn by_hand(dir: &Path, name: &str, value: &[u8]) -> File {
    let path = dir.join("user").join(name);
    let lock = File::create(path.with_extension("lock")).unwrap();
    lock.try_lock().unwrap();
    fs::write(path.with_extension("json"), value).unwrap();
    lock
}

#[tokio::test]
async fn a_value_that_is_no_instance_costs_one_warning_and_no_other_instance() {
    log::keep();
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let mut watch = watch(&registry).await;
    let _kept = registry.register(instance("a")).await.unwrap();
    let huge = vec![b'"'; 2 << 20];
    let values = [(1, &b"{\"service\":\"us"[..]), (2, b""), (3, b"[1]"), (4, b"\xff\xfe"), (5, &huge[..])];
    let locks = values.map(|(number, value)| by_hand(dir.path(), &format!("{number}-1"), value));
    // A later version says more.
    let later = br#"{"service":"user","id":"later","address":"later.internal:80","protocol":{"major":9}}"#;
    let _later = by_hand(dir.path(), "6-1", later);
    sees(&mut watch, &["a", "later"]).await;
    for _ in 0..5 {
        assert_eq!(ids(&registry).await, ["a", "later"]);
    }
    for number in 1..=5 {
        let path = dir.path().join(format!("user/{number}-1.json"));
        let warnings = log::since(0, path.to_str().unwrap());
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("this cannot be read as an instance; mend it or delete it"), "{warnings:?}");
    }
    drop(locks);
    assert_eq!(ids(&registry).await, ["a", "later"]);
    assert!(!dir.path().join("user/1-1.json").exists());
}

#[tokio::test]
async fn what_is_not_ours_is_neither_read_nor_removed() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let _kept = registry.register(instance("a")).await.unwrap();
    let (service, value) = (dir.path().join("user"), paths(dir.path(), ".json").remove(0));
    for name in ["README", "x.json", "x.lock", "1-1.json", ".hidden.lock"] {
        fs::copy(&value, service.join(name)).unwrap();
    }
    fs::create_dir(service.join("2-1.lock")).unwrap();
    symlink(service.join("x.lock"), service.join("3-1.lock")).unwrap();
    let before = common::files(dir.path()).len();
    assert_eq!(ids(&registry).await, ["a"]);
    assert_eq!(common::files(dir.path()).len(), before);
}

#[tokio::test]
async fn a_link_out_of_the_directory_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let _kept = registry.register(instance("a")).await.unwrap();
    let _lock = by_hand(dir.path(), "1-1", b"");
    let outside = dir.path().join("outside");
    fs::write(&outside, r#"{"service":"user","id":"outside","address":"outside:80"}"#).unwrap();
    fs::remove_file(dir.path().join("user/1-1.json")).unwrap();
    symlink(&outside, dir.path().join("user/1-1.json")).unwrap();
    assert_eq!(ids(&registry).await, ["a"]);
}

#[tokio::test]
async fn the_value_of_another_service_is_no_instance_here() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let _kept = registry.register(instance("a")).await.unwrap();
    // As on a file system where upper case is lower case.
    let _lock = by_hand(dir.path(), "1-1", br#"{"service":"User","id":"b","address":"b:80"}"#);
    assert_eq!(ids(&registry).await, ["a"]);
}

/// The error and all its sources.
fn said(error: BoxError) -> String {
    let mut said = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        said += &format!(": {error}");
        source = error.source();
    }
    said
}

#[tokio::test]
async fn a_file_in_the_place_of_the_directory_is_said_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let registry = registry(&file);
    let errors = [
        registry.register(instance("a")).await.unwrap_err(),
        registry.lookup("user").await.unwrap_err(),
        registry.watch("user").await.err().unwrap(),
    ];
    for error in errors.map(said) {
        for part in [file.to_str().unwrap(), "something else is in the way, name another directory", "Not a directory"]
        {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

#[tokio::test]
async fn a_directory_that_takes_nothing_is_said_with_its_path() {
    // The kernel's own files, which take none of ours, whoever asks.
    let registry = registry(Path::new("/proc/rpc-test"));
    let error = said(registry.register(instance("a")).await.unwrap_err());
    assert!(error.starts_with("cannot make the directory `/proc/rpc-test"), "{error}");

    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o500)).unwrap();
    if File::create(dir.path().join("root may do everything")).is_ok() {
        return;
    }
    let error = said(common::registry(dir.path()).register(instance("a")).await.unwrap_err());
    for part in [dir.path().to_str().unwrap(), "allow this user to, or name another directory", "Permission denied"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[tokio::test]
async fn a_name_that_is_empty_is_refused_and_any_other_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let error = registry.register(ServiceInstance::new("", "a:1")).await.unwrap_err();
    assert_eq!(error.to_string(), "the service name is empty; give it one");
    let error = registry.register(instance("a").with_id("")).await.unwrap_err();
    assert_eq!(error.to_string(), "the instance id is empty; give it one");
    assert!(registry.lookup("").await.is_err() && registry.watch("").await.is_err());
    for name in ["..", "../user", "a/b", "grüße an alle", "%2E", "."] {
        let instance = ServiceInstance::new(name, "a:1").with_id(name);
        let registration = registry.register(instance.clone()).await.unwrap();
        assert_eq!(registry.lookup(name).await.unwrap().instances, [instance]);
        registration.release().await.unwrap();
    }
    let long = "x".repeat(300);
    let error = said(registry.register(ServiceInstance::new(&long, "a:1")).await.unwrap_err());
    assert!(error.contains(&long) && error.contains("give the service a shorter one"), "{error}");
}
