//! The contract of load balancers: which instance takes a call.
//!
//! A balancer works in two steps. [`LoadBalancer::prepare`] sees a list of endpoints once and may take its time: weights
//! are summed and rings are built there. The [`Picker`] it returns serves every call until the list changes, and has no
//! time at all.

use std::{
    fmt::{self, Debug},
    ops::Deref,
    sync::Arc,
};

use crate::{ServiceInstance, extension::extension};

/// Makes pickers: one for each list of endpoints.
///
/// # Examples
///
/// A balancer that sends every call to the first endpoint that can take it:
///
/// ```
/// use std::sync::Arc;
/// use rpc_core::loadbalancer::{Endpoints, LoadBalancer, PickContext, Picker};
///
/// #[derive(Debug)]
/// struct First;
///
/// struct FirstOf {
///     len: usize,
/// }
///
/// impl LoadBalancer for First {
///     fn prepare(&self, endpoints: &Arc<Endpoints>) -> Box<dyn Picker> {
///         Box::new(FirstOf { len: endpoints.len() })
///     }
/// }
///
/// impl Picker for FirstOf {
///     fn pick(&self, cx: &PickContext<'_>) -> Option<usize> {
///         (0..self.len).find(|position| cx.admits(*position))
///     }
/// }
/// ```
pub trait LoadBalancer: Debug + Send + Sync + 'static {
    /// Makes the picker for `endpoints`. Called once per list, off the path of the calls; the list may be empty.
    fn prepare(&self, endpoints: &Arc<Endpoints>) -> Box<dyn Picker>;

    /// Whether its pickers look at [`PickContext::key`]; if not, no key is made for them.
    fn uses_key(&self) -> bool {
        false
    }
}

extension!(dyn LoadBalancer, "load balancer", "rpc_loadbalancer");

/// Chooses an endpoint for a call, from the list it was prepared from.
pub trait Picker: Send + Sync {
    /// Chooses the position of an endpoint that [`cx.admits`](PickContext::admits); `None` when it admits none, or none that the balancer
    /// would have. An answer that is not admitted is replaced by the first that is.
    ///
    /// Runs in the middle of a call: no I/O, no lock, no allocation, and ask for a position at most once. A panic is one of the caller's task.
    fn pick(&self, cx: &PickContext<'_>) -> Option<usize>;
}

/// What a [`Picker`] may know about the call it chooses for.
///
/// # Examples
///
/// ```
/// use rpc_core::loadbalancer::PickContext;
///
/// let cx = PickContext::new(Some(b"user-7"), &|position| position != 0);
/// assert_eq!(cx.key(), Some(&b"user-7"[..]));
/// assert!(!cx.admits(0));
/// assert!(cx.admits(1));
/// ```
#[derive(Clone, Copy)]
pub struct PickContext<'a> {
    key: Option<&'a [u8]>,
    admits: &'a dyn Fn(usize) -> bool,
}

impl<'a> PickContext<'a> {
    /// A call with this hash key, for which `admits` says what each position is good for.
    pub fn new(key: Option<&'a [u8]>, admits: &'a dyn Fn(usize) -> bool) -> Self {
        Self { key, admits }
    }

    /// The bytes that calls which belong together have in common. `None` when the call has none, or when the balancer does
    /// not [use it](LoadBalancer::uses_key).
    pub fn key(&self) -> Option<&'a [u8]> {
        self.key
    }

    /// Whether the endpoint at `position` can take this call: it can be reached, has room, and was not tried before.
    pub fn admits(&self, position: usize) -> bool {
        (self.admits)(position)
    }
}

impl Debug for PickContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PickContext").field("key", &self.key).finish_non_exhaustive()
    }
}

/// The endpoints of a service at one moment, sorted by instance id, so that every client sees the same list in the same
/// order, however the registry returned it.
///
/// # Examples
///
/// ```
/// use rpc_core::{ServiceInstance, loadbalancer::Endpoints};
///
/// let endpoints = Endpoints::from_instances([
///     ServiceInstance::new("users", "b:1"),
///     ServiceInstance::new("users", "drained:1").with_weight(0),
///     ServiceInstance::new("users", "a:1"),
/// ]);
/// let ids: Vec<_> = endpoints.iter().map(|endpoint| endpoint.instance().id.as_str()).collect();
/// assert_eq!(ids, ["a:1", "b:1"]);
/// ```
#[derive(Debug)]
pub struct Endpoints {
    sorted: Vec<Endpoint>,
}

impl Endpoints {
    /// The endpoints of these instances, without the drained ones (of weight 0).
    pub fn from_instances(instances: impl IntoIterator<Item = ServiceInstance>) -> Self {
        let mut sorted: Vec<_> = instances
            .into_iter()
            .filter(|instance| instance.weight > 0)
            .map(|instance| Endpoint { instance })
            .collect();
        // The address decides between equal ids, so that the order of arrival never does.
        sorted.sort_by(|a, b| a.order().cmp(&b.order()));
        Self { sorted }
    }
}

impl Deref for Endpoints {
    type Target = [Endpoint];

    fn deref(&self) -> &[Endpoint] {
        &self.sorted
    }
}

/// An instance that calls can go to.
#[derive(Debug)]
pub struct Endpoint {
    instance: ServiceInstance,
}

impl Endpoint {
    /// The instance behind it.
    pub fn instance(&self) -> &ServiceInstance {
        &self.instance
    }

    fn order(&self) -> (&str, &str) {
        (&self.instance.id, &self.instance.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(instances: [ServiceInstance; 3]) -> Vec<String> {
        let endpoints = Endpoints::from_instances(instances);
        endpoints.iter().map(|endpoint| endpoint.instance().address.clone()).collect()
    }

    #[test]
    fn the_order_of_arrival_does_not_show() {
        let [a, b, c] = ["a:1", "b:1", "c:1"].map(|address| ServiceInstance::new("users", address));
        let [x, y] = [a, b].map(|instance| instance.with_id("same"));
        let expected = ["c:1", "a:1", "b:1"];
        assert_eq!(addresses([x.clone(), y.clone(), c.clone()]), expected);
        assert_eq!(addresses([c, y, x]), expected);
    }
}
