//! The contract of registries: where the instances of a service are.

use std::fmt::Debug;

use crate::{BoxError, BoxFuture, ServiceInstance, extension::extension};

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
    /// Reads the complete list of the instances of `service`, now. A service without instances is an empty list.
    ///
    /// # Errors
    ///
    /// When the registry cannot be reached or does not answer as expected. The caller keeps the list it has.
    fn lookup<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<InstanceList, BoxError>>;
}

extension!(dyn Discovery, "registry", "rpc_registry");

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
