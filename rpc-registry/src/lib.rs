//! The registries that come with the rpc framework, each in the file of its key.
//!
//! | key | finds instances |
//! |---|---|
//! | `direct` | in its own url ([`Direct`]) |
//! | `etcd` | in etcd, where providers register (`Etcd`); with the cargo feature `etcd`, which needs `protoc` to be built |
//! | `file` | in a directory of this machine, where providers register (`Files`); with the cargo feature `file` |
//! | `memory` | in a table of this process, where providers register ([`Memory`]) |
//!
//! A program that links this crate (`use rpc_registry as _;` is enough) can name them in its configuration.

mod address;
mod direct;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "file")]
mod file;
mod memory;
#[cfg(any(feature = "etcd", feature = "file"))]
mod value;

pub use direct::Direct;
#[cfg(feature = "etcd")]
pub use etcd::Etcd;
#[cfg(feature = "file")]
pub use file::Files;
pub use memory::Memory;
