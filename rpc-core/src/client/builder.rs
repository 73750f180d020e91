//! How a client is configured.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Client;
use super::check::check;
use super::pool::Pool;
use crate::config::{ClientConfig, Millis};
use crate::discovery::Refresh;
use crate::error::with_sources;
use crate::extension;
use crate::registry::Discovery;
use crate::report::{CallReport, Observer};
use crate::transport::connect::{Connect, Tcp};
use crate::{BoxError, Codec, PluginConfig, PluginError, Policy, RegistryConfig};

/// Configures a [`Client`].
#[derive(Debug)]
#[must_use = "a client is made by `build`"]
pub struct ClientBuilder {
    registry: Option<RegistryConfig>,
    config: ClientConfig,
    observer: Option<Observer>,
    connect: Arc<dyn Connect>,
}

/// Why a client or a stub could not be built: a mistake in what was asked for. Its `Debug` tells it with all its sources.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No registry was named.
    #[error("no registry is named; name one with `ClientBuilder::registry`, as `registry` in the configuration or as `RPC_REGISTRY`, such as `direct://localhost:9000`; registered: {}", .0.join(", "))]
    NoRegistry(Vec<&'static str>),
    /// A time or a size is zero, in which nothing can be done.
    #[error("`{0}` is 0; give it 1 or more, or leave it to its default")]
    Zero(String),
    /// A plugin is unknown or refuses its settings, or the registry's URL is none.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// Something is said for a service that is not part of the program.
    #[error("`client.services.{asked}`: there is no service `{asked}` in this program;{} there are: {}; remove the section, or use the crate that has the trait", meant(.nearest), .services.join(", "))]
    UnknownService {
        /// The name that is no service's trait.
        asked: String,
        /// The trait that is written almost like it, or whose service is called so.
        nearest: Option<&'static str>,
        /// The traits of all services in the program, sorted.
        services: Vec<&'static str>,
    },
    /// Something is said for a method that its service does not have.
    #[error("`client.services.{service}.methods.{asked}`: service `{service}` has no method `{asked}`;{} it has: {}", meant(.nearest), .methods.join(", "))]
    UnknownMethod {
        /// The name of the service's trait.
        service: String,
        /// The name that is no method's.
        asked: String,
        /// The method that is written almost like it.
        nearest: Option<&'static str>,
        /// All methods of the service.
        methods: Vec<&'static str>,
    },
    /// A type of the service cannot travel in bincode.
    #[error("`{service}.{method}`: the {part} cannot travel")]
    Type {
        /// The service.
        service: &'static str,
        /// The method.
        method: &'static str,
        /// Arguments or result.
        part: &'static str,
        /// What was met in the type.
        source: BoxError,
    },
    /// The fault strategy may do without an answer, and there is nothing to give instead.
    #[error(
        "service `{service}`: the fault strategy answers for failed calls, but these methods have a result without `Default`: {}; derive it, or give the stub a fallback (`Client::stub_with_fallback`)",
        .methods.join(", ")
    )]
    NoDefault {
        /// The service.
        service: &'static str,
        /// The methods.
        methods: Vec<&'static str>,
    },
    /// The fallback is one of another service.
    #[error("service `{service}`: the fallback implements service `{given}`")]
    Fallback {
        /// The service.
        service: &'static str,
        /// The service that the fallback implements.
        given: &'static str,
    },
}

impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_sources(self, f)
    }
}

fn meant(nearest: &Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" did you mean `{name}`?"))
}

/// What all channels of a client share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) registry: RegistryConfig,
    pub(super) discovery: Arc<dyn Discovery>,
    pub(super) config: ClientConfig,
    pub(super) observer: Option<Observer>,
    pub(super) refresh: Refresh,
    pub(super) pool: Pool,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self::configured(ClientConfig::default(), None)
    }
}

impl ClientBuilder {
    /// A client that is configured so.
    pub(crate) fn configured(config: ClientConfig, registry: Option<RegistryConfig>) -> Self {
        Self { registry, config, observer: None, connect: Arc::new(Tcp) }
    }

    /// Where instances are found: the URL of a registry, whose scheme is the registry's key, such as `direct://localhost:9000`; or a
    /// [`PluginConfig`] with the registry's own settings. Required.
    pub fn registry(mut self, registry: impl Into<RegistryConfig>) -> Self {
        self.registry = Some(registry.into());
        self
    }

