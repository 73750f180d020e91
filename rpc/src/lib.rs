//! RPC with discovery, load balancing and fault tolerance as plugins.
//!
//! A service is a trait. [`rpc_service`] makes two types of it, and both sides share nothing but the trait:
//!
//! ```text
//!           consumer                                        provider
//!
//!  your code -> GreeterStub -> Client  == TCP ==>  Server -> GreeterDispatcher -> your Greeter
//!                                |
//!                                +-- registry         which instances are there?      file, etcd, direct, memory
//!                                +-- load balancer    which of them takes the call?   roundRobin, random, consistentHash
//!                                +-- fault strategy   what if it fails?               failFast, failOver, failSafe, failBack
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
//! - Consumers: [`Client`], [`CallOptions`], [`CallReport`], [`Changes`].
//! - Providers: [`Server`], [`Signals`], which end it in order, and [`Context`].
//! - Bodies: [`Codec`]; bincode unless the client chooses JSON by [`ClientBuilder::codec`].
//! - Configuration: [`Config`], [`Policy`].
//! - Plugins: [`PluginConfig`], [`extension`], [`registry`], [`loadbalancer`], [`fault`].
//!
//! # Built-in plugins
//!
//! | kind | key | what it does | settings and their defaults |
//! |---|---|---|---|
//! | registry | `direct` | finds every service at the addresses in its url; nobody registers | `direct://host:port,host:port` |
//! | registry | `memory` | a table in this process, with events; all of one name are the same | `memory:NAME` |
//! | registry | `file` | a directory of one machine, with events | `file:` or `file:///dir` |
//! | registry | `etcd` | etcd, with events | `etcd://host:port,host:port/namespace?leaseTtl=15` |
//! | load balancer | `roundRobin`, the default | takes each instance in turn, beginning anywhere | |
//! | load balancer | `random` | takes any instance | |
//! | load balancer | `consistentHash` | takes the same instance for the same hash key | `virtualNodes`: 160 |
//! | fault strategy | `failFast`, the default | hands every error to the caller | |
//! | fault strategy | `failOver` | makes a failed call again elsewhere | `retries`: 2; `attemptTimeoutMs`: none; `backoffMs`: about 20, 40 and so on to 1,000, and none before the first |
//! | fault strategy | `failSafe` | logs a failure of the far side; the caller goes on without an answer | |
//! | fault strategy | `failBack` | the same, and the call is made again later | `retries`: 5; `pauseMs`: 1,000, doubling to 60 s; `maxCalls`: 1,000; `maxBytes`: 16,777,216 |
//!
//! A plugin of another crate has the same standing.
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
