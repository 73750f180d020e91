//! The registries that come with the rpc framework, each in the file of its key.
//!
//! | key | finds instances |
//! |---|---|
//! | `direct` | in its own url ([`Direct`]) |
//! | `memory` | in a table of this process, where providers register ([`Memory`]) |
//!
//! A program that links this crate (`use rpc_registry as _;` is enough) can name them in its configuration.

mod direct;
mod memory;

pub use direct::Direct;
pub use memory::Memory;
