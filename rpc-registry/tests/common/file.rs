//! What the tests of instances in files share.

#![allow(dead_code, reason = "no test needs all of it")]
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rpc_core::ServiceInstance;
use rpc_core::registry::{Discovery, InstanceWatch, Registrar};
use rpc_registry::Files;

pub(crate) type Watch = Box<dyn InstanceWatch>;

/// How many times a promised time a test allows: the machine may be busy.
const ALLOWANCE: u32 = 10;
/// Within this time a change is seen.
pub(crate) const SOON: Duration = Duration::from_secs(1);
/// Where a process that is a provider registers.
const PROVIDER_URL: &str = "RPC_TEST_FILE_REGISTRY";

pub(crate) fn registry(dir: &Path) -> Files {
    Files::from_url(&url(dir)).unwrap()
}

pub(crate) fn url(dir: &Path) -> String {
    format!("file://{}", dir.display())
}

pub(crate) fn instance(id: &str) -> ServiceInstance {
    ServiceInstance::new("user", format!("{id}.internal:80")).with_id(id)
}

/// The ids of a service's instances.
pub(crate) async fn ids(registry: &Files) -> Vec<String> {
    let list = registry.lookup("user").await.unwrap();
    list.instances.into_iter().map(|instance| instance.id).collect()
}

pub(crate) async fn watch(registry: &Files) -> Watch {
    registry.watch("user").await.unwrap().unwrap()
}

/// Waits for the list with these ids.
pub(crate) async fn sees(watch: &mut Watch, ids: &[&str]) {
    let mut last = None;
    let seen = tokio::time::timeout(SOON * ALLOWANCE, async {
        loop {
            let list = watch.next().await.unwrap().unwrap();
            let now: Vec<_> = list.instances.into_iter().map(|instance| instance.id).collect();
            if now == ids {
                return;
            }
            last = Some(now);
        }
    });
    let (started, seen) = (Instant::now(), seen.await);
    assert!(seen.is_ok(), "{ids:?} is not seen, but {last:?}");
    println!("{ids:?} after {:?} (promised: {SOON:?})", started.elapsed());
}

/// The names of the files in the directory of the service.
pub(crate) fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir.join("user")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The files with this extension in the directory of the service.
pub(crate) fn paths(dir: &Path, extension: &str) -> Vec<PathBuf> {
    files(dir).iter().filter(|name| name.ends_with(extension)).map(|name| dir.join("user").join(name)).collect()
}

/// A provider in a process of its own, which runs the test `is_a_provider_in_a_process_of_its_own` of the same file.
pub(crate) struct Process(Child);

impl Process {
    /// Starts one that registers the instance `process`, and waits until it has.
    pub(crate) fn start(dir: &Path) -> Self {
        Self::start_at(&url(dir), &std::env::temp_dir())
    }

    /// The same at a url, in a session with this directory.
    pub(crate) fn start_at(url: &str, runtime_dir: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "is_a_provider_in_a_process_of_its_own", "--nocapture"])
            .env(PROVIDER_URL, url)
            .env("XDG_RUNTIME_DIR", runtime_dir);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let process = Self(child);
        assert!(lines.map_while(Result::ok).any(|line| line.contains("ready")), "the provider did not start");
        process
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What such a process does, until the one that started it ends; nothing in any other.
pub(crate) async fn provide() {
    let Ok(url) = std::env::var(PROVIDER_URL) else { return };
    let registration = Files::from_url(&url).unwrap().register(instance("process")).await.unwrap();
    println!("ready");
    tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin())).await.unwrap().unwrap();
    drop(registration);
}
