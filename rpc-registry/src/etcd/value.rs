//! The instances among etcd's entries. Their service and their id come from the key, whatever the value says.

use std::collections::BTreeMap;

use etcd_client::KeyValue;
use rpc_core::ServiceInstance;

use super::key;
use crate::value::Reader;

/// The instances of one service, by id.
pub(super) type Instances = BTreeMap<String, ServiceInstance>;

/// The instances of `service` in a complete list, those that can be read.
pub(super) fn read_all(reader: &Reader, service: &str, prefix: &str, entries: &[KeyValue]) -> Instances {
    let instances = entries.iter().filter_map(|entry| read(reader, service, prefix, entry)).collect();
    reader.forget(prefix, |place| entries.iter().any(|entry| entry.key() == place.as_bytes()));
    instances
}

/// The instance of an entry below `prefix`, with its id.
pub(super) fn read(
    reader: &Reader,
    service: &str,
    prefix: &str,
    entry: &KeyValue,
) -> Option<(String, ServiceInstance)> {
    let id = key::id(prefix, entry.key())?.to_owned();
    let mut instance = reader.read(&format!("{prefix}{id}"), entry.mod_revision(), entry.value())?;
    service.clone_into(&mut instance.service);
    instance.id.clone_from(&id);
    Some((id, instance))
}

/// The address in a stored value, if it can be read.
pub(super) fn address(value: &[u8]) -> Option<String> {
    serde_json::from_slice::<ServiceInstance>(value).ok().map(|instance| instance.address)
}
