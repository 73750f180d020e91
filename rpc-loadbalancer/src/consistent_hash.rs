//! `consistentHash`: the same key, the same endpoint.

use std::sync::Arc;

use rpc_core::{
    Bounded, BoxError, Settings,
    loadbalancer::{Endpoints, LoadBalancer, PickContext, Picker},
    register,
};
use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64;

use self::ring::Ring;

mod ring;

/// As many as ketama gives a server of average weight.
const DEFAULT_VIRTUAL_NODES: u32 = 160;

/// The shares of the instances differ by about `1 / sqrt(virtualNodes)`; here that is 1 %, and more buys nothing.
const MAX_VIRTUAL_NODES: u64 = 10_000;

/// Chooses by the call's hash key: calls with the same key go to the same endpoint, from every client.
///
/// When an instance comes or goes, only the keys that it gets or had change their endpoint. Where an endpoint does not
/// admit the call, the next one along the ring takes it, which is again the same from every client. No state is kept per
/// key. An empty key is a key like any other; calls without one are spread at random.
///
/// # Algorithm
///
/// Consistent hashing (Karger et al., "Consistent Hashing and Random Trees", 1997) in the manner of ketama (Jones, 2007):
/// every instance has many points on a ring of 64-bit numbers, and a key belongs to the first point that is not below its
/// hash, or to the very first if there is none. Points and keys are hashed with XXH3 (64 bits, seed 0; Collet's xxHash),
/// which spreads texts that differ in one digit and gives the same numbers on every platform.
///
/// The points of an instance are the hashes of `id#0`, `id#1` and so on, and depend on nothing else: a provider that comes
/// back under its id gets its keys back, whatever its address, metadata or time of start. There are
/// `virtualNodes * weight / 100` of them, at least one, so that a change of weight too moves only the keys it must. Of
/// equal points the one with the smaller id counts.
///
/// A ring has room for 1,048,576 points (16 MiB), or else a single mistaken weight could take all memory. Where more are
/// asked for, every instance gets proportionally fewer, at least one, and changes of the list move a few more keys.
///
/// # Settings
///
/// - `virtualNodes`: the points of an instance of default weight (100), from 1 to 10,000; 160 by default, as in ketama.
///   More make the shares more equal: with 10 instances the largest is about 1.12 times the mean at 160, 1.04 times at
///   1,024. All clients of a service must agree on it.
#[derive(Debug)]
pub struct ConsistentHash {
    virtual_nodes: u32,
}

impl ConsistentHash {
    /// The key it is registered under.
    pub const KEY: &'static str = "consistentHash";
}

register!(dyn LoadBalancer, ConsistentHash::KEY, build);

impl Default for ConsistentHash {
    fn default() -> Self {
        Self { virtual_nodes: DEFAULT_VIRTUAL_NODES }
    }
}

impl LoadBalancer for ConsistentHash {
    fn prepare(&self, endpoints: &Arc<Endpoints>) -> Box<dyn Picker> {
        Box::new(Ring::new(endpoints, self.virtual_nodes))
    }

    fn uses_key(&self) -> bool {
        true
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Config {
    #[serde(default)]
    virtual_nodes: Option<Bounded<1, MAX_VIRTUAL_NODES>>,
}

fn build(settings: &Settings) -> Result<Arc<ConsistentHash>, BoxError> {
    let Config { virtual_nodes } = settings.parse()?;
    let virtual_nodes = virtual_nodes.map_or(DEFAULT_VIRTUAL_NODES, |count| count.get() as u32);
    Ok(Arc::new(ConsistentHash { virtual_nodes }))
}

impl Picker for Ring {
    fn pick(&self, cx: &PickContext<'_>) -> Option<usize> {
        let hash = cx.key().map_or_else(|| fastrand::u64(..), xxh3_64);
        self.walk(hash).find(|position| cx.admits(*position))
    }
}

#[cfg(test)]
mod tests;
