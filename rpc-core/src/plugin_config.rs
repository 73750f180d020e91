//! Which plugin, and how it is set.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::error::with_sources;
use crate::extension::{self, Extension, ExtensionError};
use crate::settings::Unwritable;
use crate::{BoxError, Settings};

/// The entry of a plugin's table that is its key; all others are its settings.
const NAME: &str = "name";
/// What a date or a time is in place of a value: a table of this one entry, in which the reader of TOML hands it out.
const DATE_TIME: &str = "$__toml_private_datetime";

/// A plugin as it is asked for: its key, and its settings if it shall have any.
///
/// A key alone, or a key with [`Settings`], becomes one by itself. In a configuration it is the key as a text, or a table of `name`, which
/// is the key, and the settings.
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
#[derive(Clone, Debug)]
#[must_use = "a plugin is chosen by giving this to a builder"]
pub struct PluginConfig {
    key: String,
    /// What could not be written is said when the plugin is built.
    settings: Result<Settings, Unwritable>,
    /// The variable of the environment that asks for it, for messages.
    variable: Option<&'static str>,
}

/// A plugin that is asked for cannot be had: it is unknown, or refuses its settings. Says where it was asked for.
pub struct PluginError {
    at: String,
    error: BoxError,
}

impl PluginConfig {
    /// The plugin of this key, with its defaults.
    pub fn new(key: impl Into<String>) -> Self {
        Self { key: key.into(), settings: Ok(Settings::default()), variable: None }
    }

    /// The same with one more setting; one of that name is replaced, and `None` takes it away. Whether the plugin knows and accepts it is
    /// found when the client or the server is built.
    pub fn with(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        self.settings = self.settings.and_then(|settings| settings.with(name.into(), value));
        self
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The setting `url`, if it has that.
    pub(crate) fn url(&self) -> Option<&str> {
        self.settings.as_ref().ok()?.url()
    }

    /// The same, asked for by a variable of the environment.
    pub(crate) fn asked_by(mut self, variable: &'static str) -> Self {
        self.variable = Some(variable);
        self
    }

    /// Builds the plugin, which is asked for `at` this key of the configuration.
    pub(crate) fn build<E: Extension + ?Sized>(&self, at: &str) -> Result<Arc<E>, PluginError> {
        let built = match &self.settings {
            Ok(settings) => extension::build(&self.key, settings),
            Err(unwritable) => Err(extension::refused::<E>(&self.key, unwritable.clone().into())),
        };
        built.map_err(|error: ExtensionError| PluginError::new(self.variable.unwrap_or(at), error.into()))
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
        Self { settings: Ok(settings), ..Self::new(key) }
    }
}

impl Serialize for PluginConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.settings.as_ref().map_err(S::Error::custom)?.entries();
        if entries.is_empty() {
            return serializer.serialize_str(&self.key);
        }
        let mut table = serializer.serialize_map(Some(entries.len() + 1))?;
        table.serialize_entry(NAME, &self.key)?;
        entries.iter().try_for_each(|(name, value)| table.serialize_entry(name, value))?;
        table.end()
    }
}

impl<'de> Deserialize<'de> for PluginConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Form)
    }
}

/// The two forms of a plugin in a configuration.
struct Form;

impl<'de> Visitor<'de> for Form {
    type Value = PluginConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the key of a plugin, or a table of its `name` and its settings")
    }

    fn visit_str<E>(self, key: &str) -> Result<PluginConfig, E> {
        Ok(PluginConfig::new(key))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<PluginConfig, A::Error> {
        from_table(table)
    }
}

/// Reads the form of a table.
pub(crate) fn from_table<'de, A: MapAccess<'de>>(mut table: A) -> Result<PluginConfig, A::Error> {
    let mut key = None;
    let mut entries = Vec::new();
    while let Some(entry) = table.next_key::<String>()? {
        if entry == NAME {
            key = Some(table.next_value()?);
            continue;
        }
        let value = table.next_value()?;
        if let Some(fault) = fault(&value) {
            return Err(A::Error::custom(format_args!("setting `{entry}` {fault}")));
        }
        entries.push((entry, value));
    }
    let key: String = key.ok_or_else(|| A::Error::custom("the table has no `name`; give it the key of the plugin"))?;
    Ok((key, Settings::from_iter(entries)).into())
}

