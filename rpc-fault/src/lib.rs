//! The fault strategies that come with the rpc framework, each in the file of its key.
//!
//! | key | when a call fails |
//! |---|---|
//! | `failFast` | the caller gets the error ([`FailFast`]) |
//! | `failOver` | it is made again, elsewhere if possible ([`FailOver`]) |
//!
//! A program that links this crate (`use rpc_fault as _;` is enough) can name them in its configuration.

mod fail_fast;
mod fail_over;

pub use fail_fast::FailFast;
pub use fail_over::FailOver;
