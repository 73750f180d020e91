//! How a server is configured and started.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::accept::{Listen, accept, bind};
use super::advertise::reachable;
use super::announce::{Announced, Registrar};
use super::table::{Table, TableError};
use super::turns::Turns;
use super::{Dispatch, Server, Shared};
use crate::config::ServerConfig;
use crate::error::with_sources;
use crate::{BoxError, PluginError, RegistryConfig, ServiceInstance};

/// The longest instance id, in bytes.
const LONGEST_ID: usize = u16::MAX as usize;

/// Configures a [`Server`].
#[must_use = "a server is started by `start`"]
pub struct ServerBuilder {
    dispatchers: Vec<Arc<dyn Dispatch>>,
    registry: Option<RegistryConfig>,
    config: ServerConfig,
}

/// Why a server did not start. Its `Debug` tells it with all its sources.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// No service was given.
    #[error("the server has no service; give it one with `ServerBuilder::service`")]
    NoService,
    /// A limit is zero, so that every call would be refused.
    #[error("`{0}` is 0, and every call would be refused; give it 1 or more, or leave it to its default")]
    Zero(&'static str),
    /// The services do not fit together, or a type cannot travel.
    #[error("the services cannot be offered")]
    Services(#[source] BoxError),
    /// This instance id cannot be told to clients, or could be taken for more than an id where it is printed.
    #[error("the instance id {}", unusable(.0))]
    Id(String),
    /// The address cannot be listened on.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// The address that was asked for.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The registry's URL is none, or its plugin is unknown or refuses its settings.
    #[error(transparent)]
    Registry(#[from] PluginError),
    /// Where to listen or what to advertise is no address that could be; or there is no registry to advertise it in.
    #[error("`{asked}` is `{address}`, {fault}")]
    Address {
        /// What it was given for: `listen` or `advertise`.
        asked: &'static str,
        /// What was given.
        address: String,
        /// What is wrong with it, and what to do.
        fault: &'static str,
    },
    /// There is no address to register.
    #[error(
        "listening on every interface (`{0}`), and this machine has no address of that kind which others could reach; name the one to register with `ServerBuilder::advertise`"
    )]
    Advertise(SocketAddr),
    /// The registry did not take the instance.
    #[error("service `{service}` cannot be registered in `{registry}`")]
    Register {
        /// The service.
        service: String,
        /// The registry's URL, without a user.
        registry: String,
        /// What the registry said.
        source: BoxError,
    },
}

impl fmt::Debug for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_sources(self, f)
    }
}

impl From<TableError> for StartError {
    fn from(error: TableError) -> Self {
        Self::Services(error.into())
    }
}

impl Default for ServerBuilder {
    fn default() -> Self {
        Self::configured(ServerConfig::default(), None)
    }
}

impl ServerBuilder {
    /// A server that is configured so.
    pub(crate) fn configured(config: ServerConfig, registry: Option<RegistryConfig>) -> Self {
        Self { dispatchers: Vec::new(), registry, config }
    }

    /// Offers a service; a server can have several, of different names.
    pub fn service(mut self, dispatcher: impl Dispatch) -> Self {
        self.dispatchers.push(Arc::new(dispatcher));
        self
    }

