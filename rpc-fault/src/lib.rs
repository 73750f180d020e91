//! The fault strategies that come with the rpc framework, each in the file of its key.
//!
//! | key | when a call fails |
//! |---|---|
//! | `failFast` | the caller gets the error ([`FailFast`]) |
//! | `failSafe` | it is logged, and the caller goes on without ([`FailSafe`]) |
//! | `failBack` | the same, and it is made again later ([`FailBack`]) |
//! | `failOver` | it is made again, elsewhere if possible ([`FailOver`]) |
//!
//! A program that links this crate (`use rpc_fault as _;` is enough) can name them in its configuration.

mod fail_back;
mod fail_fast;
mod fail_over;
mod fail_safe;
mod failure;

pub use fail_back::FailBack;
pub use fail_fast::FailFast;
pub use fail_over::FailOver;
pub use fail_safe::FailSafe;
