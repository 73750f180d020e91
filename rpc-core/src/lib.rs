//! Contracts, protocol, client and server runtime of the rpc framework.
//!
//! A plugin is a type that implements one of the contracts and is named by a key:
//!
//! | contract | kind | asks |
//! |---|---|---|
//! | [`registry::Discovery`], [`registry::Registrar`] | registry | which instances serve a service? |
//! | [`loadbalancer::LoadBalancer`] | load balancer | which of them takes this call? |
//! | [`fault::FaultStrategy`] | fault strategy | what happens when it fails? |
//!
//! [`register!`] names a plugin beside its type, in any crate; [`extension`] finds it again when a client or a server is
//! built. This crate knows no plugin, so that a third party writes one with a single dependency.
//!
//! Applications use the `rpc` crate, which brings the built-in plugins and the `#[rpc_service]` macro along.

// Contracts.
pub mod extension;
pub mod fault;
pub mod loadbalancer;
pub mod registry;

// What contracts and runtime speak of.
mod body;
mod context;
mod error;
mod instance;
mod invocation;
mod lock;
mod options;
mod plugin_config;
mod registry_config;
mod registry_url;
mod report;
mod settings;
mod status;

// What is known of a service when it is compiled.
mod arguments;
#[doc(hidden)]
pub mod generated;
mod hash_key;
mod method;
mod outcome;

// The runtime.
mod client;
mod config;
mod discovery;
mod protocol;
mod server;
mod transport;

#[cfg(test)]
mod testing;

use std::error::Error;
use std::pin::Pin;

pub use client::{BuildError, Client, ClientBuilder};
pub use config::{Bounded, Config, ConfigError, Policy};
pub use context::{Context, Metadata};
pub use discovery::{Change, Changes, Instances, Source};
pub use error::{Code, Executed, RpcError};
pub use instance::ServiceInstance;
pub use invocation::Invocation;
pub use method::Method;
pub use options::CallOptions;
pub use plugin_config::{PluginConfig, PluginError};
pub use protocol::codec::Codec;
pub use registry_config::RegistryConfig;
pub use report::{CallReport, Step};
pub use server::{Server, ServerBuilder, Signals, StartError};
pub use settings::Settings;

/// Any error, as the contracts return it: a plugin's own type, or `?` from whatever it calls.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The future that an async contract returns, written out so that it can be called through `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
