//! `direct`: the addresses are in the url, and nobody is asked.

use std::{future, sync::Arc};

use rpc_core::{
    BoxError, BoxFuture, ServiceInstance, Settings, register,
    registry::{Discovery, InstanceList, shown_url},
};
use serde::Deserialize;
use thiserror::Error;

use crate::address;

/// Serves every service with the same addresses, those of its url: `direct://host:port,host:port`.
///
/// For tests, for a first try, and for a service behind a fixed address. Each address is also the id of its instance.
///
/// # Examples
///
/// ```
/// use rpc_registry::Direct;
///
/// let registry = Direct::from_url("direct://users-1:9000,[::1]:9000")?;
/// # Ok::<(), rpc_core::BoxError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Direct {
    addresses: Vec<String>,
}

impl Direct {
    /// The key it is registered under. Its only setting is `url`.
    pub const KEY: &'static str = "direct";

    /// Takes the addresses from a url.
    ///
    /// # Errors
    ///
    /// When `url` is not of the form above, lists no address, or lists one twice.
    pub fn from_url(url: &str) -> Result<Self, BoxError> {
        let addresses = addresses(url).map_err(|fault| DirectError { url: shown_url(url), fault })?;
        Ok(Self { addresses })
    }
}

register!(dyn Discovery, Direct::KEY, build);

impl Discovery for Direct {
    fn lookup<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<InstanceList, BoxError>> {
        let instances = self.addresses.iter().map(|address| ServiceInstance::new(service, address));
        Box::pin(future::ready(Ok(InstanceList::new(instances.collect()))))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    url: String,
}

fn build(settings: &Settings) -> Result<Arc<Direct>, BoxError> {
    let Config { url } = settings.parse()?;
    Ok(Arc::new(Direct::from_url(&url)?))
}

#[derive(Debug, Error)]
#[error("registry url `{url}` {fault}; write `direct://host:port,host:port`, an IPv6 host in brackets")]
struct DirectError {
    url: String,
    fault: Fault,
}

/// What is wrong with a url, worded so as to follow it in a sentence.
#[derive(Debug, Error)]
enum Fault {
    #[error("does not begin with `direct://`")]
    Scheme,
    #[error(transparent)]
    Addresses(#[from] address::Fault),
}

fn addresses(url: &str) -> Result<Vec<String>, Fault> {
    let list = url.strip_prefix("direct://").ok_or(Fault::Scheme)?;
    Ok(address::addresses(list)?)
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, error::Error};

    use rpc_core::extension::{self, ExtensionError};

    use super::*;

    fn registry(url: &str) -> Result<Arc<dyn Discovery>, ExtensionError> {
        let (key, settings) = Settings::from_url(url).unwrap();
        extension::build::<dyn Discovery>(key, &settings)
    }

    #[tokio::test]
    async fn serves_every_service_with_its_addresses_as_ids() {
        let registry = registry("direct://a:1,10.0.0.1:65535,[::1]:80,db_1.example-x.org:9000").unwrap();
        for service in ["users", "orders"] {
            let expected = ["a:1", "10.0.0.1:65535", "[::1]:80", "db_1.example-x.org:9000"]
                .map(|address| ServiceInstance::new(service, address));
            assert_eq!(registry.lookup(service).await.unwrap().instances, expected);
        }
    }

    #[test]
    fn a_bad_url_is_refused_when_built_with_the_form_expected() {
        for (url, fault) in [
            ("direct:a:1", "does not begin with `direct://`"),
            ("direct://", "lists no address"),
            ("direct://a:1,", "has no port in ``"),
            ("direct://a", "has no port in `a`"),
            ("direct://[::1]", "has no port in `[::1]`"),
            ("direct://a:", "has a port in `a:` that is not a number from 1 to 65535"),
            ("direct://a:0", "has a port in `a:0` that is not a number from 1 to 65535"),
            ("direct://a:+1", "has a port in `a:+1` that is not a number from 1 to 65535"),
            ("direct://a:65536", "has a port in `a:65536` that is not a number from 1 to 65535"),
            ("direct://a:1/ns", "has a port in `a:1/ns` that is not a number from 1 to 65535"),
            ("direct://:1", "has no valid host in `:1`"),
            ("direct://a:1, b:1", "has no valid host in ` b:1`"),
            ("direct://::1:80", "has no valid host in `::1:80`"),
            ("direct://[a]:80", "has no valid host in `[a]:80`"),
            ("direct://a:1,b:1,a:1", "lists `a:1` twice"),
        ] {
            let error = registry(url).unwrap_err();
            assert_eq!(
                error.source().unwrap().to_string(),
                format!("registry url `{url}` {fault}; write `direct://host:port,host:port`, an IPv6 host in brackets")
            );
        }
    }

    #[test]
    fn a_password_is_not_repeated() {
        for url in ["direct://ann:secret@a:1", "direct://ann:secret,x@a:1", "direct:ann:secret@a:1"] {
            let error = Direct::from_url(url).unwrap_err();
            assert!(error.to_string().contains("***@a:1` "), "{error}");
            assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
        }
    }

    #[test]
    fn the_url_is_needed_and_nothing_else_is_known() {
        let error = extension::build::<dyn Discovery>("direct", &Settings::default()).unwrap_err();
        assert_eq!(error.source().unwrap().to_string(), "a setting is missing");
        let settings = Settings::from_table(&HashMap::from([("url", "direct://a:1"), ("weight", "1")])).unwrap();
        let error = extension::build::<dyn Discovery>("direct", &settings).unwrap_err();
        assert_eq!(error.source().unwrap().to_string(), "setting `weight` is not accepted");
    }
}
