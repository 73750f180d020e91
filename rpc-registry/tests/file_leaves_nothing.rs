//! What a watch leaves behind. Alone in its process, whose descriptors it counts.

#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]
#![cfg(all(target_os = "linux", feature = "file"))]

#[path = "common/file.rs"]
mod common;

use std::fs;

use common::{registry, watch};

#[tokio::test]
async fn a_watch_that_is_dropped_leaves_no_thread_and_no_descriptor() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path());
    let inotifies = || {
        let links = fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
        links.filter(|link| link.to_string_lossy().contains("inotify")).count()
    };
    let threads = || {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let names = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok());
        names.filter(|name| name.contains("notify")).count()
    };
    let watches = [watch(&registry).await, watch(&registry).await];
    assert_eq!((inotifies(), threads()), (2, 0));
    drop(watches);
    assert_eq!((inotifies(), threads()), (0, 0));
}
