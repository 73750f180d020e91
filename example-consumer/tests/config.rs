//! Where the programs take what they are not told from: the environment, a file, and what holds without either.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

mod common;

use std::fs;

use common::{Provider, Summary, consumer, provider, provider_command};
use tempfile::{NamedTempFile, TempDir};

/// A configuration file with this text, and its path.
fn file(text: &str) -> (NamedTempFile, String) {
    let file = NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let path = file.path().to_str().unwrap().to_owned();
    (file, path)
}

#[test]
fn the_programs_find_each_other_without_a_word() {
    let runtime = TempDir::new().unwrap();
    let provider = Provider::ready(provider_command(&[]).env("XDG_RUNTIME_DIR", runtime.path()));
    let summary = Summary::of(consumer(&["call", "--json"]).env("XDG_RUNTIME_DIR", runtime.path()));
    assert_eq!((summary.ok, summary.by_instance[&provider.id]), (1, 1));
    assert!(provider.address.starts_with("127.0.0.1:"), "{}", provider.address);
}

#[test]
fn a_flag_counts_before_the_environment_and_that_before_the_file() {
    let provider = provider("memory:none", "p1");
    let (_file, file) = file(&format!(
        "registry = 'direct://{}'\n[client.services.UserService.methods.nap]\ntimeoutMs = 1",
        provider.address
    ));
    let nap = ["call", "--json", "--config", &file, "--method", "nap", "--nap-ms", "100"];
    let timeouts = |flags: &[&str], environment: Option<&str>| {
        let mut consumer = consumer(&[&nap, flags].concat());
        consumer.envs(environment.map(|timeout| ("RPC_TIMEOUT_MS", timeout)));
        Summary::of(&mut consumer).errors["timeout"]
    };
    assert_eq!(timeouts(&[], None), 1);
    assert_eq!(timeouts(&[], Some("60000")), 0);
    assert_eq!(timeouts(&["--timeout-ms", "1"], Some("60000")), 1);
    assert_eq!(timeouts(&["--timeout-ms", "60000"], Some("1")), 0);
}

#[test]
fn retries_go_to_the_fault_strategy_that_is_configured() {
    let (_file, file) = file("registry = 'direct://127.0.0.1:1'\nclient.fault = { name = 'failOver', retries = 99 }");
    let configured = consumer(&["call", "--config", &file]).output().unwrap();
    assert_eq!(configured.status.code(), Some(2), "{configured:?}");
    let summary = Summary::of(&mut consumer(&["call", "--json", "--config", &file, "--retries", "0"]));
    assert_eq!(summary.errors["unavailable"], 1);
}

#[test]
fn a_provider_is_configured_by_a_file_too_and_a_flag_counts_before_it() {
    let (_file, file) =
        file("registry = 'memory:x'\n[server]\nid = 'by-file'\nlisten = '127.0.0.1:0'\nadvertise = 'a:1'");
    let provider = |more: &[&str]| {
        let provider = Provider::ready(&mut provider_command(&[&["--config", &file], more].concat()));
        (provider.id.clone(), provider.address.clone())
    };
    assert_eq!(provider(&[]), ("by-file".to_owned(), "a:1".to_owned()));
    assert_eq!(provider(&["--id", "by-flag", "--advertise", "b:2"]), ("by-flag".to_owned(), "b:2".to_owned()));
}

#[test]
fn a_mistake_in_the_file_ends_both_programs_with_2_and_is_named() {
    let (_file, file) = file("[client]\ntimeoutMs = 0");
    for mut program in [consumer(&["call", "--config", &file]), provider_command(&["--config", &file])] {
        let output = program.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        let error = "line 2, column 13: `client.timeoutMs`: invalid value: integer `0`, expected a number of";
        assert!(said.starts_with(&format!("error: `{file}`, {error}")), "{said}");
    }
}
