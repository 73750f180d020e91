//! The contracts of registries: where the instances of a service are.
//!
//! A registry has two halves under one key: consumers read it through [`Discovery`], providers announce themselves through
//! [`Registrar`]. A registry that nobody can announce to, such as a fixed list of addresses, has only the first.

use std::fmt::Debug;

use crate::extension::extension;
pub use crate::registry_url::shown_url;
use crate::{BoxError, BoxFuture, ServiceInstance};

/// Finds the instances of a service.
///
/// A registry only answers what it is asked; the client keeps the answer and asks again when it is due, so an
/// implementation caches nothing and retries nothing. Building it touches no network: that begins with the first lookup.
///
/// # Examples
///
/// A registry that knows one address for everything:
///
/// ```
/// use rpc_core::{BoxError, BoxFuture, ServiceInstance};
/// use rpc_core::registry::{Discovery, InstanceList};
///
/// #[derive(Debug)]
/// struct Localhost;
///
/// impl Discovery for Localhost {
///     fn lookup<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<InstanceList, BoxError>> {
///         let instance = ServiceInstance::new(service, "localhost:9000");
///         Box::pin(async move { Ok(InstanceList::new(vec![instance])) })
///     }
/// }
/// ```
pub trait Discovery: Debug + Send + Sync + 'static {
    /// Reads the complete list of the instances of `service`, now. A service without instances is an empty list. What is in it is believed: the
    /// instances are to be of this service. The future may be dropped at any time, and is after 5 s.
    ///
    /// # Errors
    ///
    /// When the registry cannot be reached or does not answer as expected. The caller keeps the list it has.
    fn lookup<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<InstanceList, BoxError>>;

    /// Watches the instances of `service`; `None` if the registry cannot push, which is the default.
    ///
    /// # Errors
    ///
    /// When the registry cannot be reached. The caller asks again later.
    fn watch<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<Option<Box<dyn InstanceWatch>>, BoxError>> {
        let _ = service;
        Box::pin(async { Ok(None) })
    }
}

extension!(dyn Discovery, "registry", "rpc_registry");

/// The changes of one service's instances, as they happen.
pub trait InstanceWatch: Send + 'static {
    /// The next complete list: first the one that the watch starts from, at once; then one after each change. Changes that come
    /// faster than they are asked for may share a list. Cancel safe: an answer that was not waited for is not lost.
    ///
    /// `Err` says that changes go unseen until the next list; `None` that this watch is over and another must be opened.
    fn next(&mut self) -> BoxFuture<'_, Option<Result<InstanceList, BoxError>>>;
}

/// Announces instances.
pub trait Registrar: Debug + Send + Sync + 'static {
    /// Announces `instance`, and keeps it announced until the registration is released or dropped. Dropping the future must leave nothing that
    /// is kept announced.
    ///
    /// # Errors
    ///
    /// When the registry cannot be reached or refuses the instance; nothing is announced then.
    fn register<'a>(&'a self, instance: ServiceInstance) -> BoxFuture<'a, Result<Box<dyn Registration>, BoxError>>;
}

extension!(dyn Registrar, "registry (to register in)", "rpc_registry");

/// An announced instance. Dropped without release, it is no longer kept announced: it goes when the registry notices.
pub trait Registration: Debug + Send + Sync + 'static {
    /// Announces `instance` in place of what was announced; service and id stay the same.
    ///
    /// # Errors
    ///
    /// When the registry cannot be reached now. What is wanted is remembered: a registration that renews itself announces it later.
    fn update(&self, instance: ServiceInstance) -> BoxFuture<'_, Result<(), BoxError>>;

    /// Takes the announcement back. Only this one: an instance that another provider announced under the same id stays.
    /// Releasing twice is no error.
    ///
    /// # Errors
    ///
    /// When the registry cannot be reached now. The announcement then goes when the registry notices.
    fn release(&self) -> BoxFuture<'_, Result<(), BoxError>>;
}

/// All instances of one service at one moment, in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceList {
    /// The instances, drained ones (of weight 0) included.
    pub instances: Vec<ServiceInstance>,
}

impl InstanceList {
    /// A list of these instances.
    pub fn new(instances: Vec<ServiceInstance>) -> Self {
        Self { instances }
    }
}
