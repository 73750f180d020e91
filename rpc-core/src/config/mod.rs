//! What clients and servers are told from outside: a file, and the environment over it.
//!
//! ```text
//! default <- file <- environment (RPC_*) <- what the program sets
//!                          |
//!        Config { registry, client, server } --client()--> ClientBuilder, --server()--> ServerBuilder
//! ```
//!
//! The builders hold the same structures as the file: what one can say the other can, and each default is stated once, in
//! `client.rs` and `server.rs`. Values are checked when they are read; names of plugins, services and methods when a client or a server is
//! built, since only then all that counts is known.

mod client;
mod environment;
mod error;
mod file;
mod number;
mod policy;
mod print;
mod server;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use client::ClientConfig;
pub use error::ConfigError;
pub use number::Bounded;
pub(crate) use number::Millis;
pub use policy::Policy;
pub(crate) use server::ServerConfig;

use crate::{ClientBuilder, PluginConfig, RegistryConfig, ServerBuilder};

/// The configuration of a program's clients and servers.
///
/// What the program sets counts before the environment, the environment before the file, the file before the defaults. What is set by the
/// program or by the environment counts for all calls: it also takes the place of what the file says for single services and
/// methods. Printed, it is the configuration in effect, with all defaults, as a file; a password in the registry's url is hidden.
///
/// The environment has `RPC_CONFIG`, the path of the file, `RPC_REGISTRY`, `RPC_LOAD_BALANCER`, `RPC_FAULT` and `RPC_TIMEOUT_MS`.
///
/// # Examples
///
/// All that a file can say; everything may be left out:
///
/// ```
/// # use rpc_core::Config;
/// # let text = r#"
/// registry = "etcd://127.0.0.1:2379/rpc"      # or a table: { name = "etcd", endpoints = ["127.0.0.1:2379"] }
///
/// [client]
/// loadBalancer = "roundRobin"                 # or a table: { name = "consistentHash", virtualNodes = 160 }
/// fault = { name = "failOver", retries = 2 }
/// codec = "bincode"                           # or "json"
/// timeoutMs = 3000
/// connectTimeoutMs = 500
/// maxFrameBytes = 8388608
/// refreshMs = 30000
/// events = true
///
/// [client.services.UserService]               # the trait; for all its methods
/// loadBalancer = "consistentHash"
/// fault = "failSafe"
/// timeoutMs = 500
///
/// [client.services.UserService.methods.get_user]
/// loadBalancer = "random"
/// fault = { name = "failOver", retries = 5 }
/// timeoutMs = 200
///
/// [server]
/// listen = "0.0.0.0:9000"
/// advertise = "10.0.0.1:9000"
/// id = "users-1"
/// weight = 100
/// maxFrameBytes = 8388608
/// maxInFlight = 1024
///
/// [server.metadata]
/// zone = "a"
/// # "#;
/// # assert_eq!(Config::from_toml(&Config::from_toml(text)?.to_string())?.to_string(), Config::from_toml(text)?.to_string());
/// # Ok::<(), rpc_core::ConfigError>(())
/// ```
///
/// A program with flags of its own:
///
/// ```no_run
/// # use rpc_core::{Config, PluginConfig};
/// # fn run(retries: Option<u32>) -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = Config::load(None)?;
/// if config.registry().is_none() {
///     config.set_registry("direct://localhost:9000");
/// }
/// if let Some(retries) = retries {
///     config.set_fault(config.fault().clone().with("retries", retries));
/// }
/// println!("{config}");
/// let client = config.client().build()?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, expecting = "a table")]
pub struct Config {
    #[serde(skip_serializing_if = "Option::is_none")]
    registry: Option<RegistryConfig>,
    client: ClientConfig,
    server: ServerConfig,
}

impl Config {
    /// Reads the file at `path`, else the one that `RPC_CONFIG` names, else none; and the environment over it.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or has a mistake, or a variable has none of its values.
    pub fn load(path: Option<&Path>) -> Result<Self, ConfigError> {
        Self::from_sources(path, |name| std::env::var_os(name))
    }

    /// The same with variables that need not be those of the process.
    pub(crate) fn from_sources(
        path: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, ConfigError> {
        let variables = environment::Variables::read(variable)?;
        let mut config = match (path, &variables.config) {
            (Some(path), _) => file::read(path, None)?,
            (None, Some(path)) => file::read(path.as_ref(), Some(environment::CONFIG))?,
            (None, None) => Self::default(),
        };
        variables.apply(&mut config);
        Ok(config)
    }

    /// Reads the text of a file, and nothing else.
    ///
    /// # Errors
    ///
    /// When it is no TOML, or has a field that is unknown or a value that is not allowed there.
    ///
    /// # Examples
    ///
    /// ```
    /// use rpc_core::Config;
    ///
    /// let error = Config::from_toml("[client]\ntimeoutMs = 0").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "line 2, column 13: `client.timeoutMs`: invalid value: integer `0`, expected a number of milliseconds, 1 or more"
    /// );
    /// ```
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        file::parse(text, None)
    }

    /// The registry, if one is named.
    #[must_use]
    pub fn registry(&self) -> Option<&RegistryConfig> {
        self.registry.as_ref()
    }

    /// Names the registry, in place of any other.
    pub fn set_registry(&mut self, registry: impl Into<RegistryConfig>) {
        self.registry = Some(registry.into());
    }

    /// The load balancer of calls for which no other is named.
    pub fn load_balancer(&self) -> &PluginConfig {
        &self.client.load_balancer
    }

    /// Names the load balancer of all calls.
    pub fn set_load_balancer(&mut self, plugin: impl Into<PluginConfig>) {
        self.client.policies_mut().for_each(|policy| policy.load_balancer = None);
        self.client.load_balancer = plugin.into();
    }

    /// The fault strategy of calls for which no other is named.
    pub fn fault(&self) -> &PluginConfig {
        &self.client.fault
    }

    /// Names the fault strategy of all calls.
    pub fn set_fault(&mut self, plugin: impl Into<PluginConfig>) {
        self.client.policies_mut().for_each(|policy| policy.fault = None);
        self.client.fault = plugin.into();
    }

    /// How long a call may take for which nothing else is said.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.client.timeout_ms.0
    }

    /// Sets how long each call may take, in whole milliseconds; what is left is rounded up.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.client.policies_mut().for_each(|policy| policy.timeout_ms = None);
        self.client.timeout_ms = Millis(timeout).rounded_up();
    }

    /// Where servers listen, if that is said.
    #[must_use]
    pub fn listen(&self) -> Option<&str> {
        self.server.listen.as_deref()
    }

    /// The section `client`.
    #[cfg(test)]
    pub(crate) fn client_config(&self) -> &ClientConfig {
        &self.client
    }

    /// A client that is configured so, to be built.
    pub fn client(&self) -> ClientBuilder {
        ClientBuilder::configured(self.client.clone(), self.registry.clone())
    }

    /// A server that is configured so, to be given services and started.
    pub fn server(&self) -> ServerBuilder {
        ServerBuilder::configured(self.server.clone(), self.registry.clone())
    }
}
