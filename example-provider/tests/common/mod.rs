//! A provider in a process of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a provider may take to leave when nothing keeps it, ten times over.
const LEAVES_WITHIN: Duration = Duration::from_secs(10);

/// A program that is not started, and not configured by the environment of the tests.
pub(crate) fn program(path: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(path);
    command.args(arguments);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RPC_")) {
        command.env_remove(name);
    }
    command
}

/// A provider that serves; killed when it is dropped.
pub(crate) struct Provider {
    pub(crate) process: Child,
    pub(crate) id: String,
    pub(crate) address: String,
}

impl Provider {
    /// Starts it, and waits until it is ready.
    pub(crate) fn ready(command: &mut Command) -> Self {
        let process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut provider = Self { process, id: String::new(), address: String::new() };
        let mut line = String::new();
        BufReader::new(provider.process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready = line.strip_prefix("ready id=").and_then(|rest| rest.strip_suffix('\n')?.split_once(" address="));
        let (id, address) = ready.unwrap_or_else(|| panic!("{command:?} is not ready, but says {line:?}"));
        (provider.id, provider.address) = (id.to_owned(), address.to_owned());
        provider
    }

    /// Sends it a signal, such as `-TERM`.
    pub(crate) fn signal(&self, name: &str) {
        signal(&self.process, name);
    }

    /// Waits until it has ended, which shall be soon.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                println!("{} ended after {:?}", self.id, started.elapsed());
                return status;
            }
            assert!(started.elapsed() <= LEAVES_WITHIN, "{} has not ended after {LEAVES_WITHIN:?}", self.id);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ended_before = self.process.kill();
        let _reaped_before = self.process.wait();
    }
}

/// Sends a process a signal.
pub(crate) fn signal(process: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &process.id().to_string()]).status().unwrap();
    assert!(sent.success());
}
