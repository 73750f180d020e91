//! RPC with discovery, load balancing and fault tolerance as plugins.

// Naming the plugin crates links them, and what is linked is registered; Cargo.toml alone does neither.
use rpc_fault as _;
use rpc_loadbalancer as _;
use rpc_registry as _;

pub use rpc_core::*;
pub use rpc_macros::rpc_service;
