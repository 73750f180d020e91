//! What registries that store text have of an instance: JSON.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

use rpc_core::ServiceInstance;

/// Reads instances, and says once of each value that it cannot be read.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// Where such values are, and which versions of them.
    unreadable: Mutex<BTreeMap<String, i64>>,
}

impl Reader {
    /// The instance in the `value` at `place`, if it is one. Another value there has another `version`.
    pub(crate) fn read(&self, place: &str, version: i64, value: &[u8]) -> Option<ServiceInstance> {
        match serde_json::from_slice(value) {
            Ok(instance) => Some(instance),
            Err(error) => {
                self.refuse(place, version, &error);
                None
            }
        }
    }

    /// Says that this version of what is at `place` cannot be read, unless it was said.
    pub(crate) fn refuse(&self, place: &str, version: i64, error: &dyn Display) {
        let mut unreadable = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        if unreadable.insert(place.to_owned(), version) != Some(version) {
            tracing::warn!(place, %error, "this cannot be read as an instance; mend it or delete it");
        }
    }

    /// Forgets the places that begin with `prefix` and are not there any more.
    pub(crate) fn forget(&self, prefix: &str, is_there: impl Fn(&str) -> bool) {
        let mut unreadable = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        unreadable.retain(|place, _| !place.starts_with(prefix) || is_there(place));
    }
}

/// What is stored of `instance`.
pub(crate) fn write(instance: &ServiceInstance) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(instance)
}
