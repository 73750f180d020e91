//! Nothing that clients or the system do ends a server's accept loop.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::raw::{HELLO, MAX_FRAME, Raw, client_hello};
use common::traffic::{Echo, EchoDispatcher, EchoStub, Mirror};
use common::{hold_to, process, server, stub, until, within};

mod common;

const SERVED_WITHIN: Duration = Duration::from_secs(1);
const DESCRIPTORS: usize = 64;
const CONNECTIONS: usize = 200;
const RESETS: usize = 1_000;
/// How long the processor time is measured for.
const WINDOW: Duration = Duration::from_secs(5);
/// Begins the line in which the child tells its address.
const LISTENING: &str = "listening on ";

#[test]
#[ignore = "the server that the other tests run as a process of its own"]
fn serves_until_it_is_killed() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let server = server(EchoDispatcher::new(Mirror)).start().await.unwrap();
        println!("\n{LISTENING}{}", server.address());
        std::future::pending::<()>().await;
    });
}

/// A server in a process of its own that can open only [`DESCRIPTORS`] files.
struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn start() -> Self {
        let serve =
            format!("ulimit -n {DESCRIPTORS}; exec \"$0\" serves_until_it_is_killed --exact --ignored --nocapture");
        let this = std::env::current_exe().unwrap();
        let mut child = Command::new("sh").arg("-c").arg(serve).arg(this).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.map(Result::unwrap).find_map(|line| line.strip_prefix(LISTENING)?.parse().ok()).unwrap();
        Self { child, address }
    }

    fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Makes a call over a connection of its own; gives the time that it took.
    async fn serves(&mut self, what: &str) {
        let stub: EchoStub = stub(self.address);
        let started = Instant::now();
        // The client gives up on a connection sooner than the promise does.
        while let Err(error) = stub.echo(b"call".to_vec()).await {
            assert!(started.elapsed() < SERVED_WITHIN * 10, "{what}: {error}");
        }
        hold_to(SERVED_WITHIN, started.elapsed(), what);
        assert!(self.is_alive());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Many clients that have said hello.
async fn crowd(address: SocketAddr) -> Vec<Raw> {
    let mut crowd = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut raw = Raw::connect(address).await;
        raw.send(&client_hello(MAX_FRAME)).await.unwrap();
        crowd.push(raw);
    }
    crowd
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_out_of_descriptors_neither_ends_nor_spins() {
    let mut server = Process::start();
    server.serves("a first call").await;
    let mut held = within(SERVED_WITHIN, "all clients wait in line", crowd(server.address)).await;
    let process = server.child.id();
    until(SERVED_WITHIN, "out of descriptors", || process::descriptors(process) >= DESCRIPTORS).await;

    let before = process::cpu_ticks(process);
    tokio::time::sleep(WINDOW).await;
    let used = Duration::from_millis(10 * (process::cpu_ticks(process) - before));
    println!("out of descriptors for {WINDOW:?}, the server used {used:?} of processor time");
    assert!(used < WINDOW / 2, "the server used {used:?} in {WINDOW:?}");
    assert!(process::descriptors(process) >= DESCRIPTORS);
    let mut last = held.pop().unwrap();
    assert!(tokio::time::timeout(Duration::ZERO, last.read()).await.is_err(), "the last client is not served yet");
    assert!(server.is_alive());

    drop(held);
    let hello = within(SERVED_WITHIN, "the last client is greeted", last.read()).await.unwrap().expect("a hello");
    assert_eq!(hello.kind, HELLO);
    server.serves("a call after the release").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_reset_at_once_do_not_end_the_server() {
    let mut server = Process::start();
    for _ in 0..RESETS {
        Raw::connect(server.address).await.reset();
    }
    server.serves("a call after the resets").await;
    let process = server.child.id();
    until(SERVED_WITHIN, "descriptors freed", || process::descriptors(process) < DESCRIPTORS / 2).await;
}
