//! What is stored of an instance: JSON. Its service and its id come from the key, whatever the value says.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use etcd_client::KeyValue;
use rpc_core::ServiceInstance;

use super::key;

/// The instances of one service, by id.
pub(super) type Instances = BTreeMap<String, ServiceInstance>;

/// Reads instances, and says once of each value that it cannot be read.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The keys of such values, and their revisions.
    unreadable: Mutex<BTreeMap<String, i64>>,
}

impl Reader {
    /// The instances of `service` in a complete list, those that can be read.
    pub(super) fn read_all(&self, service: &str, prefix: &str, entries: &[KeyValue]) -> Instances {
        let instances: Instances = entries.iter().filter_map(|entry| self.read(service, prefix, entry)).collect();
        self.forget(prefix, entries);
        instances
    }

    /// The instance of an entry below `prefix`, with its id.
    pub(super) fn read(&self, service: &str, prefix: &str, entry: &KeyValue) -> Option<(String, ServiceInstance)> {
        let id = key::id(prefix, entry.key())?.to_owned();
        match serde_json::from_slice::<ServiceInstance>(entry.value()) {
            Ok(mut instance) => {
                service.clone_into(&mut instance.service);
                instance.id.clone_from(&id);
                Some((id, instance))
            }
            Err(error) => {
                let key = format!("{prefix}{id}");
                let mut unreadable = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
                if unreadable.insert(key.clone(), entry.mod_revision()) != Some(entry.mod_revision()) {
                    tracing::warn!(key, %error, "this is no instance; put another value there or delete the key");
                }
                None
            }
        }
    }

    /// Forgets what is not among `entries` any more.
    fn forget(&self, prefix: &str, entries: &[KeyValue]) {
        let mut unreadable = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        unreadable
            .retain(|key, _| !key.starts_with(prefix) || entries.iter().any(|entry| entry.key() == key.as_bytes()));
    }
}

/// What is stored of `instance`.
pub(super) fn write(instance: &ServiceInstance) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(instance)
}

/// The address in a stored value, if it can be read.
pub(super) fn address(value: &[u8]) -> Option<String> {
    serde_json::from_slice::<ServiceInstance>(value).ok().map(|instance| instance.address)
}
