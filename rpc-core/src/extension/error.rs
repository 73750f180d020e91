//! Why there is no plugin.

use std::fmt;

use thiserror::Error;

use crate::BoxError;
use crate::error::with_sources;

/// A plugin could not be found or built. Each variant is a mistake in the configuration or in what is linked, and says
/// what was asked, what exists, and what to do.
#[derive(Error)]
#[non_exhaustive]
pub enum ExtensionError {
    /// Plugins of this kind are registered, but none under this key.
    #[error("unknown {kind} `{asked}`;{} registered: {}{}", nearby(.nearest), .registered.join(", "), unlinked(.nearest))]
    Unknown {
        /// The kind of plugin, such as "load balancer".
        kind: &'static str,
        /// The key that was asked for.
        asked: String,
        /// A registered key that is written almost like it.
        nearest: Option<&'static str>,
        /// All registered keys of the kind, sorted.
        registered: Vec<&'static str>,
    },

    /// No plugin of this kind is registered at all: the crates that have some are not part of the program.
    #[error(
        "unknown {kind} `{asked}`; no {kind} is registered at all: \
         is the plugin crate linked (`use {plugin_crate} as _;`), is its feature on?"
    )]
    NoneRegistered {
        /// The kind of plugin, such as "load balancer".
        kind: &'static str,
        /// The key that was asked for.
        asked: String,
        /// The crate of the built-in plugins of the kind.
        plugin_crate: &'static str,
    },

    /// A key is registered twice, by whichever crates; found by a lookup of any key of the kind.
    #[error("{kind} `{key}` is registered twice, at {first} and at {second}; rename or remove one")]
    Duplicate {
        /// The kind of plugin, such as "load balancer".
        kind: &'static str,
        /// The key both claim.
        key: &'static str,
        /// File and line of one registration.
        first: &'static str,
        /// File and line of the other.
        second: &'static str,
    },

    /// The plugin exists and does not accept its settings; the source says which and why.
    #[error("{kind} `{key}` refuses its settings")]
    Refused {
        /// The kind of plugin, such as "load balancer".
        kind: &'static str,
        /// The key of the plugin.
        key: String,
        /// What the plugin says.
        source: BoxError,
    },
}

impl fmt::Debug for ExtensionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_sources(self, f)
    }
}

fn nearby(nearest: &Option<&str>) -> String {
    nearest.map_or_else(String::new, |key| format!(" did you mean `{key}`?"))
}

/// What else may be wrong, where no key is written almost like the one that was asked for.
fn unlinked(nearest: &Option<&str>) -> &'static str {
    if nearest.is_some() {
        ""
    } else {
        "; is the crate that brings it named in the program (`use the_crate as _;`), and the cargo feature on that it may need?"
    }
}
