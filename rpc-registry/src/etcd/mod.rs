//! `etcd`: providers register in etcd under a lease, consumers list them and follow the events.
//!
//! ```text
//!  Etcd ---- service (list) ---- watch                  consumers
//!    |            |   value, key
//!    |            v
//!    |        connection ==> etcd                       every question with a limit
//!    |            ^
//!    +-- registration -> wanted <- keeper -> lease      providers; one task does all the writing
//!                                     +----> announce
//! ```

mod announce;
mod config;
mod connection;
mod error;
mod keeper;
mod key;
mod lease;
mod outage;
mod pause;
mod registration;
mod service;
mod value;
mod wanted;
mod watch;

use std::fmt;
use std::sync::Arc;

use rpc_core::registry::{Discovery, InstanceList, InstanceWatch, Registrar, Registration};
use rpc_core::{BoxError, BoxFuture, ServiceInstance, Settings, register};

use config::Config;
use connection::Connection;
use keeper::Keeper;
use registration::Announced;
use service::Service;
use watch::Watch;

use crate::value::Reader;

/// A registry in etcd: `etcd://host:port,host:port/namespace?leaseTtl=15`.
///
/// The endpoints are those of one cluster. The namespace is `rpc` unless named; providers and consumers of different ones do not
/// see each other. `leaseTtl` is the number of seconds, 15 unless given, 2 to 3,600, after which a provider that crashed is
/// forgotten; etcd may make more of it.
///
/// Instances are under `/<namespace>/services/<service>/instances/<id>`, as JSON, all those of a registrar under one lease. It is renewed
/// every third of its time; if it is lost, as after a long outage, everything is registered again under another, without end. If a
/// service and an id are taken, at another address, `register` says by whom. What is found under the same address is taken
/// over: a provider that crashed need not wait for its lease to expire.
///
/// Every change is pushed. While etcd is away, a watch says so once, and goes on by itself when it is back.
///
/// # Examples
///
/// ```
/// use rpc_registry::Etcd;
///
/// let registry = Etcd::from_url("etcd://10.0.0.1:2379,10.0.0.2:2379/shop")?;
/// # Ok::<(), rpc_core::BoxError>(())
/// ```
#[derive(Clone)]
pub struct Etcd {
    config: Config,
    connection: Arc<Connection>,
    reader: Arc<Reader>,
    keeper: Arc<Keeper>,
}

impl Etcd {
    /// The key it is registered under. Its settings are `url`, or in place of it `endpoints`, `namespace` and `leaseTtl`.
    pub const KEY: &'static str = "etcd";

    /// Takes everything from a url. Nothing is sent before it is used, which needs a Tokio runtime, always the same one.
    ///
    /// # Errors
    ///
    /// When `url` is not of the form above.
    pub fn from_url(url: &str) -> Result<Self, BoxError> {
        Ok(Self::new(Config::from_url(url)?))
    }

    fn new(config: Config) -> Self {
        let connection = Arc::new(Connection::new(&config));
        let keeper = Arc::new(Keeper::new(Arc::clone(&connection), config.lease_ttl));
        Self { config, connection, reader: Arc::default(), keeper }
    }

    fn service(&self, name: &str) -> Result<Service, BoxError> {
        Ok(Service {
            connection: Arc::clone(&self.connection),
            reader: Arc::clone(&self.reader),
            name: name.to_owned(),
            prefix: key::prefix(&self.config.namespace, name)?,
        })
    }
}

register!(dyn Discovery, Etcd::KEY, build);
register!(dyn Registrar, Etcd::KEY, build);

impl Discovery for Etcd {
    fn lookup<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<InstanceList, BoxError>> {
        Box::pin(async move {
            let (instances, _) = self.service(service)?.list().await?;
            Ok(InstanceList::new(instances.into_values().collect()))
        })
    }

    fn watch<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<Option<Box<dyn InstanceWatch>>, BoxError>> {
        Box::pin(async move {
            let watch: Box<dyn InstanceWatch> = Box::new(Watch::new(self.service(service)?));
            Ok(Some(watch))
        })
    }
}

impl Registrar for Etcd {
    fn register(&self, instance: ServiceInstance) -> BoxFuture<'_, Result<Box<dyn Registration>, BoxError>> {
        Box::pin(async move {
            let key = key::of(&self.config.namespace, &instance)?;
            let announced = Announced::new(Arc::clone(&self.keeper), key, instance).await?;
            Ok(Box::new(announced) as Box<dyn Registration>)
        })
    }
}

impl fmt::Debug for Etcd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Etcd").field("config", &self.config).finish_non_exhaustive()
    }
}

fn build(settings: &Settings) -> Result<Arc<Etcd>, BoxError> {
    Ok(Arc::new(Etcd::new(Config::from_settings(settings)?)))
}
