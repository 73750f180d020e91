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
        // A password may hold anything, so the last `@` counts.
        match (self.0.find("://"), self.0.rfind('@')) {
            (Some(scheme), Some(at)) if scheme < at => write!(f, "{}://***{}", &self.0[..scheme], &self.0[at..]),
            _ => f.write_str(&self.0),
        }
    }
}

impl fmt::Debug for RegistryUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_printed() {
        for (url, printed) in [
            ("etcd://a:1,b:1/rpc", "etcd://a:1,b:1/rpc"),
            ("memory:users@home", "memory:users@home"),
            ("etcd://ann:secret@a:1/rpc?leaseTtl=5", "etcd://***@a:1/rpc?leaseTtl=5"),
            ("etcd://ann:sec/r@et@a:1", "etcd://***@a:1"),
        ] {
            let url = RegistryUrl::new(url);
            assert_eq!(url.to_string(), printed);
            assert_eq!(format!("{url:?}"), format!("{printed:?}"));
        }
    }
}
