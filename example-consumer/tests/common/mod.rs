//! The example programs as processes.

#![allow(dead_code, unused_imports, reason = "no test needs all of it")]

#[path = "../../../example-provider/tests/common/mod.rs"]
mod process;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

pub(crate) use process::{Provider, program, signal};

const CONSUMER: &str = env!("CARGO_BIN_EXE_example-consumer");

/// A consumer that is not started.
pub(crate) fn consumer(arguments: &[&str]) -> Command {
    program(Path::new(CONSUMER), arguments)
}

/// A provider on a free port that is ready.
pub(crate) fn provider(registry: &str, id: &str) -> Provider {
    Provider::ready(&mut provider_command(&["--registry", registry, "--listen", "127.0.0.1:0", "--id", id]))
}

/// A provider that is not started. It is another package, which is built into the same place when both are tested.
pub(crate) fn provider_command(arguments: &[&str]) -> Command {
    let path = Path::new(CONSUMER).with_file_name("example-provider");
    assert!(path.exists(), "the provider is not built; test both: cargo test -p example-provider -p example-consumer");
    program(&path, arguments)
}

/// What a consumer of this registry sums up.
pub(crate) fn call(registry: &str, more: &[&str]) -> Summary {
    Summary::of(&mut consumer(&[&["call", "--json", "--registry", registry], more].concat()))
}

/// The consumer's JSON.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Summary {
    pub(crate) requests: u64,
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) degraded: u64,
    pub(crate) by_instance: BTreeMap<String, u64>,
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) attempts: u64,
    pub(crate) elapsed_ms: u64,
    pub(crate) latency_us: Latency,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Latency {
    pub(crate) p50: u64,
    pub(crate) p99: u64,
    pub(crate) max: u64,
}

impl Summary {
    /// What a consumer sums up, which could make calls.
    pub(crate) fn of(consumer: &mut Command) -> Self {
        let output = consumer.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{consumer:?}: {}", String::from_utf8_lossy(&output.stderr));
        Self::read(&output.stdout)
    }

    /// Reads the last line, and checks that it adds up.
    pub(crate) fn read(stdout: &[u8]) -> Self {
        let line = str::from_utf8(stdout).unwrap().lines().last().unwrap();
        let summary: Self = serde_json::from_str(line).unwrap();
        assert_eq!(summary.requests, summary.ok + summary.failed + summary.degraded, "{line}");
        assert_eq!(summary.failed, summary.errors.values().sum::<u64>(), "{line}");
        assert_eq!(summary.answered(), summary.ok + summary.errors["remote"] + summary.errors["application"], "{line}");
        let Latency { p50, p99, max } = summary.latency_us;
        // Latencies have two digits that count.
        let longest = (summary.elapsed_ms + 1) * 1_010;
        assert!(p50 <= p99 && p99 <= max && max <= longest, "{line}");
        summary
    }

    /// Calls that instances answered.
    pub(crate) fn answered(&self) -> u64 {
        self.by_instance.values().sum()
    }
}
