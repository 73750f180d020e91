//! The URL of a registry, which may hold a password.

use std::fmt;

/// A registry's URL. Printed, it hides the user that may be in it, as a password may be there too.
#[derive(Clone)]
pub(crate) struct RegistryUrl(String);

impl RegistryUrl {
    pub(crate) fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// The whole text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RegistryUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown_url(&self.0))
    }
}

impl fmt::Debug for RegistryUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// A URL as it may be shown: whatever stands before the last `@`, the scheme apart, is `***`. For the messages of registries.
///
/// There may be a password, which may hold anything, and a URL may be mistyped; so neither is taken apart further.
///
/// # Examples
///
/// ```
/// use rpc_core::registry::shown_url;
///
/// assert_eq!(shown_url("etcd://ann:secret@10.0.0.1:2379/rpc"), "etcd://***@10.0.0.1:2379/rpc");
/// assert_eq!(shown_url("//ann:secret@10.0.0.1:2379"), "***@10.0.0.1:2379");
/// ```
#[must_use]
pub fn shown_url(url: &str) -> String {
    let Some((hidden, rest)) = url.rsplit_once('@') else { return url.to_owned() };
    let scheme = scheme(hidden).map_or(0, |scheme| scheme.len() + 1);
    let slashes = hidden[scheme..].bytes().take(2).take_while(|byte| scheme > 0 && *byte == b'/').count();
    format!("{}***@{rest}", &hidden[..scheme + slashes])
}

/// What stands before the first colon, if it is a scheme.
pub(crate) fn scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme.then_some(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_printed() {
        for (url, printed) in [
            ("etcd://a:1,b:1/rpc", "etcd://a:1,b:1/rpc"),
            ("memory:users@home", "memory:***@home"),
            ("etcd:ann:secret@a:1", "etcd:***@a:1"),
            ("etcd:/ann:secret@a:1", "etcd:/***@a:1"),
            ("etcd:///ann:secret@a:1", "etcd://***@a:1"),
            ("//ann:secret@a:1", "***@a:1"),
            ("://ann:secret@a:1", "***@a:1"),
            (" etcd://ann:secret@a:1", "***@a:1"),
            ("ann@secret", "***@secret"),
            ("etcd", "etcd"),
            ("etcd://ann:secret@a:1/rpc?leaseTtl=5", "etcd://***@a:1/rpc?leaseTtl=5"),
            ("etcd://ann:sec/r@et@a:1", "etcd://***@a:1"),
        ] {
            let url = RegistryUrl::new(url);
            assert_eq!(url.to_string(), printed);
            assert_eq!(format!("{url:?}"), format!("{printed:?}"));
        }
    }
}
