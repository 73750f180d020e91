//! What the registry is told, in a url or a table.

use rpc_core::registry::shown_url;
use rpc_core::{BoxError, Settings};
use serde::Deserialize;
use thiserror::Error;

use super::key;
use crate::address;

/// The part of etcd's keys that is ours, unless another is named.
const DEFAULT_NAMESPACE: &str = "rpc";
/// Seconds that an instance outlives its provider at most, unless told otherwise.
const DEFAULT_LEASE_TTL: i64 = 15;
/// The bounds of that: etcd grants no less than 2 s by default, and what crashed should not be listed for more than an hour.
const LEASE_TTL: std::ops::RangeInclusive<i64> = 2..=3_600;

/// What a url or a table says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Config {
    /// Each as `host:port`.
    pub(super) endpoints: Vec<String>,
    pub(super) namespace: String,
    /// In seconds.
    pub(super) lease_ttl: i64,
}

/// A url that is not of the form expected.
#[derive(Debug, Error)]
#[error("registry url `{url}` {fault}; write `etcd://host:port,host:port/namespace?leaseTtl=15`")]
pub(super) struct BadUrl {
    url: String,
    fault: Fault,
}

/// A table that does not say it all, or says what cannot be.
#[derive(Debug, Error)]
#[error(
    "the registry {fault}; give it `endpoints = [\"host:port\"]` and if need be `namespace = \"rpc\"` and `leaseTtl = 15`, or all of them in `url`"
)]
struct BadTable {
    fault: Fault,
}

/// The settings of the registry.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Table {
    url: Option<String>,
    endpoints: Option<Vec<String>>,
    namespace: Option<String>,
    lease_ttl: Option<i64>,
}

/// What is wrong with a url or a table, worded so as to follow it in a sentence.
#[derive(Debug, Error)]
enum Fault {
    #[error("does not begin with `etcd://`")]
    Scheme,
    #[error(transparent)]
    Addresses(#[from] address::Fault),
    #[error("has a namespace `{0}` with white space or more than one part")]
    Namespace(String),
    #[error("has a parameter `{0}` that is not known, leaseTtl is the only one")]
    UnknownParameter(String),
    #[error("has the parameter `leaseTtl` twice")]
    Twice,
    #[error("has a url and other settings beside it")]
    Both,
    #[error("has a leaseTtl of `{0}`, which is not a number of seconds from 2 to 3600")]
    LeaseTtl(String),
}

impl Config {
    /// Reads the settings: a url, or what it would say.
    pub(super) fn from_settings(settings: &Settings) -> Result<Self, BoxError> {
        match settings.parse()? {
            Table { url: Some(url), endpoints: None, namespace: None, lease_ttl: None } => Ok(Self::from_url(&url)?),
            table => Ok(table.config().map_err(|fault| BadTable { fault })?),
        }
    }

