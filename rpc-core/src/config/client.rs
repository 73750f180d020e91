//! What a client is told.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::number::{self, Millis};
use super::policy::{Policy, ServicePolicy};
use crate::PluginConfig;
use crate::discovery::Refresh;
use crate::options::{DEFAULT_TIMEOUT, LONGEST_TIMEOUT};
use crate::protocol::frame::DEFAULT_MAX_FRAME;

/// The load balancer that is used unless another is named.
const DEFAULT_LOAD_BALANCER: &str = "roundRobin";
/// The fault strategy that is used unless another is named.
const DEFAULT_FAULT: &str = "failFast";
/// How long connecting may take, the exchange of hellos included, unless it is told otherwise. Below the second after which TCP repeats
/// its first packet: another instance answers sooner.
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// The section `client`. The methods of [`ClientBuilder`](crate::ClientBuilder) say what each field means.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct ClientConfig {
    pub(crate) load_balancer: PluginConfig,
    pub(crate) fault: PluginConfig,
    pub(crate) timeout_ms: Millis,
    pub(crate) connect_timeout_ms: Millis,
    #[serde(deserialize_with = "number::positive")]
    pub(crate) max_frame_bytes: u32,
    pub(crate) refresh_ms: Millis,
    pub(crate) events: bool,
    /// What is said for single services, by the name of the trait.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) services: BTreeMap<String, ServicePolicy>,
}

impl Default for ClientConfig {
    fn default() -> Self {
        let Refresh { period, events } = Refresh::default();
        Self {
            load_balancer: DEFAULT_LOAD_BALANCER.into(),
            fault: DEFAULT_FAULT.into(),
            timeout_ms: Millis(DEFAULT_TIMEOUT),
            connect_timeout_ms: Millis(DEFAULT_CONNECT_TIMEOUT),
            max_frame_bytes: DEFAULT_MAX_FRAME,
            refresh_ms: Millis(period),
            events,
            services: BTreeMap::new(),
        }
    }
}

impl ClientConfig {
    /// How the lists of instances are kept fresh.
    pub(crate) fn refresh(&self) -> Refresh {
        Refresh { period: self.refresh_ms.0.min(LONGEST_TIMEOUT), events: self.events }
    }

    /// The load balancer of a method, and the key at which it is named.
    pub(crate) fn load_balancer_of(&self, service: &str, method: &str) -> (String, &PluginConfig) {
        let mut policies = self.policies_of(service, method);
        let named = policies.find_map(|(key, own)| Some((format!("{key}.loadBalancer"), own.load_balancer.as_ref()?)));
        named.unwrap_or_else(|| ("client.loadBalancer".to_owned(), &self.load_balancer))
    }

    /// The fault strategy of a method, and the key at which it is named.
    pub(crate) fn fault_of(&self, service: &str, method: &str) -> (String, &PluginConfig) {
        let mut policies = self.policies_of(service, method);
        let named = policies.find_map(|(key, own)| Some((format!("{key}.fault"), own.fault.as_ref()?)));
        named.unwrap_or_else(|| ("client.fault".to_owned(), &self.fault))
    }

    /// How long a call of a method may take.
    pub(crate) fn timeout_of(&self, service: &str, method: &str) -> Duration {
        self.policies_of(service, method).find_map(|(_, policy)| policy.timeout_ms).unwrap_or(self.timeout_ms).0
    }

    /// What is said for a method, with its keys: its own policy, then its service's.
    fn policies_of(&self, service: &str, method: &str) -> impl Iterator<Item = (String, &Policy)> {
        let of_service = self.services.get(service);
        let own = of_service.and_then(|policy| policy.methods.get(method));
        let own = own.map(|own| (method_key(service, method), own));
        own.into_iter().chain(of_service.map(|policy| (service_key(service), &policy.own)))
    }

    /// What is said for single services and methods, each with its key in the configuration.
    pub(crate) fn policies(&self) -> impl Iterator<Item = (String, &Policy)> {
        self.services.iter().flat_map(|(service, policy)| {
            let methods = policy.methods.iter().map(move |(method, policy)| (method_key(service, method), policy));
            std::iter::once((service_key(service), &policy.own)).chain(methods)
        })
    }

    pub(super) fn policies_mut(&mut self) -> impl Iterator<Item = &mut Policy> {
        self.services
            .values_mut()
            .flat_map(|service| std::iter::once(&mut service.own).chain(service.methods.values_mut()))
    }
}

/// The key of a service's section.
fn service_key(service: &str) -> String {
    format!("client.services.{service}")
}

/// The key of a method's section.
fn method_key(service: &str, method: &str) -> String {
    format!("{}.methods.{method}", service_key(service))
}
