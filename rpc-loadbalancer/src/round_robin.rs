//! `roundRobin`: each endpoint in turn.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use rpc_core::{
    BoxError, Settings,
    loadbalancer::{Endpoints, LoadBalancer, PickContext, Picker},
    register,
};
use serde::Deserialize;

/// Chooses each endpoint in turn, whatever its weight.
///
/// The turn goes on when the list changes, and begins at random: clients that start together, or that make a single call
/// each, do not all meet the same endpoint first. Where an endpoint does not admit the call, the next one that does takes
/// it in its place.
#[derive(Debug)]
pub struct RoundRobin {
    turn: Arc<AtomicUsize>,
}

impl RoundRobin {
    /// The key it is registered under. It has no settings.
    pub const KEY: &'static str = "roundRobin";

    /// A balancer that begins anywhere. Each service needs its own: two that share one would see only some of the turns.
    pub fn new() -> Self {
        Self::starting_at(fastrand::usize(..))
    }

    fn starting_at(turn: usize) -> Self {
        Self { turn: Arc::new(AtomicUsize::new(turn)) }
    }
}

register!(dyn LoadBalancer, RoundRobin::KEY, build);

impl Default for RoundRobin {
    fn default() -> Self {
        Self::new()
    }
}

impl LoadBalancer for RoundRobin {
    fn prepare(&self, endpoints: &Arc<Endpoints>) -> Box<dyn Picker> {
        Box::new(Rotation { turn: Arc::clone(&self.turn), len: endpoints.len() })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {}

fn build(settings: &Settings) -> Result<Arc<RoundRobin>, BoxError> {
    let Config {} = settings.parse()?;
    Ok(Arc::new(RoundRobin::new()))
}

/// The turns over one list.
struct Rotation {
    /// Shared with the balancer and all its pickers. Where it wraps around, the sequence breaks once, unless `len` is a
    /// power of two.
    turn: Arc<AtomicUsize>,
    len: usize,
}

impl Picker for Rotation {
    fn pick(&self, cx: &PickContext<'_>) -> Option<usize> {
        // Nothing but the number itself is shared, so its order with other memory does not matter.
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let start = turn.checked_rem(self.len)?;
        (start..self.len).chain(0..start).find(|position| cx.admits(*position))
    }
}

#[cfg(test)]
mod tests;
