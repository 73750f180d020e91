//! The accept loop. Nothing that a client or the operating system does ends it.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, lookup_host};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Shared;
use super::connection::{ECHO_WITHIN, serve};
use crate::transport::Io;

/// Pause after an error that the next accept would meet again, such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);
/// Such errors are logged once in this time.
const LOG_EVERY: Duration = Duration::from_secs(5);

/// Connections that the system holds ready to be accepted; it may have a lower limit of its own. The usual 128 are few when all clients
/// of a service come at once: the packet of one too many is dropped, and repeated only after a second.
const BACKLOG: u32 = 4_096;

/// Listens on the first address behind `address`, which is `host:port`, that can be listened on.
pub(super) async fn bind(address: &str) -> io::Result<TcpListener> {
    let mut failure = None;
    for address in lookup_host(address).await? {
        match listen(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.unwrap_or_else(|| io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address")))
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restarted server takes its port over from connections that linger; on Windows the option means something else.
    socket.set_reuseaddr(cfg!(not(windows)))?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Where clients come from: a TCP port, or the in-memory network of the tests.
pub(crate) trait Listen: Send + 'static {
    /// The next client. Cancel safe.
    fn accept(&mut self) -> impl Future<Output = io::Result<Io>> + Send;
}

impl Listen for TcpListener {
    async fn accept(&mut self) -> io::Result<Io> {
        let (stream, _) = TcpListener::accept(self).await?;
        // Answers are gathered before they are written; waiting for more would only delay them. Without the option they still arrive.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot set TCP_NODELAY");
        }
        Ok(stream.into())
    }
}

#[cfg(test)]
impl Listen for tokio::sync::mpsc::Receiver<Io> {
    async fn accept(&mut self) -> io::Result<Io> {
        match self.recv().await {
            Some(io) => Ok(io),
            None => std::future::pending().await,
        }
    }
}

/// Accepts and serves clients until the server leaves and has done with them. Owns the connections. Those that have not said hello by then, such as
/// a probe's, delay nothing.
pub(super) async fn accept(mut listener: impl Listen, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    let mut failures = Failures::default();
    let mut grace = pin!(grace(&shared));
    let mut is_over = false;
    while !(is_over && shared.serving.load(Ordering::Relaxed) == 0) {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(io) => drop(connections.spawn(serve(io, Arc::clone(&shared)))),
                Err(error) => failures.survive(error).await,
            },
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a connection's task panicked");
                }
            }
            () = &mut grace, if !is_over => is_over = true,
            () = shared.leaving.cancelled(), if connections.is_empty() => return,
        }
    }
}

/// Waits until the server leaves and whoever was about to say hello has had the time to.
async fn grace(shared: &Shared) {
    shared.leaving.cancelled().await;
    tokio::time::sleep(ECHO_WITHIN).await;
}

#[derive(Default)]
struct Failures {
    logged: Option<Instant>,
}

impl Failures {
    async fn survive(&mut self, error: io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
        // The client is gone again: that is its own affair.
        if matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted) {
            tracing::debug!(%error, "a client was gone before it was accepted");
            return;
        }
        let now = Instant::now();
        if self.logged.is_none_or(|logged| now >= logged + LOG_EVERY) {
            tracing::warn!(%error, "cannot accept connections; trying on");
            self.logged = Some(now);
        }
        tokio::time::sleep(PAUSE).await;
    }
}
