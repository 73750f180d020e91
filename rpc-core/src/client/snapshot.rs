//! The instances of a service at one moment, ready to be chosen from.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::builder::Shared;
use super::route::Link;
use crate::discovery::Publish;
use crate::loadbalancer::{Endpoint, Endpoints, LoadBalancer, Picker};

/// Endpoints, the pickers made for them, one for each balancer, and the way to each, by the same positions.
pub(super) struct Snapshot {
    pub(super) endpoints: Arc<Endpoints>,
    pub(super) pickers: Box<[Box<dyn Picker>]>,
    pub(super) links: Box<[Arc<Link>]>,
}

/// Makes snapshots of lists. The way to an instance outlives the list: what is known of its connection stays known.
pub(super) struct Publisher {
    pub(super) balancers: Vec<Arc<dyn LoadBalancer>>,
    pub(super) shared: Arc<Shared>,
}

impl Publish<Snapshot> for Publisher {
    fn prepare(&self, endpoints: Arc<Endpoints>, before: Option<&Snapshot>) -> Snapshot {
        let before = before.into_iter().flat_map(|before| before.endpoints.iter().zip(&before.links));
        let known: HashMap<_, _> = before.map(|(endpoint, link)| (identity(endpoint), link)).collect();
        let link = |endpoint: &Endpoint| match known.get(&identity(endpoint)) {
            Some(link) => Arc::clone(link),
            None => {
                let instance = endpoint.instance();
                Arc::new(Link::new(instance, self.shared.pool.peer(&instance.address)))
            }
        };
        let links = endpoints.iter().map(link).collect();
        let pickers = self.balancers.iter().map(|balancer| balancer.prepare(&endpoints)).collect();
        Snapshot { pickers, endpoints, links }
    }
}

/// What makes an endpoint the same in two lists.
fn identity(endpoint: &Endpoint) -> (&str, &str) {
    (&endpoint.instance().id, &endpoint.instance().address)
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("endpoints", &self.endpoints).finish_non_exhaustive()
    }
}
