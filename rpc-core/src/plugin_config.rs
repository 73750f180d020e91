//! Which plugin, and how it is set.

use std::sync::Arc;

use serde::Serialize;

use crate::Settings;
use crate::extension::{self, Extension, ExtensionError};
use crate::settings::Unwritable;

/// A plugin as it is asked for: its key, and its settings if it shall have any.
///
/// A key alone, or a key with [`Settings`], becomes one by itself.
///
/// # Examples
///
/// ```
/// use rpc_core::{Client, PluginConfig};
///
/// let client = Client::builder()
///     .load_balancer("roundRobin")
///     .fault(PluginConfig::new("failOver").with("retries", 5).with("attemptTimeoutMs", 200));
/// ```
#[derive(Debug)]
#[must_use = "a plugin is chosen by giving this to a builder"]
pub struct PluginConfig {
    key: String,
    /// What could not be written is said when the plugin is built.
    settings: Result<Settings, Unwritable>,
}

impl PluginConfig {
    /// The plugin of this key, with its defaults.
    pub fn new(key: impl Into<String>) -> Self {
        Self { key: key.into(), settings: Ok(Settings::default()) }
    }

    /// The same with one more setting; one of that name is replaced. Whether the plugin knows and accepts it is found when the client or
    /// the server is built.
    pub fn with(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        self.settings = self.settings.and_then(|settings| settings.with(name.into(), value));
        self
    }

    pub(crate) fn build<E: Extension + ?Sized>(&self) -> Result<Arc<E>, ExtensionError> {
        match &self.settings {
            Ok(settings) => extension::build(&self.key, settings),
            Err(unwritable) => Err(extension::refused::<E>(&self.key, unwritable.clone().into())),
        }
    }
}

impl From<&str> for PluginConfig {
    fn from(key: &str) -> Self {
        Self::new(key)
    }
}

impl From<String> for PluginConfig {
    fn from(key: String) -> Self {
        Self::new(key)
    }
}

impl<K: Into<String>> From<(K, Settings)> for PluginConfig {
    fn from((key, settings): (K, Settings)) -> Self {
        Self { key: key.into(), settings: Ok(settings) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::error::Error;

    use super::*;
    use crate::fault::FaultStrategy;

    fn refusal(config: impl Into<PluginConfig>) -> String {
        let error = config.into().build::<dyn FaultStrategy>().unwrap_err();
        format!("{error}: {}", error.source().unwrap())
    }

    #[test]
    fn a_key_alone_has_no_settings() {
        for config in [PluginConfig::from("failFast"), "failFast".to_owned().into()] {
            assert_eq!(config.settings.as_ref().unwrap(), &Settings::default());
            config.build::<dyn FaultStrategy>().unwrap();
        }
    }

    #[test]
    fn settings_are_the_same_one_by_one_and_as_a_table() {
        let table = Settings::from_table(&HashMap::from([("retries", 5)])).unwrap();
        let one_by_one = PluginConfig::new("failOver").with("retries", "five").with("retries", 5);
        assert_eq!(one_by_one.settings.unwrap(), table);
        assert_eq!(PluginConfig::from(("failOver", table.clone())).settings.unwrap(), table);
    }

    #[test]
    fn a_value_that_is_none_is_named_when_the_plugin_is_built() {
        let config = PluginConfig::new("failFast").with("weights", HashMap::from([([1_u8, 2], 3)])).with("retries", 1);
        assert_eq!(
            refusal(config),
            "fault strategy `failFast` refuses its settings: setting `weights` cannot be written"
        );
    }
}
