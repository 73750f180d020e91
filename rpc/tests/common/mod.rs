//! What the tests over real sockets share.

#![allow(dead_code, unused_imports, unused_macros, reason = "no test needs all of it")]
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

pub(crate) mod log;
pub(crate) mod process;
pub(crate) mod raw;
pub(crate) mod stage;
pub(crate) mod traffic;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rpc::generated::{Dispatch, Stub};
use rpc::{Client, ClientBuilder, Server, ServerBuilder};

/// How many times a promised time a test allows: the machine may be busy.
const ALLOWANCE: u32 = 10;

/// A server that is not started, for a port of its own on loopback.
pub(crate) fn server(dispatcher: impl Dispatch) -> ServerBuilder {
    Server::builder().service(dispatcher).listen("127.0.0.1:0")
}

/// A client that is not built, of these addresses.
pub(crate) fn client(addresses: &[SocketAddr]) -> ClientBuilder {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    Client::builder().registry(format!("direct://{}", addresses.join(",")))
}

/// A stub of a client of its own.
pub(crate) fn stub<S: Stub>(address: SocketAddr) -> S {
    client(&[address]).build().unwrap().stub().unwrap()
}

/// Prints what was measured, and holds it to the promise, with the allowance.
pub(crate) fn hold_to(promised: Duration, measured: Duration, what: &str) {
    println!("{what}: {measured:?} (promised: {promised:?})");
    assert!(measured <= promised * ALLOWANCE, "{what}: {measured:?}, promised were {promised:?}");
}

/// Waits until `condition` holds; gives the time that it took, and holds it to the promise.
pub(crate) async fn until(promised: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() <= promised * ALLOWANCE, "not within {ALLOWANCE} times {promised:?}: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    hold_to(promised, started.elapsed(), what);
}

/// Waits for `future`; gives what it gives, and holds the time that it took to the promise.
pub(crate) async fn within<F: Future>(promised: Duration, what: &str, future: F) -> F::Output {
    let started = Instant::now();
    let Ok(output) = tokio::time::timeout(promised * ALLOWANCE, future).await else {
        panic!("not within {ALLOWANCE} times {promised:?}: {what}");
    };
    hold_to(promised, started.elapsed(), what);
    output
}
