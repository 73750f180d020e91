//! The settings of one plugin, before the plugin has read them.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, value::MapDeserializer},
};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::BoxError;
use crate::registry_url::{scheme, shown_url};

/// The settings of one plugin: names and values of any shape, which the plugin turns into its own type with
/// [`parse`](Self::parse).
///
/// They come from a configuration file (it deserializes from any table), from a URL, or from a type of the caller's.
///
/// # Examples
///
/// ```
/// use rpc_core::Settings;
///
/// #[derive(serde::Deserialize)]
/// #[serde(rename_all = "camelCase", deny_unknown_fields)]
/// struct Config {
///     virtual_nodes: u32,
/// }
///
/// let settings = Settings::from_table(&std::collections::HashMap::from([("virtualNodes", 160)]))?;
/// assert_eq!(settings.parse::<Config>()?.virtual_nodes, 160);
/// # Ok::<(), rpc_core::BoxError>(())
/// ```
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings {
    entries: Map<String, Value>,
}

impl Settings {
    /// The setting that holds the whole text of a URL.
    pub(crate) const URL: &str = "url";

    /// Splits a URL into the key of the plugin, which is the scheme, and its settings, which are `url`, the whole text.
    ///
    /// # Errors
    ///
    /// When `url` does not begin with a scheme and a colon.
    ///
    /// # Examples
    ///
    /// ```
    /// let (key, settings) = rpc_core::Settings::from_url("direct://localhost:9000")?;
    /// assert_eq!(key, "direct");
    /// assert_eq!(settings.url(), Some("direct://localhost:9000"));
    /// # Ok::<(), rpc_core::BoxError>(())
    /// ```
    pub fn from_url(url: &str) -> Result<(&str, Self), BoxError> {
        let key = scheme(url).ok_or_else(|| NotAUrl { text: shown_url(url) })?;
        let entries = Map::from_iter([(Self::URL.into(), url.into())]);
        Ok((key, Self { entries }))
    }

    /// Takes the settings from any type that serializes to a table: a map or a struct. What is `None` in it is left out.
    ///
    /// # Errors
    ///
    /// When `table` is not one, or cannot be serialized.
    pub fn from_table(table: &impl Serialize) -> Result<Self, BoxError> {
        match serde_json::to_value(table)? {
            Value::Object(entries) => Ok(entries.into_iter().filter(|(_, value)| !value.is_null()).collect()),
            _ => Err(NotATable.into()),
        }
    }

    /// The same settings with one more; one of that name is replaced, by `None` with nothing.
    pub(crate) fn with(mut self, name: String, value: impl Serialize) -> Result<Self, Unwritable> {
        match serde_json::to_value(value) {
            Ok(Value::Null) => {
                self.entries.remove(&name);
                Ok(self)
            }
            Ok(value) => {
                self.entries.insert(name, value);
                Ok(self)
            }
            Err(source) => Err(Unwritable { name, source: Arc::new(source) }),
        }
    }

    /// Names and values, by name.
    pub(crate) fn entries(&self) -> &Map<String, Value> {
        &self.entries
    }

    /// The URL these settings came from, if it was one.
    pub fn url(&self) -> Option<&str> {
        self.entries.get(Self::URL)?.as_str()
    }

    /// Reads the settings as the plugin's own type, which should be marked `#[serde(deny_unknown_fields)]`, so that a
    /// misspelt name is found when the client or server is built.
    ///
    /// # Errors
    ///
    /// When a setting is unknown, missing, or of the wrong type or range. The error names it.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, BoxError> {
        let current = Cell::new(None);
        let visited = self
            .entries
            .iter()
            .map(|(name, value)| {
                current.set(Some(name));
                (name.as_str(), value)
            })
            // After the last entry no single one is to blame: what is wrong then is that one is missing.
            .chain(std::iter::from_fn(|| {
                current.set(None);
                None
            }));
        T::deserialize(MapDeserializer::new(visited)).map_err(|source| match current.get() {
            Some(name) => Invalid { name: name.clone(), source }.into(),
            None => Incomplete { source }.into(),
        })
    }
}

impl FromIterator<(String, Value)> for Settings {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(entries: I) -> Self {
        Self { entries: entries.into_iter().collect() }
    }
}

/// Names and values; of a `url` what may be [shown](shown_url).
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |name: &str, value: &Value| match value {
            Value::String(url) if name == Self::URL => shown_url(url).into(),
            value => value.clone(),
        };
        f.debug_map().entries(self.entries.iter().map(|(name, value)| (name, shown(name, value)))).finish()
    }
}

