//! Which strategies and how much time the calls of each method have.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::config::ClientConfig;
use crate::extension::Extension;
use crate::fault::FaultStrategy;
use crate::loadbalancer::LoadBalancer;
use crate::method::ServiceDescriptor;
use crate::{PluginConfig, PluginError};

/// What the calls of one service go by, found once, when the channel is made. A plugin is built where it is named: what a method does not
/// name for itself it shares with the others that do not.
pub(super) struct Policies {
    faults: Built<dyn FaultStrategy>,
    balancers: Built<dyn LoadBalancer>,
    /// By ordinal.
    methods: Box<[MethodPolicy]>,
}

/// What the calls of one method go by.
pub(super) struct MethodPolicy {
    /// `None` if calls go straight down.
    pub(super) fault: Option<Arc<dyn FaultStrategy>>,
    /// The position of its balancer.
    pub(super) balancer: usize,
    /// Whether that one uses a key.
    pub(super) uses_key: bool,
    pub(super) timeout: Duration,
}

impl Policies {
    pub(super) fn new(service: &ServiceDescriptor, config: &ClientConfig) -> Result<Self, PluginError> {
        let mut faults = Built::<dyn FaultStrategy>::default();
        let mut balancers = Built::<dyn LoadBalancer>::default();
        let policy = |name| {
            let (_, fault) = faults.get(config.fault_of(service.declared(), name))?;
            let (balancer, plugin) = balancers.get(config.load_balancer_of(service.declared(), name))?;
            Ok(MethodPolicy {
                fault: Some(fault).filter(|fault| !fault.passes_through()),
                balancer,
                uses_key: plugin.uses_key(),
                timeout: config.timeout_of(service.declared(), name),
            })
        };
        let methods = service.methods().iter().map(|method| method.name()).map(policy).collect::<Result<_, _>>()?;
        Ok(Self { faults, balancers, methods })
    }

    /// What the method with this ordinal goes by.
    pub(super) fn of(&self, ordinal: usize) -> &MethodPolicy {
        &self.methods[ordinal]
    }

    /// The balancers that some method uses.
    pub(super) fn balancers(&self) -> Vec<Arc<dyn LoadBalancer>> {
        self.balancers.plugins().cloned().collect()
    }

    /// Ends what the fault strategies do in the background, and says how many calls that leaves undone.
    pub(super) async fn close(&self) -> usize {
        let mut undone = 0;
        for fault in self.faults.plugins() {
            undone += fault.close().await;
        }
        undone
    }
}

/// Plugins by the keys of the configuration at which they are named.
struct Built<E: ?Sized>(Vec<(String, Arc<E>)>);

impl<E: Extension + ?Sized> Built<E> {
    /// The plugin that is named at this key, and its position; built by the first who asks.
    fn get(&mut self, (key, config): (String, &PluginConfig)) -> Result<(usize, Arc<E>), PluginError> {
        if let Some(position) = self.0.iter().position(|(known, _)| *known == key) {
            return Ok((position, Arc::clone(&self.0[position].1)));
        }
        let plugin = config.build(&key)?;
        self.0.push((key, Arc::clone(&plugin)));
        Ok((self.0.len() - 1, plugin))
    }
}

impl<E: ?Sized> Built<E> {
    fn plugins(&self) -> impl Iterator<Item = &Arc<E>> {
        self.0.iter().map(|(_, plugin)| plugin)
    }
}

impl<E: ?Sized> Default for Built<E> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policies").field("faults", &self.faults.0).field("balancers", &self.balancers.0).finish()
    }
}
