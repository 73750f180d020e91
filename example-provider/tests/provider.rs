//! The provider's command line, run as a user runs it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::io::{BufRead, BufReader};
use std::pin::{Pin, pin};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use example_api::{UserService, UserServiceStub};
use rpc::{CallOptions, Client, Code};

/// How long a provider may take to leave when nothing keeps it, ten times over.
const LEAVES_WITHIN: Duration = Duration::from_secs(10);

fn provider(arguments: &[&str]) -> Command {
    let mut provider = Command::new(env!("CARGO_BIN_EXE_example-provider"));
    provider.args(arguments);
    provider
}

/// A provider that serves; killed when it is dropped.
struct Serving {
    process: Child,
    address: String,
}

impl Serving {
    fn start() -> Self {
        let process = provider(&["127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut serving = Self { process, address: String::new() };
        let mut line = String::new();
        BufReader::new(serving.process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("serving UserService on ").and_then(|rest| rest.split_once(';')).unwrap().0;
        serving.address = address.to_owned();
        serving
    }

    /// A stub over a connection that is open.
    async fn connected(&self) -> UserServiceStub {
        let client = Client::builder().registry(format!("direct://{}", self.address)).build().unwrap();
        let users: UserServiceStub = client.stub().unwrap();
        assert_eq!(users.whoami().await.unwrap(), self.address);
        users
    }

    fn signal(&self, name: &str) {
        let killed = Command::new("kill").args([name, &self.process.id().to_string()]).status().unwrap();
        assert!(killed.success());
    }

    /// Waits until it has ended, which shall be soon.
    async fn ended(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                println!("ended after {:?}", started.elapsed());
                return status;
            }
            assert!(started.elapsed() <= LEAVES_WITHIN, "it has not ended after {LEAVES_WITHIN:?}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ended_before = self.process.kill();
        let _reaped_before = self.process.wait();
    }
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
async fn answers_what_is_in_flight_and_leaves_when_it_is_told_to_end() {
    for signal in ["-TERM", "-INT"] {
        let mut provider = Serving::start();
        let (users, _idle) = (provider.connected().await, provider.connected().await);
        let mut nap = pin!(users.nap(500));
        begin(&users, nap.as_mut()).await;
        provider.signal(signal);
        nap.await.unwrap();
        assert_eq!(provider.ended().await.code(), Some(0), "{signal}");
    }
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    for (first, second) in [("-TERM", "-TERM"), ("-INT", "-TERM"), ("-TERM", "-INT")] {
        let mut provider = Serving::start();
        let (users, other) = (provider.connected().await, provider.connected().await);
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

#[test]
fn says_why_it_cannot_listen() {
    let output = provider(&["nowhere"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.starts_with("error: cannot listen on `nowhere`: "), "{error}");
}

#[test]
fn more_than_an_address_gets_the_usage() {
    for arguments in [&["127.0.0.1:0", "more"][..], &["--help"]] {
        let output = provider(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: example-provider [ADDRESS]\n"));
    }
}
