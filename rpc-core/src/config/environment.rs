//! The environment.

use std::ffi::OsString;

use super::number::{MILLIS, Millis};
use super::{Config, ConfigError};
use crate::registry::shown_url;
use crate::{PluginConfig, RegistryConfig};

/// The path of the file.
pub(super) const CONFIG: &str = "RPC_CONFIG";
const REGISTRY: &str = "RPC_REGISTRY";
const LOAD_BALANCER: &str = "RPC_LOAD_BALANCER";
const FAULT: &str = "RPC_FAULT";
const TIMEOUT: &str = "RPC_TIMEOUT_MS";

/// What the environment says. Other variables are somebody else's, whatever they begin with.
pub(super) struct Variables {
    pub(super) config: Option<String>,
    registry: Option<String>,
    load_balancer: Option<String>,
    fault: Option<String>,
    timeout: Option<Millis>,
}

impl Variables {
    /// Reads all, so that a mistake in one is told whether or not it counts.
    pub(super) fn read(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, ConfigError> {
        let text = |name, allowed| text(&variable, name, allowed);
        let timeout = match text(TIMEOUT, MILLIS)? {
            None => None,
            Some(value) => {
                let timeout = Millis::parse(&value);
                Some(timeout.ok_or(ConfigError::Variable { name: TIMEOUT, value, allowed: MILLIS })?)
            }
        };
        Ok(Self {
            config: text(CONFIG, "the path of a configuration file")?,
            registry: text(REGISTRY, "the url of a registry")?,
            load_balancer: text(LOAD_BALANCER, "the key of a load balancer")?,
            fault: text(FAULT, "the key of a fault strategy")?,
            timeout,
        })
    }

    /// Has it count before what the file says.
    pub(super) fn apply(self, config: &mut Config) {
        if let Some(url) = self.registry {
            config.set_registry(RegistryConfig::from(url).asked_by(REGISTRY));
        }
        if let Some(key) = self.load_balancer {
            config.set_load_balancer(PluginConfig::new(key).asked_by(LOAD_BALANCER));
        }
        if let Some(key) = self.fault {
            config.set_fault(PluginConfig::new(key).asked_by(FAULT));
        }
        if let Some(timeout) = self.timeout {
            config.set_timeout(timeout.0);
        }
    }
}

fn text(
    variable: impl Fn(&str) -> Option<OsString>,
    name: &'static str,
    allowed: &'static str,
) -> Result<Option<String>, ConfigError> {
    let Some(value) = variable(name) else { return Ok(None) };
    match value.into_string() {
        Ok(value) if !value.is_empty() => Ok(Some(value)),
        Ok(value) => Err(ConfigError::Variable { name, value, allowed }),
        Err(value) => {
            let value = value.to_string_lossy();
            let value = if name == REGISTRY { shown_url(&value) } else { value.into_owned() };
            Err(ConfigError::Variable { name, value, allowed })
        }
    }
}