/// Why a file cannot hold a value, or does not mean it, worded so as to follow its name.
fn fault(value: &Value) -> Option<&'static str> {
    match value {
        Value::Null => Some("has no value; give it one"),
        Value::Number(number) if number.is_u64() && !number.is_i64() => {
            Some("is larger than 9223372036854775807; give it a smaller number, or write it in quotes")
        }
        Value::Object(entries) if entries.contains_key(DATE_TIME) => Some("is a date or a time; write it in quotes"),
        Value::Array(values) => values.iter().find_map(fault),
        Value::Object(entries) => entries.values().find_map(fault),
        _ => None,
    }
}

impl PluginError {
    pub(crate) fn new(at: &str, error: BoxError) -> Self {
        Self { at: at.to_owned(), error }
    }
}

impl fmt::Display for PluginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.at, self.error)
    }
}

impl fmt::Debug for PluginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_sources(self, f)
    }
}

impl Error for PluginError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::fault::FaultStrategy;

    fn refusal(config: impl Into<PluginConfig>) -> String {
        let error = config.into().build::<dyn FaultStrategy>("client.fault").unwrap_err();
        format!("{error}: {}", error.source().unwrap())
    }

    fn json(text: &str) -> Result<PluginConfig, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_key_alone_has_no_settings() {
        for config in [PluginConfig::from("failFast"), "failFast".to_owned().into(), json("\"failFast\"").unwrap()] {
            assert_eq!(config.settings.as_ref().unwrap(), &Settings::default());
            config.build::<dyn FaultStrategy>("client.fault").unwrap();
        }
    }

    #[test]
    fn settings_are_the_same_one_by_one_and_as_a_table() {
        let table = Settings::from_table(&HashMap::from([("retries", 5)])).unwrap();
        let one_by_one = PluginConfig::new("failOver").with("retries", "five").with("retries", 5);
        assert_eq!(one_by_one.settings.unwrap(), table);
        assert_eq!(PluginConfig::from(("failOver", table.clone())).settings.unwrap(), table);
        let read = json(r#"{"retries":5,"name":"failOver"}"#).unwrap();
        assert_eq!((read.key(), read.settings.as_ref().unwrap()), ("failOver", &table));
        assert_eq!(serde_json::to_string(&read).unwrap(), r#"{"name":"failOver","retries":5}"#);
    }

    #[test]
    fn a_value_that_is_none_is_named_when_the_plugin_is_built() {
        let config = PluginConfig::new("failFast").with("weights", HashMap::from([([1_u8, 2], 3)])).with("retries", 1);
        assert_eq!(
            refusal(config),
            "`client.fault`: fault strategy `failFast` refuses its settings: setting `weights` cannot be written"
        );
    }

    #[test]
    fn an_unknown_key_is_told_with_where_it_was_asked_for() {
        let unknown = PluginConfig::new("failfast");
        let error = unknown.build::<dyn FaultStrategy>("client.services.Users.fault").unwrap_err();
        let error = error.to_string();
        let told = error.strip_prefix("`client.services.Users.fault`: ").unwrap();
        assert!(told.starts_with("unknown fault strategy `failfast`; did you mean `failFast`? registered: "), "{told}");
        assert!(told.contains(", failFast, "), "{told}");
        let error = unknown.asked_by("RPC_FAULT").build::<dyn FaultStrategy>("client.fault").unwrap_err();
        assert_eq!(error.to_string(), format!("`RPC_FAULT`: {told}"));
    }

    #[test]
    fn another_form_is_refused_with_the_forms_that_are_good() {
        for (text, told) in [
            ("5", "invalid type: integer `5`, expected the key of a plugin, or a table of its `name` and its settings"),
            (r#"{"retries":5}"#, "the table has no `name`; give it the key of the plugin"),
            (r#"{"name":5}"#, "invalid type: integer `5`, expected a string"),
            (r#"{"name":"x","retries":null}"#, "setting `retries` has no value; give it one"),
        ] {
            let error = json(text).unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
    }
}
