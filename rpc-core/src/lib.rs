//! Contracts, protocol, client and server runtime of the rpc framework.

pub mod arguments;
pub mod hash_key;
pub mod protocol;
