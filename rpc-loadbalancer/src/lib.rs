//! The load balancers that come with the rpc framework, each in the file of its key.
//!
//! | key | chooses |
//! |---|---|
//! | `consistentHash` | the same endpoint for the same key ([`ConsistentHash`]) |
//! | `random` | any endpoint ([`Random`]) |
//! | `roundRobin` | each endpoint in turn ([`RoundRobin`]) |
//!
//! A program that links this crate (`use rpc_loadbalancer as _;` is enough) can name them in its configuration.

mod consistent_hash;
mod random;
mod round_robin;

pub use consistent_hash::ConsistentHash;
pub use random::Random;
pub use round_robin::RoundRobin;
