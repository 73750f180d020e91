//! How a server is configured and started.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::accept::{Listen, accept, bind};
use super::table::{Table, TableError};
use super::{Dispatch, Server, Shared};
use crate::protocol::frame::DEFAULT_MAX_FRAME;

/// Requests in flight that a server accepts on one connection unless it is told otherwise.
const DEFAULT_MAX_IN_FLIGHT: u32 = 1_024;

/// The address a server listens on unless it is told otherwise: every interface, a free port.
const DEFAULT_LISTEN: &str = "0.0.0.0:0";

/// Configures a [`Server`].
#[must_use = "a server is started by `start`"]
pub struct ServerBuilder {
    dispatchers: Vec<Arc<dyn Dispatch>>,
    listen: String,
    id: Option<String>,
    max_frame: u32,
    max_in_flight: u32,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// No service was given.
    #[error("the server has no service; give it one with `ServerBuilder::service`")]
    NoService,
    /// The services do not fit together, or a type cannot travel.
    #[error("the services cannot be offered")]
    Services(#[source] crate::BoxError),
    /// The instance id cannot be told to clients.
    #[error("the instance id has {0} bytes; give it 1 to 65,535")]
    Id(usize),
    /// The address cannot be listened on.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// The address that was asked for.
        address: String,
        /// What the system said.
        source: io::Error,
    },
}

impl From<TableError> for StartError {
    fn from(error: TableError) -> Self {
        Self::Services(error.into())
    }
}

impl Default for ServerBuilder {
    fn default() -> Self {
        Self {
            dispatchers: Vec::new(),
            listen: DEFAULT_LISTEN.into(),
            id: None,
            max_frame: DEFAULT_MAX_FRAME,
            max_in_flight: DEFAULT_MAX_IN_FLIGHT,
        }
    }
}

impl ServerBuilder {
    /// Offers a service; a server can have several, of different names.
    pub fn service(mut self, dispatcher: impl Dispatch) -> Self {
        self.dispatchers.push(Arc::new(dispatcher));
        self
    }

    /// Where to listen, as `host:port`; port 0 takes a free one. Default: `0.0.0.0:0`.
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = address.into();
        self
    }

    /// The instance's id, as it tells clients and its own handlers ([`Context::instance`](crate::Context::instance)). Default: the address that it listens on.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The longest request, in bytes, that is accepted. Default: 8 MiB. Clients learn it when they connect, and refuse to send more.
    pub fn max_frame(mut self, bytes: u32) -> Self {
        self.max_frame = bytes;
        self
    }

    /// How many requests one connection may have in flight. Default: 1,024. Clients learn it when they connect, and send the next call
    /// elsewhere; those that do not are answered [`Code::Overloaded`](crate::Code::Overloaded).
    pub fn max_in_flight(mut self, requests: u32) -> Self {
        self.max_in_flight = requests;
        self
    }

    /// Listens, and serves from then on.
    ///
    /// # Errors
    ///
    /// When there is no service, two have the same name, a type cannot travel, or the address cannot be listened on.
    pub async fn start(self) -> Result<Server, StartError> {
        let failed = |source| StartError::Listen { address: self.listen.clone(), source };
        let listener = bind(&self.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        self.serve_clients(listener, address)
    }

    /// Serves the clients that come to `listener`.
    pub(crate) fn serve_clients(self, listener: impl Listen, address: SocketAddr) -> Result<Server, StartError> {
        if self.dispatchers.is_empty() {
            return Err(StartError::NoService);
        }
        let instance = self.id.unwrap_or_else(|| address.to_string());
        if instance.is_empty() || instance.len() > usize::from(u16::MAX) {
            return Err(StartError::Id(instance.len()));
        }
        let shared = Arc::new(Shared {
            table: Table::new(self.dispatchers)?,
            instance,
            incarnation: incarnation(),
            max_frame: self.max_frame,
            max_in_flight: self.max_in_flight,
            leaving: CancellationToken::new(),
            handlers: AtomicUsize::new(0),
        });
        let accepting = AbortOnDropHandle::new(tokio::spawn(accept(listener, Arc::clone(&shared))));
        Ok(Server { address, shared, accepting })
    }
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let services: Vec<_> = self.dispatchers.iter().map(|dispatcher| dispatcher.service().name()).collect();
        f.debug_struct("ServerBuilder")
            .field("services", &services)
            .field("listen", &self.listen)
            .field("id", &self.id)
            .field("max_frame", &self.max_frame)
            .field("max_in_flight", &self.max_in_flight)
            .finish()
    }
}

/// A number that no earlier start of the instance had: nanoseconds of the clock.
fn incarnation() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}
