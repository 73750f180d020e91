//! The instances of a service at one moment, ready to be chosen from.

use std::fmt;
use std::sync::Arc;

use super::pool::Pool;
use super::route::Link;
use crate::loadbalancer::{Endpoints, LoadBalancer, Picker};
use crate::registry::InstanceList;

/// Endpoints, the picker made for them, and the way to each, by the same positions.
pub(super) struct Snapshot {
    pub(super) endpoints: Arc<Endpoints>,
    pub(super) picker: Box<dyn Picker>,
    pub(super) links: Box<[Link]>,
}

impl Snapshot {
    pub(super) fn new(list: InstanceList, balancer: &dyn LoadBalancer, pool: &Pool) -> Self {
        let endpoints = Arc::new(Endpoints::from_instances(list.instances));
        let links = endpoints.iter().map(|endpoint| Link::new(pool.peer(&endpoint.instance().address))).collect();
        Self { picker: balancer.prepare(&endpoints), endpoints, links }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("endpoints", &self.endpoints).finish_non_exhaustive()
    }
}
