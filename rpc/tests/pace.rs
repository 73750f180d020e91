//! Which handlers run in place, on the task of their connection, and which get tasks of their own.

#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::time::{Duration, Instant};

use rpc::{RpcError, Server, rpc_service};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use common::{server, stub};

mod common;

#[rpc_service(name = "test.Paced")]
trait Paced {
    /// Computes for so long. The task that it runs on.
    async fn spin(&self, us: u64) -> Result<String, RpcError>;
}

struct Spinning;

impl Paced for Spinning {
    async fn spin(&self, us: u64) -> Result<String, RpcError> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(us) {}
        Ok(format!("{:?}", tokio::task::id()))
    }
}

/// A server with a thread of its own, which callers do not keep from their work.
fn apart() -> (Runtime, Server) {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = runtime.block_on(server(PacedDispatcher::new(Spinning)).start()).unwrap();
    (runtime, server)
}

fn run<T>(test: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

#[test]
fn a_slow_method_gets_tasks_until_a_thousand_polls_were_short() {
    let (_runtime, server) = apart();
    run(async {
        let paced: PacedStub = stub(server.address());
        let in_place = paced.spin(0).await.unwrap();
        for _ in 0..3 {
            assert_eq!(paced.spin(3_000).await.unwrap(), in_place);
        }
        let mut short = 0;
        while paced.spin(0).await.unwrap() != in_place {
            short += 1;
            assert!(short < 30_000, "it stays slow");
        }
        println!("in place again after {short} short polls");
        // Fewer only if nothing made it quick; more, as the system may have made one of them long.
        assert!(short >= 1_000, "{short}");
    });
}

#[test]
fn a_short_method_is_not_slow_by_what_was_read_with_it() {
    // The system may make polls long; not each time.
    assert!((0..10).any(|_| stays_quick()), "it becomes slow each time");
}

/// Whether a method is still polled in place after calls that were read four at a time and together took long.
fn stays_quick() -> bool {
    let (_runtime, server) = apart();
    run(async {
        let paced: PacedStub = stub(server.address());
        let in_place = paced.spin(0).await.unwrap();
        for _ in 0..40 {
            let mut calls = JoinSet::new();
            for _ in 0..4 {
                let paced = paced.clone();
                calls.spawn(async move { paced.spin(300).await.unwrap() });
            }
            calls.join_all().await;
        }
        paced.spin(0).await.unwrap() == in_place
    })
}
