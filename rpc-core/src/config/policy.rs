//! What is said for the calls of one service or one method.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::number::Millis;
use crate::PluginConfig;

/// How the calls of one service or one method are made, as far as they differ: what a method's policy does not say its service's does,
/// and what that does not say the client does.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use rpc_core::{Client, Policy};
///
/// let client = Client::builder()
///     .service("UserService", Policy::new().fault("failSafe").timeout(Duration::from_millis(500)))
///     .method("UserService", "get_user", Policy::new().load_balancer("random"));
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a table")]
#[must_use = "a policy is followed by giving it to a builder"]
pub struct Policy {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) load_balancer: Option<PluginConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fault: Option<PluginConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_ms: Option<Millis>,
}

impl Policy {
    /// Nothing differs.
    pub fn new() -> Self {
        Self::default()
    }

    /// The load balancer of these calls; an instance of their own.
    pub fn load_balancer(mut self, plugin: impl Into<PluginConfig>) -> Self {
        self.load_balancer = Some(plugin.into());
        self
    }

    /// The fault strategy of these calls; an instance of their own.
    pub fn fault(mut self, plugin: impl Into<PluginConfig>) -> Self {
        self.fault = Some(plugin.into());
        self
    }

    /// How long each of these calls may take, all attempts together.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout_ms = Some(Millis(timeout));
        self
    }

    /// Takes over what `other` says.
    pub(crate) fn update(&mut self, other: Self) {
        let Self { load_balancer, fault, timeout_ms } = other;
        self.load_balancer = load_balancer.or(self.load_balancer.take());
        self.fault = fault.or(self.fault.take());
        self.timeout_ms = timeout_ms.or(self.timeout_ms);
    }
}

/// The policy of a service, and those of its methods by their names.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Section", into = "Section")]
pub(crate) struct ServicePolicy {
    pub(crate) own: Policy,
    pub(crate) methods: BTreeMap<String, Policy>,
}

/// A [`ServicePolicy`] as it is written. Serde's `flatten` would do it, and would lose where a mistake is.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, expecting = "a table")]
struct Section {
    #[serde(skip_serializing_if = "Option::is_none")]
    load_balancer: Option<PluginConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<PluginConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<Millis>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    methods: BTreeMap<String, Policy>,
}

impl From<Section> for ServicePolicy {
    fn from(Section { load_balancer, fault, timeout_ms, methods }: Section) -> Self {
        Self { own: Policy { load_balancer, fault, timeout_ms }, methods }
    }
}

impl From<ServicePolicy> for Section {
    fn from(ServicePolicy { own, methods }: ServicePolicy) -> Self {
        let Policy { load_balancer, fault, timeout_ms } = own;
        Self { load_balancer, fault, timeout_ms, methods }
    }
}
