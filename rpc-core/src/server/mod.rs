//! The provider's side: services behind a port.

mod accept;
mod advertise;
mod announce;
mod builder;
mod connection;
mod dispatch;
mod greeting;
mod handlers;
mod pace;
mod panics;
mod run;
mod signal;
mod table;
mod turns;

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

pub use builder::{ServerBuilder, StartError};
pub use dispatch::{Answer, Dispatch, Handling, Request, handle, no_such_method};
pub use signal::Signals;

use announce::Announced;
use table::Table;
use turns::Turns;

/// How long [`Server::shutdown`] waits for the calls that are being answered.
const DRAIN_LIMIT: Duration = Duration::from_secs(25);

/// A running server. Dropping it stops it at once and cuts what it was answering; [`shutdown`](Self::shutdown) does not.
///
/// # Examples
///
/// ```no_run
/// use rpc_core::{Server, Signals};
///
/// # async fn run(dispatcher: impl rpc_core::generated::Dispatch) -> Result<(), Box<dyn std::error::Error>> {
/// let signals = Signals::new()?;
/// let server = Server::builder().service(dispatcher).listen("0.0.0.0:9000").start().await?;
/// server.run_until(signals).await;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    advertised: String,
    shared: Arc<Shared>,
    accepting: AbortOnDropHandle<()>,
    announced: Announced,
}

/// What all connections of a server share.
#[derive(Debug)]
struct Shared {
    table: Table,
    instance: String,
    incarnation: u64,
    max_frame: u32,
    max_in_flight: u32,
    leaving: CancellationToken,
    /// Connections on which hellos were exchanged.
    serving: AtomicUsize,
    /// Handlers that live, over all connections; those that answered at once are never counted.
    handlers: AtomicUsize,
    /// For handlers of slow methods.
    turns: Turns,
}

impl Server {
    /// Begins to configure a server.
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }

    /// The address it listens on, with the real port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address that it registers, or would with a registry, as `host:port`.
    #[must_use]
    pub fn advertised(&self) -> &str {
        &self.advertised
    }

    /// Its id, by which registries and clients know it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.shared.instance
    }

    /// Serves until the process is told to end, then leaves as [`shutdown`](Self::shutdown) does. A second signal stops it at once.
    /// Returns the number of calls that were cut.
    ///
    /// A signal that came since the [`Signals`] were made counts: make them before the server is started, and it also leaves in order if
    /// it is told to end while it still registers.
    pub async fn run_until(self, mut signals: Signals) -> usize {
        signals.next().await;
        tracing::info!(address = %self.address, "leaving; a second signal stops at once");
        let shared = Arc::clone(&self.shared);
        // Held, not dropped with its turn: that would cut the calls before they are counted.
        let mut shutdown = pin!(self.shutdown());
        tokio::select! {
            cut = &mut shutdown => cut,
            () = signals.next() => shared.handlers.load(Ordering::Relaxed),
        }
    }

    /// Leaves gracefully: takes its registrations back, tells every client to go elsewhere, answers the calls that are already on their
    /// way, and closes each connection once it is quiet. Meanwhile new connections are still accepted, so that no client meets a closed
    /// port; they are told the same. Calls still running after 25 s are cut; returns their number.
    ///
    /// Not cancel safe: dropped half way, it stops at once as if the server had been dropped.
    pub async fn shutdown(self) -> usize {
        let Self { shared, mut accepting, announced, .. } = self;
        announced.withdraw().await;
        shared.leaving.cancel();
        if tokio::time::timeout(DRAIN_LIMIT, &mut accepting).await.is_ok() {
            return 0;
        }
        let cut = shared.handlers.load(Ordering::Relaxed);
        drop(accepting);
        tracing::warn!(cut, limit = ?DRAIN_LIMIT, "stopped before every call was answered");
        cut
    }
}
