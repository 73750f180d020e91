//! What is registered: one running provider of one service.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The weight of an instance that says nothing about it.
pub(crate) const DEFAULT_WEIGHT: u32 = 100;

/// One running provider of one service, as a registry stores and returns it.
///
/// Written in camelCase. Fields that this version does not know are ignored when it is read, so that newer providers can
/// say more; the weight and the metadata may be left out.
///
/// # Examples
///
/// ```
/// use rpc_core::ServiceInstance;
///
/// let instance = ServiceInstance::new("users", "10.0.0.1:9000").with_weight(50);
/// assert_eq!(instance.id, "10.0.0.1:9000");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServiceInstance {
    /// The name of the service.
    pub service: String,
    /// What tells this instance from the others of its service; the address unless set otherwise. Consistent hashing
    /// depends on it, so an instance that comes back under its old id gets its old keys.
    pub id: String,
    /// Where to connect to, as `host:port`. The host is a name or an IP address, IPv6 in brackets.
    pub address: String,
    /// Its share of the calls, relative to the others: 100 by default, 0 for none at all (drained).
    #[serde(default = "default_weight")]
    pub weight: u32,
    /// Whatever else the provider wants known; empty by default.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

impl ServiceInstance {
    /// An instance of default weight at `address`, which is also its id.
    pub fn new(service: impl Into<String>, address: impl Into<String>) -> Self {
        let address = address.into();
        Self {
            service: service.into(),
            id: address.clone(),
            address,
            weight: DEFAULT_WEIGHT,
            metadata: BTreeMap::new(),
        }
    }

    /// The same instance under another id.
    #[must_use]
    pub fn with_id(self, id: impl Into<String>) -> Self {
        Self { id: id.into(), ..self }
    }

    /// The same instance with another weight.
    #[must_use]
    pub fn with_weight(self, weight: u32) -> Self {
        Self { weight, ..self }
    }

    /// The same instance with one more entry of metadata; an entry of that name is replaced.
    #[must_use]
    pub fn with_metadata(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }
}

fn default_weight() -> u32 {
    DEFAULT_WEIGHT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_as_pinned_and_read_back() {
        let instance = ServiceInstance::new("users", "a:1").with_id("one").with_weight(0).with_metadata("zone", "west");
        let text = r#"{"service":"users","id":"one","address":"a:1","weight":0,"metadata":{"zone":"west"}}"#;
        assert_eq!(serde_json::to_string(&instance).unwrap(), text);
        assert_eq!(serde_json::from_str::<ServiceInstance>(text).unwrap(), instance);
    }

    #[test]
    fn ignores_unknown_fields_and_fills_in_defaults_when_read() {
        let text = r#"{"service":"users","id":"a:1","address":"a:1","startedAt":17}"#;
        let instance = serde_json::from_str::<ServiceInstance>(text).unwrap();
        assert_eq!(instance, ServiceInstance::new("users", "a:1"));
        assert_eq!(instance.weight, 100);
    }
}
