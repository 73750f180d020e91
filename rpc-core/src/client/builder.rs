//! How a client is configured.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Client;
use super::pool::Pool;
use crate::discovery::Refresh;
use crate::error::with_sources;
use crate::extension::{self, ExtensionError};
use crate::fault::FaultStrategy;
use crate::loadbalancer::LoadBalancer;
use crate::options::{DEFAULT_TIMEOUT, LONGEST_TIMEOUT};
use crate::protocol::frame::DEFAULT_MAX_FRAME;
use crate::registry::Discovery;
use crate::registry_url::RegistryUrl;
use crate::report::{CallReport, Observer};
use crate::transport::connect::{Connect, Tcp};
use crate::{BoxError, Codec, PluginConfig, Settings};

/// The load balancer that is used unless another is named.
const DEFAULT_LOAD_BALANCER: &str = "roundRobin";
/// The fault strategy that is used unless another is named.
const DEFAULT_FAULT: &str = "failFast";
/// How long connecting may take, the exchange of hellos included, unless it is told otherwise. Below the second after which TCP repeats
/// its first packet: another instance answers sooner.
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// Configures a [`Client`].
#[derive(Debug)]
#[must_use = "a client is made by `build`"]
pub struct ClientBuilder {
    registry: Option<RegistryUrl>,
    load_balancer: PluginConfig,
    fault: PluginConfig,
    codec: Codec,
    timeout: Duration,
    connect_timeout: Duration,
    max_frame: u32,
    refresh: Refresh,
    observer: Option<Observer>,
    connect: Arc<dyn Connect>,
}

/// Why a client or a stub could not be built: a mistake in what was asked for. Its `Debug` tells it with all its sources.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No registry was named.
    #[error("no registry is named; name one with `ClientBuilder::registry`, such as `direct://localhost:9000`; registered: {}", .0.join(", "))]
    NoRegistry(Vec<&'static str>),
    /// The registry's URL is none.
    #[error("the registry cannot be told from its url")]
    Url(#[source] BoxError),
    /// A time is zero, in which nothing can be done.
    #[error("{0} is zero; give it some time, or leave it to its default")]
    NoTime(&'static str),
    /// A plugin is unknown or refuses its settings.
    #[error(transparent)]
    Plugin(#[from] ExtensionError),
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

/// What all channels of a client share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) registry: RegistryUrl,
    pub(super) discovery: Arc<dyn Discovery>,
    load_balancer: PluginConfig,
    fault: PluginConfig,
    pub(super) codec: Codec,
    pub(super) timeout: Duration,
    pub(super) max_frame: u32,
    pub(super) observer: Option<Observer>,
    pub(super) refresh: Refresh,
    pub(super) pool: Pool,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            registry: None,
            load_balancer: DEFAULT_LOAD_BALANCER.into(),
            fault: DEFAULT_FAULT.into(),
            codec: Codec::default(),
            timeout: DEFAULT_TIMEOUT,
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            max_frame: DEFAULT_MAX_FRAME,
            refresh: Refresh::default(),
            observer: None,
            connect: Arc::new(Tcp),
        }
    }
}

impl ClientBuilder {
    /// Where instances are found: the URL of a registry, whose scheme is the registry's key, such as `direct://localhost:9000`. Required.
    pub fn registry(mut self, url: impl Into<String>) -> Self {
        self.registry = Some(RegistryUrl::new(url));
        self
    }

    /// The load balancer, by key, with [settings](PluginConfig) if it shall have any. Default: `roundRobin`.
    pub fn load_balancer(mut self, plugin: impl Into<PluginConfig>) -> Self {
        self.load_balancer = plugin.into();
        self
    }

    /// The fault strategy, by key, with [settings](PluginConfig) if it shall have any. Default: `failFast`.
    pub fn fault(mut self, plugin: impl Into<PluginConfig>) -> Self {
        self.fault = plugin.into();
        self
    }

    /// How arguments are encoded, and with them what is answered. Default: [`Codec::Bincode`].
    ///
    /// With [`Codec::Json`] types are not compared, and a stub is made of any: a method is called whatever the server's types are. (A server
    /// takes both codecs, so what it offers must be fit for bincode.)
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// How long a call may take, all attempts together. Default: 3 s. It is sent along, so that the server stops then too.
    ///
    /// A call ends at most 10 ms after it, never before.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How long connecting to an instance may take, the exchange of hellos included, before the call passes on to another one.
    /// Default: 500 ms.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// The longest request that is sent and the longest answer that is accepted, in bytes. Default: 8 MiB.
    pub fn max_frame(mut self, bytes: u32) -> Self {
        self.max_frame = bytes;
        self
    }

    /// How often the registry is asked for the complete list of a service's instances, as the backstop behind its events.
    /// Each time is drawn within a fifth of the period. Default: 30 s; while a watch is down at least every 5 s.
    pub fn refresh(mut self, period: Duration) -> Self {
        self.refresh.period = period.min(LONGEST_TIMEOUT);
        self
    }

    /// Whether to follow the events of a registry that has them. Default: yes. Without events, changes are seen when the
    /// [period](Self::refresh) is over.
    pub fn events(mut self, follow: bool) -> Self {
        self.refresh.events = follow;
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
    /// When no registry is named, a time is zero, or a plugin is unknown or refuses its settings.
    pub fn build(self) -> Result<Client, BuildError> {
        let times =
            [("timeout", self.timeout), ("connect timeout", self.connect_timeout), ("refresh", self.refresh.period)];
        if let Some((what, _)) = times.iter().find(|(_, time)| time.is_zero()) {
            return Err(BuildError::NoTime(what));
        }
        let url = self.registry.ok_or_else(|| BuildError::NoRegistry(extension::keys::<dyn Discovery>()))?;
        let (key, settings) = Settings::from_url(url.as_str()).map_err(BuildError::Url)?;
        let discovery = extension::build::<dyn Discovery>(key, &settings)?;
        let shared = Shared {
            discovery,
            load_balancer: self.load_balancer,
            fault: self.fault,
            codec: self.codec,
            timeout: self.timeout,
            max_frame: self.max_frame,
            observer: self.observer,
            refresh: self.refresh,
            pool: Pool::new(self.connect, self.connect_timeout, self.max_frame),
            registry: url,
        };
        // Each channel builds its own; that they can be built at all is known now.
        shared.load_balancer()?;
        shared.fault()?;
        Ok(Client { shared: Arc::new(shared), channels: Arc::default() })
    }
}

impl Shared {
    pub(super) fn load_balancer(&self) -> Result<Arc<dyn LoadBalancer>, ExtensionError> {
        self.load_balancer.build()
    }

    pub(super) fn fault(&self) -> Result<Arc<dyn FaultStrategy>, ExtensionError> {
        self.fault.build()
    }
}
