//! Contracts of the rpc framework, and what every plugin needs to implement them.
//!
//! A plugin is a type that implements one of the contracts and is named by a key:
//!
//! | contract | kind | asks |
//! |---|---|---|
//! | [`registry::Discovery`] | registry | which instances serve a service? |
//! | [`loadbalancer::LoadBalancer`] | load balancer | which of them takes this call? |
//! | [`fault::FaultStrategy`] | fault strategy | what happens when it fails? |
//!
//! [`register!`] names a plugin beside its type, in any crate; [`extension`] finds it again when a client or a server is
//! built. This crate knows no plugin, so that a third party writes one with a single dependency.

pub mod extension;
pub mod fault;
mod instance;
pub mod loadbalancer;
pub mod registry;
mod settings;

use std::{error::Error, pin::Pin};

pub use instance::ServiceInstance;
pub use settings::Settings;

/// Any error, as the contracts return it: a plugin's own type, or `?` from whatever it calls.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The future that an async contract returns, written out so that it can be called through `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
