//! Honest calls that go on while something else happens.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rpc::{RpcError, rpc_service};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// 200 calls a second.
const PERIOD: Duration = Duration::from_millis(5);

/// Answers what it is asked.
#[rpc_service(name = "test.Echo")]
pub(crate) trait Echo {
    async fn echo(&self, body: Vec<u8>) -> Result<Vec<u8>, RpcError>;
}

/// An [`Echo`].
#[derive(Debug)]
pub(crate) struct Mirror;

impl Echo for Mirror {
    async fn echo(&self, body: Vec<u8>) -> Result<Vec<u8>, RpcError> {
        Ok(body)
    }
}

/// Calls of an [`Echo`], 200 a second, over a connection of their own.
#[derive(Debug)]
pub(crate) struct Traffic {
    stop: oneshot::Sender<()>,
    calls: JoinHandle<usize>,
}

impl Traffic {
    /// Begins to call.
    pub(crate) fn start(address: SocketAddr) -> Self {
        let stub: EchoStub = super::stub(address);
        let (stop, mut stopped) = oneshot::channel();
        let calls = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(PERIOD);
            let (mut calls, mut slowest) = (0, Duration::ZERO);
            while stopped.try_recv() == Err(oneshot::error::TryRecvError::Empty) {
                ticks.tick().await;
                let body = format!("call {calls}");
                let started = Instant::now();
                assert_eq!(stub.echo(body.clone().into()).await.expect("no honest call fails"), body.as_bytes());
                slowest = slowest.max(started.elapsed());
                calls += 1;
            }
            println!("honest calls: {calls}, the slowest took {slowest:?}");
            calls
        });
        Self { stop, calls }
    }

    /// Ends the calls. All of them have succeeded.
    pub(crate) async fn stop(self) {
        self.stop.send(()).expect("no honest call failed");
        assert!(self.calls.await.expect("no honest call failed") > 0);
    }
}
