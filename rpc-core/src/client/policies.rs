//! Which strategies and how much time the calls of each method have.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::config::ClientConfig;
use crate::extension::Extension;
use crate::fault::{Acts, FaultStrategy};
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
    pub(super) fault: Arc<dyn FaultStrategy>,
    /// When that one is asked.
    pub(super) acts: Acts,
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
                acts: fault.acts(),
                fault,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::client::Stub as _;
    use crate::testing::probe::ProbeStub;

    /// The policies of a service with the methods `echo`, `nap` and `time_left`.
    fn policies(text: &str) -> Policies {
        Policies::new(ProbeStub::SERVICE, Config::from_toml(text).unwrap().client_config()).unwrap()
    }

    fn balancers_of(policies: &Policies) -> Vec<usize> {
        policies.methods.iter().map(|method| method.balancer).collect()
    }

    #[test]
    fn methods_for_which_nothing_is_said_share_what_the_client_has() {
        let policies = policies("client.services.Other.fault = 'twice'");
        assert_eq!((policies.faults.0.len(), policies.balancers.0.len()), (1, 1));
        assert_eq!(balancers_of(&policies), [0, 0, 0]);
        assert!(policies.methods.iter().all(|method| method.acts == Acts::Never));
    }

    #[test]
    fn a_service_that_names_its_own_has_nothing_of_the_clients() {
        let policies =
            policies("client.services.Probe = { fault = 'twice', loadBalancer = 'counted', timeoutMs = 70 }");
        let keys = [&policies.faults.0[0].0, &policies.balancers.0[0].0];
        assert_eq!(keys, ["client.services.Probe.fault", "client.services.Probe.loadBalancer"]);
        assert_eq!((policies.faults.0.len(), policies.balancers.0.len()), (1, 1));
        assert_eq!(policies.of(1).timeout, Duration::from_millis(70));
    }

    #[test]
    fn a_method_that_names_its_own_has_an_instance_of_its_own() {
        let policies = policies(
            "[client.services.Probe]\nfault = 'twice'\ntimeoutMs = 70\n\
             [client.services.Probe.methods]\n\
             nap = { fault = 'twice', loadBalancer = 'counted' }\n\
             time_left = { fault = 'failFast', timeoutMs = 9 }",
        );
        assert_eq!(balancers_of(&policies), [0, 1, 0]);
        let [echo, nap] = [0, 1].map(|ordinal| Arc::clone(&policies.of(ordinal).fault));
        assert!(!Arc::ptr_eq(&echo, &nap));
        assert_eq!([1, 2].map(|ordinal| policies.of(ordinal).acts), [Acts::Always, Acts::Never]);
        assert_eq!([0, 1, 2].map(|ordinal| policies.of(ordinal).timeout.as_millis()), [70, 70, 9]);
    }
}
