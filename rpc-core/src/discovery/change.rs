//! What an application can learn of a service's instances.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::ServiceInstance;
use crate::loadbalancer::Endpoints;

/// How a change became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The registry pushed it.
    Event,
    /// The registry was asked: at first use, or when the period was over.
    Refresh,
}

/// What changed among a service's instances. Drained instances (of weight 0) count as removed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// Instances that are new.
    pub added: Vec<ServiceInstance>,
    /// Instances that are gone.
    pub removed: Vec<ServiceInstance>,
    /// Instances that are the same by id, but differ in address, weight or metadata; as they are now.
    pub changed: Vec<ServiceInstance>,
    /// How it became known.
    pub source: Source,
}

impl Change {
    /// What leads from one list to another.
    pub(super) fn between(before: &Endpoints, after: &Endpoints, source: Source) -> Self {
        let by_id = |endpoints: &Endpoints| -> BTreeMap<String, ServiceInstance> {
            endpoints.iter().map(|endpoint| (endpoint.instance().id.clone(), endpoint.instance().clone())).collect()
        };
        let (mut before, after) = (by_id(before), by_id(after));
        let (mut added, mut changed) = (Vec::new(), Vec::new());
        for (id, instance) in after {
            match before.remove(&id) {
                None => added.push(instance),
                Some(earlier) if earlier != instance => changed.push(instance),
                Some(_) => {}
            }
        }
        Self { added, removed: before.into_values().collect(), changed, source }
    }

    /// Whether nothing differs, as when a first list is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

/// The changes of a service's instances, from the subscription on.
#[derive(Debug)]
pub struct Changes {
    receiver: broadcast::Receiver<Change>,
}

impl Changes {
    pub(super) fn new(receiver: broadcast::Receiver<Change>) -> Self {
        Self { receiver }
    }

    /// The next change; `None` once the client is gone. Who asks so rarely that more than 64 changes wait loses the oldest.
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Change> {
        loop {
            match self.receiver.recv().await {
                Ok(change) => return Some(change),
                Err(RecvError::Lagged(lost)) => tracing::warn!(lost, "a subscriber to instances misses changes"),
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

/// What a client knows of a service's instances.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Instances {
    /// The instances that calls go to, by id.
    pub list: Vec<ServiceInstance>,
    /// How long ago the registry last confirmed them.
    pub age: Duration,
    /// Why the registry did not confirm them since, if it failed.
    pub failure: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints(instances: &[(&str, &str, u32)]) -> Endpoints {
        let instance = |(id, address, weight): &(&str, &str, u32)| {
            ServiceInstance::new("users", *address).with_id(*id).with_weight(*weight)
        };
        Endpoints::from_instances(instances.iter().map(instance))
    }

    fn ids(instances: &[ServiceInstance]) -> Vec<&str> {
        instances.iter().map(|instance| instance.id.as_str()).collect()
    }

    #[test]
    fn tells_what_came_what_went_and_what_differs() {
        let before = endpoints(&[("a", "a:1", 100), ("b", "b:1", 100), ("c", "c:1", 100), ("d", "d:1", 100)]);
        let after = endpoints(&[("a", "a:1", 100), ("b", "b:2", 100), ("c", "c:1", 0), ("e", "e:1", 100)]);
        let change = Change::between(&before, &after, Source::Event);
        assert_eq!(ids(&change.added), ["e"]);
        assert_eq!(ids(&change.removed), ["c", "d"]);
        assert_eq!(ids(&change.changed), ["b"]);
    }
}
