//! The url of the registry.

use thiserror::Error;

use super::key;
use crate::address;

/// The part of etcd's keys that is ours, unless the url names another.
const DEFAULT_NAMESPACE: &str = "rpc";
/// Seconds that an instance outlives its provider at most, unless the url says otherwise.
const DEFAULT_LEASE_TTL: i64 = 15;
/// The bounds of that: etcd grants no less than 2 s by default, and what crashed should not be listed for more than an hour.
const LEASE_TTL: std::ops::RangeInclusive<i64> = 2..=3_600;

/// What a url says.
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

/// What is wrong with a url, worded so as to follow it in a sentence.
#[derive(Debug, Error)]
enum Fault {
    #[error("does not begin with `etcd://`")]
    Scheme,
    #[error(transparent)]
    Addresses(#[from] address::Fault),
    #[error("has a user, which is not supported")]
    User,
    #[error("has a namespace `{0}` with white space or more than one part")]
    Namespace(String),
    #[error("has a parameter `{0}` that is not known, leaseTtl is the only one")]
    UnknownParameter(String),
    #[error("has the parameter `leaseTtl` twice")]
    Twice,
    #[error("has a leaseTtl of `{0}`, which is not a number of seconds from 2 to 3600")]
    LeaseTtl(String),
}

impl Config {
    /// Takes a url apart.
    pub(super) fn from_url(url: &str) -> Result<Self, BadUrl> {
        parse(url).map_err(|fault| BadUrl { url: shown(url), fault })
    }
}

fn parse(url: &str) -> Result<Config, Fault> {
    let rest = url.strip_prefix("etcd://").ok_or(Fault::Scheme)?;
    if rest.contains('@') {
        return Err(Fault::User);
    }
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (endpoints, namespace) = rest.split_once('/').unwrap_or((rest, ""));
    let namespace = if namespace.is_empty() { DEFAULT_NAMESPACE } else { namespace };
    key::check("namespace", namespace).map_err(|_| Fault::Namespace(namespace.to_owned()))?;
    Ok(Config {
        endpoints: address::addresses(endpoints)?,
        namespace: namespace.to_owned(),
        lease_ttl: lease_ttl(parameters)?,
    })
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

/// The url for a message. One with a user may have a password too.
fn shown(url: &str) -> String {
    if url.contains('@') { "etcd://***".to_owned() } else { url.to_owned() }
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

    #[test]
    fn a_password_is_not_repeated() {
        let error = Config::from_url("etcd://ann:pass@word@a:1/rpc").unwrap_err();
        assert!(error.to_string().starts_with("registry url `etcd://***` has a user"), "{error}");
        assert!(!format!("{error:?}").contains("pass"));
    }
}
