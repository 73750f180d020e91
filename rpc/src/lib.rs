//! RPC with discovery, load balancing and fault tolerance as plugins.
//!
//! A service is a trait. [`rpc_service`] makes two types of it, and both sides share nothing but the trait:
//!
//! ```text
//!           consumer                                        provider
//!
//!  your code -> GreeterStub -> Client  == TCP ==>  Server -> GreeterDispatcher -> your Greeter
//!                                |
//!                                +-- registry         which instances are there?      direct, file, memory, etcd
//!                                +-- load balancer    which of them takes the call?   roundRobin, random, consistentHash
//!                                +-- fault strategy   what if it fails?               failFast, failOver
//! ```
//!
//! # Examples
//!
//! A server and a client in one process:
//!
//! ```
//! use rpc::{Client, RpcError, Server, rpc_service};
//!
//! #[rpc_service]
//! trait Greeter {
//!     async fn greet(&self, name: String) -> Result<String, RpcError>;
//! }
//!
//! struct Polite;
//!
//! impl Greeter for Polite {
//!     async fn greet(&self, name: String) -> Result<String, RpcError> {
//!         Ok(format!("Good day, {name}!"))
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let server = Server::builder().service(GreeterDispatcher::new(Polite)).listen("127.0.0.1:0").start().await?;
//!
//!     let client = Client::builder().registry(format!("direct://{}", server.address())).build()?;
//!     let greeter: GreeterStub = client.stub()?;
//!     assert_eq!(greeter.greet("Ada".into()).await?, "Good day, Ada!");
//!
//!     server.shutdown().await;
//!     Ok(())
//! }
//! ```
//!
//! # Where to look
//!
//! - Services: [`rpc_service`]. Errors: [`RpcError`], [`Code`], [`Executed`].
//! - Consumers: [`Client`], [`CallOptions`], [`CallReport`], [`Changes`]. Providers: [`Server`], [`Context`].
//! - Configuration: [`Config`], [`Policy`].
//! - Plugins: [`PluginConfig`], [`extension`], [`registry`], [`loadbalancer`], [`fault`].
//!
//! # Features
//!
//! - `file`, on by default: the registry `file`, a directory through which the processes of one machine find each other.
//! - `etcd`, off by default: the registry `etcd`. Building it needs `protoc`, the compiler of protocol buffers.
//!
//! # Why this crate
//!
//! The client, the server and the contracts are those of `rpc-core`, which knows no plugin: so a plugin of a third party has one
//! dependency and the same standing as ours. But a crate that is only listed in `Cargo.toml` is not linked, and what is not
//! linked is not registered. This crate names the built-in plugin crates, so that whoever depends on it has their plugins at
//! hand.

// Naming the plugin crates links them, and what is linked is registered; Cargo.toml alone does neither.
use rpc_fault as _;
use rpc_loadbalancer as _;
use rpc_registry as _;

pub use rpc_core::*;
pub use rpc_macros::rpc_service;

/// The examples of the README are compiled with those of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
