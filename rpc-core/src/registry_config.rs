//! Which registry: a url, or a table of its settings.

use std::fmt;
use std::sync::Arc;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::extension::{self, Extension};
use crate::plugin_config::{PluginError, from_table};
use crate::registry::{Discovery, Registrar};
use crate::registry_url::RegistryUrl;
use crate::{BoxError, PluginConfig, Settings};

/// A registry as it is asked for: a URL, whose scheme is the registry's key, or a [plugin](PluginConfig) with settings of its own.
///
/// Printed, a user in the URL is hidden, as a password may be there too; also when it is serialized.
///
/// # Examples
///
/// ```
/// use rpc_core::{PluginConfig, RegistryConfig};
///
/// let url = RegistryConfig::from("etcd://ann:secret@10.0.0.1:2379/rpc");
/// assert_eq!(url.to_string(), "etcd://***@10.0.0.1:2379/rpc");
/// let table = RegistryConfig::from(PluginConfig::new("etcd").with("endpoints", ["10.0.0.1:2379"]));
/// assert_eq!(table.to_string(), "etcd");
/// ```
#[derive(Clone)]
pub struct RegistryConfig {
    form: Form,
    /// The variable of the environment that asks for it, for messages.
    variable: Option<&'static str>,
}

#[derive(Clone)]
enum Form {
    Url(RegistryUrl),
    Table(PluginConfig),
}

impl RegistryConfig {
    /// The same, asked for by a variable of the environment.
    pub(crate) fn asked_by(mut self, variable: &'static str) -> Self {
        self.variable = Some(variable);
        self
    }

    /// Builds one half of the registry.
    pub(crate) fn build<E: Extension + ?Sized>(&self) -> Result<Arc<E>, PluginError> {
        match &self.form {
            Form::Url(url) => from_url(url).map_err(|error| PluginError::new(self.asked_at(), error)),
            Form::Table(plugin) => plugin.build(self.asked_at()),
        }
    }

    /// Builds the half of providers. Where there is only the other, says so.
    pub(crate) fn registrar(&self) -> Result<Arc<dyn Registrar>, PluginError> {
        let key = match &self.form {
            Form::Url(url) => Settings::from_url(url.as_str()).map_or("", |(key, _)| key),
            Form::Table(plugin) => plugin.key(),
        };
        let keys = extension::keys::<dyn Registrar>();
        if !keys.is_empty() && !keys.contains(&key) && extension::keys::<dyn Discovery>().contains(&key) {
            let told = format!(
                "`{key}` only finds instances, nobody registers there; leave the registry out, or name one of: {}",
                keys.join(", ")
            );
            return Err(PluginError::new(self.asked_at(), told.into()));
        }
        self.build()
    }

    fn asked_at(&self) -> &'static str {
        self.variable.unwrap_or("registry")
    }
}

fn from_url<E: Extension + ?Sized>(url: &RegistryUrl) -> Result<Arc<E>, BoxError> {
    let (key, settings) = Settings::from_url(url.as_str())?;
    Ok(extension::build(key, &settings)?)
}

impl From<&str> for RegistryConfig {
    fn from(url: &str) -> Self {
        url.to_owned().into()
    }
}

impl From<&String> for RegistryConfig {
    fn from(url: &String) -> Self {
        url.as_str().into()
    }
}

impl From<String> for RegistryConfig {
    fn from(url: String) -> Self {
        Self { form: Form::Url(RegistryUrl::new(url)), variable: None }
    }
}

impl From<PluginConfig> for RegistryConfig {
    fn from(plugin: PluginConfig) -> Self {
        Self { form: Form::Table(plugin), variable: None }
    }
}

/// The url; of a table its `url`, or its key where it has none.
impl fmt::Display for RegistryConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            Form::Url(url) => url.fmt(f),
            Form::Table(plugin) => match plugin.url() {
                Some(url) => RegistryUrl::new(url).fmt(f),
                None => f.write_str(plugin.key()),
            },
        }
    }
}

impl fmt::Debug for RegistryConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl Serialize for RegistryConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.form {
            Form::Url(url) => serializer.collect_str(url),
            Form::Table(plugin) => match plugin.url() {
                Some(_) => plugin.clone().with(Settings::URL, self.to_string()).serialize(serializer),
                None => plugin.serialize(serializer),
            },
        }
    }
}

impl<'de> Deserialize<'de> for RegistryConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Forms)
    }
}

/// The two forms of a registry in a configuration.
struct Forms;

impl<'de> Visitor<'de> for Forms {
    type Value = RegistryConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the url of a registry, or a table of its `name` and its settings")
    }

    fn visit_str<E>(self, url: &str) -> Result<RegistryConfig, E> {
        Ok(url.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<RegistryConfig, A::Error> {
        Ok(from_table(table)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_hidden_in_every_form() {
        let url = "etcd://ann:secret@a:1/rpc";
        for registry in [RegistryConfig::from(url), PluginConfig::new("etcd").with("url", url).into()] {
            for printed in [registry.to_string(), format!("{registry:?}"), serde_json::to_string(&registry).unwrap()] {
                assert!(printed.contains("etcd://***@a:1/rpc") && !printed.contains("secret"), "{printed}");
            }
        }
    }

    #[test]
    fn a_mistake_is_told_with_where_it_was_asked_for() {
        for (registry, told) in [
            (
                RegistryConfig::from("localhost").asked_by("RPC_REGISTRY"),
                "`RPC_REGISTRY`: `localhost` is not a url; write the key of a plugin and its address, such as `direct://localhost:9000`",
            ),
            ("fixd:a".into(), "`registry`: unknown registry `fixd`; did you mean `fixed`? registered: fixed, script"),
            (
                PluginConfig::new("fixd").into(),
                "`registry`: unknown registry `fixd`; did you mean `fixed`? registered: fixed, script",
            ),
        ] {
            assert_eq!(registry.build::<dyn Discovery>().unwrap_err().to_string(), told);
        }
    }

    #[test]
    fn a_registry_that_only_finds_is_told_from_one_that_is_unknown() {
        for (registry, told) in [
            (
                RegistryConfig::from("fixed://a:1"),
                "`registry`: `fixed` only finds instances, nobody registers there; leave the registry out, or name one of: book",
            ),
            (
                RegistryConfig::from(PluginConfig::new("fixed")).asked_by("RPC_REGISTRY"),
                "`RPC_REGISTRY`: `fixed` only finds instances, nobody registers there; leave the registry out, or name one of: book",
            ),
            (
                "bok:x".into(),
                "`registry`: unknown registry (to register in) `bok`; did you mean `book`? registered: book",
            ),
        ] {
            assert_eq!(registry.registrar().unwrap_err().to_string(), told);
        }
    }
}
