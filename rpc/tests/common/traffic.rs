//! Honest calls that go on while something else happens.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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
    answered: Arc<AtomicUsize>,
    calls: JoinHandle<()>,
}

impl Traffic {
    /// Begins to call.
    pub(crate) fn start(address: SocketAddr) -> Self {
        let stub: EchoStub = super::stub(address);
        let (stop, mut stopped) = oneshot::channel();
        let answered = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&answered);
        let calls = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(PERIOD);
            let mut slowest = Duration::ZERO;
            while stopped.try_recv() == Err(oneshot::error::TryRecvError::Empty) {
                ticks.tick().await;
                let body = format!("call {}", counter.load(Ordering::Relaxed));
                let started = Instant::now();
                assert_eq!(stub.echo(body.clone().into()).await.expect("no honest call fails"), body.as_bytes());
                slowest = slowest.max(started.elapsed());
                counter.fetch_add(1, Ordering::Relaxed);
            }
            println!("honest calls: {}, the slowest took {slowest:?}", counter.load(Ordering::Relaxed));
        });
        Self { stop, answered, calls }
    }

    /// How many calls were answered so far, as it grows.
    pub(crate) fn answered(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.answered)
    }

    /// Ends the calls. All of them have succeeded.
    pub(crate) async fn stop(self) {
        self.stop.send(()).expect("no honest call failed");
        self.calls.await.expect("no honest call failed");
        assert!(self.answered.load(Ordering::Relaxed) > 0);
    }
}
