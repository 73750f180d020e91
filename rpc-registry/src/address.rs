//! Lists of addresses in urls.

use std::net::Ipv6Addr;

use thiserror::Error;

/// What is wrong with a list of addresses, worded so as to follow the url in a sentence.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum Fault {
    #[error("lists no address")]
    Empty,
    #[error("has a user, which is not supported")]
    User,
    #[error("has no port in `{0}`")]
    NoPort(String),
    #[error("has a port in `{0}` that is not a number from 1 to 65535")]
    BadPort(String),
    #[error("has no valid host in `{0}`")]
    BadHost(String),
    #[error("lists `{0}` twice")]
    Twice(String),
}

/// The addresses of `host:port,host:port`, each once.
pub(crate) fn addresses(list: &str) -> Result<Vec<String>, Fault> {
    // First, as none of its parts may be shown then.
    if list.contains('@') {
        return Err(Fault::User);
    }
    checked(list.split(',').filter(|_| !list.is_empty()))
}

/// The same of addresses that are apart already.
pub(crate) fn checked<'a>(list: impl Iterator<Item = &'a str>) -> Result<Vec<String>, Fault> {
    let mut addresses = Vec::new();
    for address in list {
        check(address)?;
        if addresses.iter().any(|known| known == address) {
            return Err(Fault::Twice(address.into()));
        }
        addresses.push(address.into());
    }
    if addresses.is_empty() { Err(Fault::Empty) } else { Ok(addresses) }
}

fn check(address: &str) -> Result<(), Fault> {
    let (host, port) = split(address).ok_or_else(|| Fault::NoPort(address.into()))?;
    if !is_host(host) {
        return Err(Fault::BadHost(address.into()));
    }
    match port.parse::<u16>() {
        Ok(1..) if !port.starts_with('+') => Ok(()),
        _ => Err(Fault::BadPort(address.into())),
    }
}

/// Splits at the last colon, which a bracket must not follow: `[::1]` has no port.
fn split(address: &str) -> Option<(&str, &str)> {
    address.rsplit_once(':').filter(|(_, port)| !port.ends_with(']'))
}

/// Whether `host` is a name, an IPv4 address, or an IPv6 address in brackets.
fn is_host(host: &str) -> bool {
    match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.chars().all(|c| c.is_alphanumeric() || "-._".contains(c)),
    }
}