    /// Where to listen, as `host:port`; port 0 takes a free one. Default: `0.0.0.0:0`.
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.config.listen = Some(address.into());
        self
    }

    /// Where to register the services: the URL of a registry, whose scheme is the registry's key; or a [`PluginConfig`](crate::PluginConfig)
    /// with the registry's own settings. Default: nowhere.
    pub fn registry(mut self, registry: impl Into<RegistryConfig>) -> Self {
        self.registry = Some(registry.into());
        self
    }

    /// The address that is registered, as `host:port`. Default: the one that it listens on, with the real port. Where that is every
    /// interface, it is this machine's address towards other networks, which the system is asked for; nothing is sent. A machine that
    /// has several, or is reached by another address than its own, needs it named.
    pub fn advertise(mut self, address: impl Into<String>) -> Self {
        self.config.advertise = Some(address.into());
        self
    }

    /// The share of the calls it is registered with, relative to other instances; 0 for none. Default: 100. What a share means is the load
    /// balancer's: of the built-in ones `consistentHash` follows it, the others tell only 0 from the rest.
    pub fn weight(mut self, weight: u32) -> Self {
        self.config.weight = weight;
        self
    }

    /// Registers a pair of text with the instance, for load balancers and people to see; the last value of a key counts.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.metadata.insert(key.into(), value.into());
        self
    }

    /// The instance's id, as registries, clients and its own handlers ([`Context::instance`](crate::Context::instance)) know it.
    /// 1 to 65,535 bytes without control characters. Default: the address that it advertises.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.config.id = Some(id.into());
        self
    }

    /// The longest request, in bytes, that is accepted. Default: 8 MiB. Clients learn it when they connect, and refuse to send more.
    pub fn max_frame(mut self, bytes: u32) -> Self {
        self.config.max_frame_bytes = bytes;
        self
    }

    /// How many requests one connection may have in flight. Default: 1,024. Clients learn it when they connect, and send the next call
    /// elsewhere; those that do not are answered [`Code::Overloaded`](crate::Code::Overloaded).
    pub fn max_in_flight(mut self, requests: u32) -> Self {
        self.config.max_in_flight = requests;
        self
    }

    /// Listens and serves from then on; then registers, if a registry is named. Dropped before it is done, it serves no longer, and what is
    /// registered by then goes when the registry notices.
    ///
    /// # Errors
    ///
    /// When there is no service, two have the same name, a type cannot travel, the address cannot be listened on, there is none to register,
    /// or the services cannot be registered.
    pub async fn start(self) -> Result<Server, StartError> {
        if port(self.config.listen()).is_none() {
            let fault = "which is no host:port; write it as `0.0.0.0:9000`";
            return Err(StartError::Address { asked: "listen", address: self.config.listen().to_owned(), fault });
        }
        let failed = |source| StartError::Listen { address: self.config.listen().to_owned(), source };
        let listener = bind(self.config.listen()).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        self.serve_clients(listener, address).await
    }

    /// Serves the clients that come to `listener`.
    pub(crate) async fn serve_clients(self, listener: impl Listen, address: SocketAddr) -> Result<Server, StartError> {
        if self.dispatchers.is_empty() {
            return Err(StartError::NoService);
        }
        let sizes =
            [("server.maxFrameBytes", self.config.max_frame_bytes), ("server.maxInFlight", self.config.max_in_flight)];
        if let Some((key, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Err(StartError::Zero(key));
        }
        if let Some(address) = &self.config.advertise
            && let Some(fault) = unadvertisable(address, self.registry.is_some())
        {
            return Err(StartError::Address { asked: "advertise", address: address.clone(), fault });
        }
        let registrar = self.registry.as_ref().map(Registrar::build).transpose()?;
        let advertised = match self.config.advertise.clone() {
            Some(advertised) => advertised,
            None if registrar.is_none() => address.to_string(),
            None => reachable(address).ok_or(StartError::Advertise(address))?.to_string(),
        };
        let instance = self.config.id.unwrap_or_else(|| advertised.clone());
        if instance.is_empty() || instance.len() > LONGEST_ID || instance.contains(char::is_control) {
            return Err(StartError::Id(instance));
        }
        let announce = self.dispatchers.iter().map(|dispatcher| {
            let service = ServiceInstance::new(dispatcher.service().name(), advertised.clone());
            let service = service.with_id(instance.clone()).with_weight(self.config.weight);
            self.config.metadata.iter().fold(service, |service, (key, value)| service.with_metadata(key, value))
        });
        let announce: Vec<_> = announce.collect();
        let shared = Arc::new(Shared {
            table: Table::new(self.dispatchers)?,
            instance,
            incarnation: incarnation(),
            max_frame: self.config.max_frame_bytes,
            max_in_flight: self.config.max_in_flight,
            leaving: CancellationToken::new(),
            serving: AtomicUsize::new(0),
            handlers: AtomicUsize::new(0),
            turns: Turns::new(Handle::current().metrics().num_workers()),
        });
        let accepting = AbortOnDropHandle::new(tokio::spawn(accept(listener, Arc::clone(&shared))));
        // Only now: who finds the instance finds it serving.
        let announced = match registrar {
            None => {
                tracing::info!(%address, "serving, and registered nowhere: no registry is named");
                Announced::nowhere()
            }
            Some(registrar) => Announced::announce(registrar, announce).await?,
        };
        Ok(Server { address, advertised, shared, accepting, announced })
    }
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let services: Vec<_> = self.dispatchers.iter().map(|dispatcher| dispatcher.service().name()).collect();
        f.debug_struct("ServerBuilder")
            .field("services", &services)
            .field("registry", &self.registry)
            .field("config", &self.config)
            .finish()
    }
}

/// Why an instance id cannot be used.
fn unusable(id: &str) -> String {
    match id.len() {
        1..=LONGEST_ID => format!("{id:?} has control characters; leave them out"),
        bytes => format!("has {bytes} bytes; give it 1 to 65,535"),
    }
}

/// The port of an address, if it is a `host:port`.
fn port(address: &str) -> Option<u16> {
    let (host, port) = address.rsplit_once(':')?;
    let is_host = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c.is_control());
    if is_host { port.parse().ok() } else { None }
}

/// Why an address cannot be advertised.
fn unadvertisable(address: &str, has_registry: bool) -> Option<&'static str> {
    match port(address) {
        _ if !has_registry => Some("but no registry is named; name one with `ServerBuilder::registry`"),
        None => Some("which is no host:port; write it as `greeter-1.internal:9000`"),
        Some(0) => Some("which nobody can connect to; name the real port"),
        Some(_) if is_unspecified(address) => Some(
            "which nobody can connect to; name the address that others reach this machine at, as in `10.0.0.7:9000`",
        ),
        Some(_) => None,
    }
}

/// Whether an address means every interface of whoever uses it.
fn is_unspecified(address: &str) -> bool {
    address.parse().is_ok_and(|address: SocketAddr| address.ip().to_canonical().is_unspecified())
}

/// A number that no earlier start of the instance had: nanoseconds of the clock.
fn incarnation() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}