    /// The load balancer, by key, with [settings](PluginConfig) if it shall have any. Default: `roundRobin`.
    pub fn load_balancer(mut self, plugin: impl Into<PluginConfig>) -> Self {
        self.config.load_balancer = plugin.into();
        self
    }

    /// The fault strategy, by key, with [settings](PluginConfig) if it shall have any. Default: `failFast`.
    pub fn fault(mut self, plugin: impl Into<PluginConfig>) -> Self {
        self.config.fault = plugin.into();
        self
    }

    /// How arguments are encoded, and with them what is answered. Default: [`Codec::Bincode`].
    ///
    /// With [`Codec::Json`] types are not compared, and a stub is made of any: a method is called whatever the server's types are. (A server
    /// takes both codecs, so what it offers must be fit for bincode.)
    pub fn codec(mut self, codec: Codec) -> Self {
        self.config.codec = codec;
        self
    }

    /// How long a call may take, all attempts together. Default: 3 s. It is sent along, so that the server stops then too.
    ///
    /// A call ends at most 10 ms after it, or 110 ms if its fault strategy keeps a run that it does not poll; with `DeadlineExceeded` never
    /// before it.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.config.timeout_ms = Millis(timeout);
        self
    }

    /// How long connecting to an instance may take, the exchange of hellos included, before the call passes on to another one.
    /// Default: 500 ms.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.config.connect_timeout_ms = Millis(timeout);
        self
    }

    /// The longest request that is sent and the longest answer that is accepted, in bytes. Default: 8 MiB.
    pub fn max_frame(mut self, bytes: u32) -> Self {
        self.config.max_frame_bytes = bytes;
        self
    }

    /// How often the registry is asked for the complete list of a service's instances, as the backstop behind its events.
    /// Each time is drawn within a fifth of the period. Default: 30 s; while a watch is down at least every 5 s.
    pub fn refresh(mut self, period: Duration) -> Self {
        self.config.refresh_ms = Millis(period);
        self
    }

    /// Whether to follow the events of a registry that has them. Default: yes. Without events, changes are seen when the
    /// [period](Self::refresh) is over.
    pub fn events(mut self, follow: bool) -> Self {
        self.config.events = follow;
        self
    }

    /// What differs for the calls of one service, by the name of its trait. What the policy says takes the place of what was said before; the
    /// rest stays.
    pub fn service(mut self, name: impl Into<String>, policy: Policy) -> Self {
        self.config.services.entry(name.into()).or_default().own.update(policy);
        self
    }

    /// What differs for the calls of one method, by the name of its service's trait and its own; as for [`service`](Self::service).
    pub fn method(mut self, service: impl Into<String>, name: impl Into<String>, policy: Policy) -> Self {
        let service = self.config.services.entry(service.into()).or_default();
        service.methods.entry(name.into()).or_default().update(policy);
        self
    }

    /// Calls `observe` with a report when a call is over, for each call of this client. It runs in the caller's task
    /// and should return soon; a panic in it is logged.
    pub fn observe(mut self, observe: impl Fn(&CallReport) + Send + Sync + 'static) -> Self {
        self.observer = Some(Observer(Arc::new(observe)));
        self
    }

    /// Reaches addresses by other means than TCP.
    #[cfg(test)]
    pub(crate) fn connect(mut self, connect: impl Connect) -> Self {
        self.connect = Arc::new(connect);
        self
    }

    /// Makes the client. Nothing is sent.
    ///
    /// # Errors
    ///
    /// When no registry is named, a time or a size is zero, a plugin is unknown or refuses its settings, or something is said for a service
    /// or a method that is not there.
    pub fn build(self) -> Result<Client, BuildError> {
        let config = self.config;
        check(&config)?;
        let registry = self.registry.ok_or_else(|| BuildError::NoRegistry(extension::keys::<dyn Discovery>()))?;
        let shared = Shared {
            discovery: registry.build()?,
            registry,
            observer: self.observer,
            refresh: config.refresh(),
            pool: Pool::new(self.connect, config.connect_timeout_ms.0, config.max_frame_bytes),
            config,
        };
        Ok(Client { shared: Arc::new(shared), channels: Arc::default() })
    }
}
