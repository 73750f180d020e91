//! The provider's command line, run as a user runs it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

mod common;

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::pin::{Pin, pin};
use std::process::Command;
use std::time::Duration;

use common::{Provider, program};
use example_api::{UserService, UserServiceStub};
use rpc::{CallOptions, Client, Code};
use tempfile::TempDir;

const PROVIDER: &str = env!("CARGO_BIN_EXE_example-provider");

/// A provider on a free port, in a registry of its own.
fn provider(more: &[&str]) -> Provider {
    let arguments = [&["--registry", "memory:test", "--listen", "127.0.0.1:0"], more].concat();
    Provider::ready(&mut program(Path::new(PROVIDER), &arguments))
}

/// The code that a provider which does not start ends with, and what it says.
fn refusal(arguments: &[&str]) -> (Option<i32>, String) {
    let output = program(Path::new(PROVIDER), arguments).output().unwrap();
    assert!(output.stdout.is_empty(), "{arguments:?}");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// A stub over a connection that is open.
async fn connected(provider: &Provider) -> UserServiceStub {
    let client = Client::builder().registry(format!("direct://{}", provider.address)).build().unwrap();
    let users: UserServiceStub = client.stub().unwrap();
    assert_eq!(users.whoami().await.unwrap(), provider.id);
    users
}

/// Sends a call, which takes long, and waits until its handler has begun.
async fn begin<T>(users: &UserServiceStub, call: Pin<&mut impl Future<Output = T>>) {
    tokio::select! {
        biased;
        _ = call => panic!("the call is over already"),
        // The connection keeps the order of requests.
        answer = users.whoami() => drop(answer.unwrap()),
    }
}

#[tokio::test]
async fn serves_at_the_address_that_it_is_ready_at_and_has_users_to_ask_for() {
    let provider = provider(&[]);
    assert_eq!(provider.id, provider.address);
    let users = connected(&provider).await;
    assert_eq!(users.get_user(100).await.unwrap().name, "user-100");
}

#[test]
fn is_ready_with_the_id_and_the_address_that_it_is_given() {
    let provider = provider(&["--id", "p 1", "--advertise", "users.internal:9000", "--weight", "0"]);
    assert_eq!((&*provider.id, &*provider.address), ("p 1", "users.internal:9000"));
}

#[tokio::test]
async fn answers_what_is_in_flight_and_leaves_when_it_is_told_to_end() {
    for signal in ["-TERM", "-INT"] {
        let mut provider = provider(&[]);
        let (users, _idle) = (connected(&provider).await, connected(&provider).await);
        let mut nap = pin!(users.nap(500));
        begin(&users, nap.as_mut()).await;
        provider.signal(signal);
        nap.await.unwrap();
        assert_eq!(provider.ended().await.code(), Some(0), "{signal}");
    }
}

#[tokio::test]
async fn leaves_in_order_when_it_is_told_to_as_soon_as_it_is_ready() {
    for signal in ["-TERM", "-INT"] {
        let mut provider = provider(&[]);
        provider.signal(signal);
        assert_eq!(provider.ended().await.code(), Some(0), "{signal}");
    }
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    for (first, second) in [("-TERM", "-TERM"), ("-INT", "-TERM"), ("-TERM", "-INT")] {
        let mut provider = provider(&[]);
        let (users, other) = (connected(&provider).await, connected(&provider).await);
        let users = users.with(CallOptions::new().timeout(Duration::from_secs(60)));
        let mut nap = pin!(users.nap(60_000));
        begin(&users, nap.as_mut()).await;
        provider.signal(first);
        // Once it leaves, it takes no new calls.
        while other.whoami().await.is_ok() {}
        assert!(provider.process.try_wait().unwrap().is_none(), "{first}");
        provider.signal(second);
        // By itself, that is: a process that a signal has killed has no code.
        assert!(provider.ended().await.code() == Some(1), "{first} {second}");
        assert_eq!(nap.await.unwrap_err().code(), Code::ConnectionLost);
    }
}

#[tokio::test]
async fn a_configuration_that_never_ends_does_not_keep_it_from_ending() {
    let directory = TempDir::new().unwrap();
    let pipe = directory.path().join("config");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let process = program(Path::new(PROVIDER), &["--config", pipe.to_str().unwrap()]).spawn().unwrap();
    let mut provider = Provider { process, id: String::new(), address: String::new() };
    // Opens once the provider reads.
    let _silent = File::options().write(true).open(&pipe).unwrap();
    provider.signal("-TERM");
    assert_eq!(provider.ended().await.signal(), Some(15));
}

#[test]
fn who_cannot_be_told_that_it_is_ready_finds_nothing_of_it() {
    let directory = TempDir::new().unwrap();
    let registry = format!("file://{}", directory.path().display());
    let mut provider = program(Path::new(PROVIDER), &["--registry", &registry, "--listen", "127.0.0.1:0"]);
    let output = provider.stdout(File::create("/dev/full").unwrap()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: cannot say that it is ready: "), "{said}");
    let service = fs::read_dir(directory.path().join("UserService")).unwrap();
    assert_eq!(service.map(|entry| entry.unwrap().path()).collect::<Vec<_>>(), [""; 0].map(Path::new));
}

#[test]
fn a_mistake_ends_it_with_2_and_is_named() {
    for (arguments, error) in [
        (&["--listen", "9000"][..], "error: `listen` is `9000`, which is no host:port; write it as `0.0.0.0:9000`\n"),
        (
            &["--registry", "direct://127.0.0.1:9000"],
            "error: `registry`: `direct` only finds instances, nobody registers there; leave the registry out, or name one of: ",
        ),
        (&["--registry", "nowhere"], "error: `registry`: `nowhere` is not a url; "),
        (
            &["--registry", "memori:x"],
            "error: `registry`: unknown registry (to register in) `memori`; did you mean `memory`?",
        ),
        (
            &["--registry", "memory:x", "--advertise", "here"],
            "error: `advertise` is `here`, which is no host:port; write it as `greeter-1.internal:9000`\n",
        ),
        (&["--registry", "memory:x", "--id", ""], "error: the instance id has 0 bytes; give it 1 to 65,535\n"),
        (
            &["--registry", "memory:x", "--id", "a\nready id=b"],
            "error: the instance id \"a\\nready id=b\" has control characters; leave them out\n",
        ),
        (&["--registry", "memory:x", "--advertise", "0.0.0.0:80"], "error: `advertise` is `0.0.0.0:80`, which nobody "),
        (&["--weight", "heavy"], "error: invalid value 'heavy' for '--weight <N>': "),
        (&["--weight", "-1"], "error: invalid value '-1' for '--weight <N>': "),
        (&["127.0.0.1:9000"], "error: unexpected argument '127.0.0.1:9000' found\n"),
    ] {
        let (code, said) = refusal(arguments);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.starts_with(error), "{said}");
    }
}

#[test]
fn a_port_that_is_taken_ends_it_with_1() {
    let taker = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taker.local_addr().unwrap().to_string();
    let (code, said) = refusal(&["--registry", "memory:test", "--listen", &taken]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with(&format!("error: cannot listen on `{taken}`: ")), "{said}");
}