    /// Takes a url apart.
    pub(super) fn from_url(url: &str) -> Result<Self, BadUrl> {
        parse(url).map_err(|fault| BadUrl { url: shown_url(url), fault })
    }
}

impl Table {
    fn config(self) -> Result<Config, Fault> {
        if self.url.is_some() {
            return Err(Fault::Both);
        }
        let endpoints = self.endpoints.unwrap_or_default();
        if endpoints.iter().any(|endpoint| endpoint.contains('@')) {
            return Err(address::Fault::User.into());
        }
        let namespace = self.namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
        let lease_ttl = self.lease_ttl.unwrap_or(DEFAULT_LEASE_TTL);
        if !LEASE_TTL.contains(&lease_ttl) {
            return Err(Fault::LeaseTtl(lease_ttl.to_string()));
        }
        Ok(Config {
            endpoints: address::checked(endpoints.iter().map(String::as_str))?,
            namespace: checked_namespace(namespace)?,
            lease_ttl,
        })
    }
}

fn parse(url: &str) -> Result<Config, Fault> {
    let rest = url.strip_prefix("etcd://").ok_or(Fault::Scheme)?;
    if rest.contains('@') {
        return Err(address::Fault::User.into());
    }
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (endpoints, namespace) = rest.split_once('/').unwrap_or((rest, ""));
    let namespace = if namespace.is_empty() { DEFAULT_NAMESPACE } else { namespace };
    Ok(Config {
        endpoints: address::addresses(endpoints)?,
        namespace: checked_namespace(namespace.to_owned())?,
        lease_ttl: lease_ttl(parameters)?,
    })
}

fn checked_namespace(namespace: String) -> Result<String, Fault> {
    match key::check("namespace", &namespace) {
        Ok(()) => Ok(namespace),
        Err(_) => Err(Fault::Namespace(namespace)),
    }
}

fn lease_ttl(parameters: &str) -> Result<i64, Fault> {
    let mut found = None;
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if name != "leaseTtl" {
            return Err(Fault::UnknownParameter(name.to_owned()));
        }
        let seconds = value.parse().ok().filter(|seconds| LEASE_TTL.contains(seconds));
        let seconds = seconds.ok_or_else(|| Fault::LeaseTtl(value.to_owned()))?;
        if found.replace(seconds).is_some() {
            return Err(Fault::Twice);
        }
    }
    Ok(found.unwrap_or(DEFAULT_LEASE_TTL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_the_endpoints_and_may_name_the_rest() {
        let config = |endpoints: &[&str], namespace: &str, lease_ttl| Config {
            endpoints: endpoints.iter().map(|&endpoint| endpoint.to_owned()).collect(),
            namespace: namespace.to_owned(),
            lease_ttl,
        };
        for (url, expected) in [
            ("etcd://a:1", config(&["a:1"], "rpc", 15)),
            ("etcd://a:1/", config(&["a:1"], "rpc", 15)),
            ("etcd://a:1,[::1]:2379/shop", config(&["a:1", "[::1]:2379"], "shop", 15)),
            ("etcd://a:1?leaseTtl=2", config(&["a:1"], "rpc", 2)),
            ("etcd://a:1/shop?leaseTtl=3600", config(&["a:1"], "shop", 3_600)),
        ] {
            assert_eq!(Config::from_url(url).unwrap(), expected, "{url}");
        }
    }

    #[test]
    fn a_bad_url_is_refused_with_the_form_expected() {
        for (url, fault) in [
            ("etcd:a:1", "does not begin with `etcd://`"),
            ("etcd://", "lists no address"),
            ("etcd:///rpc", "lists no address"),
            ("etcd://a", "has no port in `a`"),
            ("etcd://a:1,b:0", "has a port in `b:0` that is not a number from 1 to 65535"),
            ("etcd://a:1,a:1", "lists `a:1` twice"),
            ("etcd://a:1/x/y", "has a namespace `x/y` with white space or more than one part"),
            ("etcd://a:1/x y", "has a namespace `x y` with white space or more than one part"),
            ("etcd://a:1?ttl=5", "has a parameter `ttl` that is not known, leaseTtl is the only one"),
            ("etcd://a:1?leaseTtl=5&leaseTtl=6", "has the parameter `leaseTtl` twice"),
            ("etcd://a:1?leaseTtl=1", "has a leaseTtl of `1`, which is not a number of seconds from 2 to 3600"),
            ("etcd://a:1?leaseTtl=3601", "has a leaseTtl of `3601`, which is not a number of seconds from 2 to 3600"),
            ("etcd://a:1?leaseTtl=5s", "has a leaseTtl of `5s`, which is not a number of seconds from 2 to 3600"),
            ("etcd://a:1?leaseTtl", "has a leaseTtl of ``, which is not a number of seconds from 2 to 3600"),
        ] {
            let error = Config::from_url(url).unwrap_err();
            let form = "etcd://host:port,host:port/namespace?leaseTtl=15";
            assert_eq!(error.to_string(), format!("registry url `{url}` {fault}; write `{form}`"));
        }
    }

    fn table(text: &str) -> Result<Config, String> {
        let settings: Settings = serde_json::from_str(text).unwrap();
        Config::from_settings(&settings).map_err(|error| error.to_string())
    }

    #[test]
    fn a_table_says_the_same_as_its_url() {
        for (text, url) in [
            (r#"{"url":"etcd://a:1/shop?leaseTtl=5"}"#, "etcd://a:1/shop?leaseTtl=5"),
            (r#"{"endpoints":["a:1"]}"#, "etcd://a:1"),
            (
                r#"{"endpoints":["a:1","[::1]:2"],"namespace":"shop","leaseTtl":5}"#,
                "etcd://a:1,[::1]:2/shop?leaseTtl=5",
            ),
        ] {
            assert_eq!(table(text).unwrap(), Config::from_url(url).unwrap(), "{text}");
        }
    }

    #[test]
    fn a_bad_table_is_refused_with_the_settings_expected() {
        const FORM: &str = r#"give it `endpoints = ["host:port"]` and if need be `namespace = "rpc"` and `leaseTtl = 15`, or all of them in `url`"#;
        for (text, fault) in [
            ("{}", "lists no address"),
            (r#"{"endpoints":[]}"#, "lists no address"),
            (r#"{"namespace":"rpc"}"#, "lists no address"),
            (r#"{"endpoints":["ann:secret@a:1"]}"#, "has a user, which is not supported"),
            (r#"{"endpoints":["a:1,b:1"]}"#, "has no valid host in `a:1,b:1`"),
            (
                r#"{"endpoints":["a:1"],"namespace":"x y"}"#,
                "has a namespace `x y` with white space or more than one part",
            ),
            (r#"{"endpoints":["a:1"],"namespace":""}"#, "has a namespace `` with white space or more than one part"),
            (
                r#"{"endpoints":["a:1"],"leaseTtl":1}"#,
                "has a leaseTtl of `1`, which is not a number of seconds from 2 to 3600",
            ),
            (r#"{"endpoints":["a:1"],"url":"etcd://a:1"}"#, "has a url and other settings beside it"),
            (r#"{"url":"etcd://a:1","leaseTtl":5}"#, "has a url and other settings beside it"),
        ] {
            assert_eq!(table(text).unwrap_err(), format!("the registry {fault}; {FORM}"));
        }
        assert_eq!(table(r#"{"endpoint":"a:1"}"#).unwrap_err(), "setting `endpoint` is not accepted");
        assert_eq!(table(r#"{"endpoints":"a:1"}"#).unwrap_err(), "setting `endpoints` is not accepted");
    }

    #[test]
    fn a_password_is_not_repeated() {
        let error = Config::from_url("etcd://ann:pass@word@a:1/rpc").unwrap_err();
        assert!(error.to_string().starts_with("registry url `etcd://***@a:1/rpc` has a user"), "{error}");
        assert!(!format!("{error:?}").contains("pass"));
    }
}