#[derive(Debug, Error)]
#[error("`{text}` is not a url; write the key of a plugin and its address, such as `direct://localhost:9000`")]
struct NotAUrl {
    text: String,
}

#[derive(Debug, Error)]
#[error("settings are not a table; give each value a name")]
struct NotATable;

/// A setting has a value that no table can hold.
#[derive(Clone, Debug, Error)]
#[error("setting `{name}` cannot be written")]
pub(crate) struct Unwritable {
    name: String,
    source: Arc<serde_json::Error>,
}

#[derive(Debug, Error)]
#[error("setting `{name}` is not accepted")]
struct Invalid {
    name: String,
    source: serde_json::Error,
}

#[derive(Debug, Error)]
#[error("a setting is missing")]
struct Incomplete {
    source: serde_json::Error,
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Config {
        retries: u32,
        #[serde(default)]
        backoff_ms: Option<u64>,
    }

    fn json(text: &str) -> Settings {
        serde_json::from_str(text).unwrap()
    }

    /// The error of reading `text` as a `Config`, its source included.
    fn refusal(text: &str) -> [String; 2] {
        let error = json(text).parse::<Config>().unwrap_err();
        [error.to_string(), error.source().unwrap().to_string()]
    }

    #[test]
    fn a_url_gives_the_scheme_as_key_and_the_whole_text_as_url() {
        for (url, scheme) in [("direct://a:1,b:2", "direct"), ("memory:NAME", "memory"), ("etcd://h:1/ns?x=1", "etcd")]
        {
            let (key, settings) = Settings::from_url(url).unwrap();
            assert_eq!(key, scheme);
            assert_eq!(settings, json(&format!(r#"{{"url":"{url}"}}"#)));
            assert_eq!(settings.url(), Some(url));
        }
    }

    #[test]
    fn a_text_without_a_scheme_is_refused() {
        for text in ["", "localhost", "10.0.0.1:80", "[::1]:80", ":80", "a b:c", "//a:1"] {
            let error = Settings::from_url(text).unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "`{text}` is not a url; write the key of a plugin and its address, such as `direct://localhost:9000`"
                )
            );
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let error = Settings::from_url("//ann:secret@a:1").unwrap_err();
        assert!(error.to_string().starts_with("`***@a:1` is not a url;"), "{error}");
        let (_, settings) = Settings::from_url("etcd://ann:secret@a:1").unwrap();
        for shown in [format!("{error:?}"), format!("{settings:?}")] {
            assert!(shown.contains("***@a:1") && !shown.contains("secret"), "{shown}");
        }
    }

    #[test]
    fn the_default_is_empty() {
        assert_eq!(Settings::default(), json("{}"));
        assert_eq!(Settings::default().url(), None);
    }

    #[test]
    fn a_table_of_any_kind_becomes_settings() {
        let settings = Settings::from_table(&HashMap::from([("retries", 2)])).unwrap();
        assert_eq!(settings, json(r#"{"retries":2}"#));
        let error = Settings::from_table(&["retries"]).unwrap_err();
        assert_eq!(error.to_string(), "settings are not a table; give each value a name");
    }

    #[test]
    fn what_is_none_is_no_setting() {
        let settings = Settings::from_table(&HashMap::from([("retries", Some(2)), ("pauseMs", None)])).unwrap();
        assert_eq!(settings, json(r#"{"retries":2}"#));
        assert_eq!(settings.with("retries".into(), None::<u8>).unwrap(), Settings::default());
    }

    #[test]
    fn settings_are_read_as_the_type_of_the_plugin() {
        let expected = Config { retries: 2, backoff_ms: Some(5) };
        assert_eq!(json(r#"{"retries":2,"backoffMs":5}"#).parse::<Config>().unwrap(), expected);
    }

    #[test]
    fn a_refused_value_is_named() {
        assert_eq!(
            refusal(r#"{"backoffMs":1,"retries":-1}"#),
            ["setting `retries` is not accepted", "invalid value: integer `-1`, expected u32"]
        );
        assert_eq!(
            refusal(r#"{"retries":1,"backoffMs":"soon"}"#),
            ["setting `backoffMs` is not accepted", "invalid type: string \"soon\", expected u64"]
        );
    }

    #[test]
    fn an_unknown_setting_is_named() {
        assert_eq!(
            refusal(r#"{"retries":1,"retrys":2}"#),
            ["setting `retrys` is not accepted", "unknown field `retrys`, expected `retries` or `backoffMs`"]
        );
    }

    #[test]
    fn a_missing_setting_is_named() {
        assert_eq!(refusal(r#"{"backoffMs":1}"#), ["a setting is missing", "missing field `retries`"]);
    }
}
