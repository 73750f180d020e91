//! Plugins by key: how a type becomes known under a name, and how a name becomes a plugin again.
//!
//! [`register!`](crate::register) puts a plugin into a table that the linker fills, one table per [`Extension`]. So there
//! is no central list to edit, and a crate of a third party registers exactly as ours do. The price: a crate that is only
//! listed in `Cargo.toml` is not linked, and what is not linked is not registered. `use the_crate as _;` links it.
//!
//! Keys are looked up when a client or a server is built, never while a call is made.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//! use rpc_core::loadbalancer::{Endpoints, LoadBalancer, PickContext, Picker};
//! use rpc_core::{BoxError, Settings, extension};
//!
//! #[derive(Debug)]
//! struct First;
//!
//! impl LoadBalancer for First {
//!     fn prepare(&self, _: &Arc<Endpoints>) -> Box<dyn Picker> {
//!         Box::new(First)
//!     }
//! }
//!
//! impl Picker for First {
//!     fn pick(&self, cx: &PickContext<'_>) -> Option<usize> {
//!         cx.admits(0).then_some(0)
//!     }
//! }
//!
//! fn build(_: &Settings) -> Result<Arc<First>, BoxError> {
//!     Ok(Arc::new(First))
//! }
//!
//! rpc_core::register!(dyn LoadBalancer, "first", build);
//!
//! # fn main() -> Result<(), extension::ExtensionError> {
//! let balancer = extension::build::<dyn LoadBalancer>("first", &Settings::default())?;
//! assert!(!balancer.uses_key());
//! # Ok(())
//! # }
//! ```

mod error;
pub(crate) mod nearest;

use std::sync::Arc;

#[doc(hidden)]
pub use inventory;

pub use error::ExtensionError;

use crate::{BoxError, Settings};

/// A kind of plugin: the trait object that plugins of the kind become.
///
/// Implemented for `dyn` [`Discovery`](crate::registry::Discovery), `dyn` [`Registrar`](crate::registry::Registrar), `dyn`
/// [`LoadBalancer`](crate::loadbalancer::LoadBalancer) and `dyn` [`FaultStrategy`](crate::fault::FaultStrategy), and for
/// nothing else.
pub trait Extension: sealed::Sealed + 'static {
    /// What a plugin of this kind is called in a sentence, such as "load balancer".
    const KIND: &'static str;

    /// The crate that brings the built-in plugins of this kind.
    const CRATE: &'static str;

    /// All plugins of this kind that are linked, in no particular order.
    #[doc(hidden)]
    fn linked() -> Vec<&'static Plugin<Self>>;
}

/// One registered plugin; made by [`register!`](crate::register).
#[doc(hidden)]
#[derive(Debug)]
pub struct Plugin<E: ?Sized + 'static> {
    key: &'static str,
    location: &'static str,
    build: fn(&Settings) -> Result<Arc<E>, BoxError>,
}

impl<E: ?Sized> Plugin<E> {
    /// A plugin named `key`, registered at `location`.
    pub const fn new(
        key: &'static str,
        location: &'static str,
        build: fn(&Settings) -> Result<Arc<E>, BoxError>,
    ) -> Self {
        Self { key, location, build }
    }
}

/// Builds the plugin of kind `E` that is registered as `key`, with its settings.
///
/// # Errors
///
/// When the key is not registered, when any key of this kind is registered twice, or when the plugin refuses the settings.
pub fn build<E: Extension + ?Sized>(key: &str, settings: &Settings) -> Result<Arc<E>, ExtensionError> {
    let plugins = registered::<E>();
    refuse_duplicates(&plugins)?;
    let Some(plugin) = plugins.iter().find(|plugin| plugin.key == key) else {
        return Err(not_found::<E>(key));
    };
    (plugin.build)(settings).map_err(|source| refused::<E>(key, source))
}

/// The error of a plugin whose settings are not good.
pub(crate) fn refused<E: Extension + ?Sized>(key: &str, source: BoxError) -> ExtensionError {
    ExtensionError::Refused { kind: E::KIND, key: key.to_owned(), source }
}

/// The keys of all registered plugins of kind `E`, sorted.
pub fn keys<E: Extension + ?Sized>() -> Vec<&'static str> {
    registered::<E>().iter().map(|plugin| plugin.key).collect()
}

/// All plugins of kind `E`, in an order that does not depend on the linker.
fn registered<E: Extension + ?Sized>() -> Vec<&'static Plugin<E>> {
    let mut plugins = E::linked();
    plugins.sort_by_key(|plugin| (plugin.key, plugin.location));
    plugins
}

/// Which of two equal keys wins would be up to the linker, so neither does. Expects a sorted list.
fn refuse_duplicates<E: Extension + ?Sized>(plugins: &[&Plugin<E>]) -> Result<(), ExtensionError> {
    match plugins.windows(2).find(|pair| pair[0].key == pair[1].key) {
        None => Ok(()),
        Some(pair) => Err(ExtensionError::Duplicate {
            kind: E::KIND,
            key: pair[0].key,
            first: pair[0].location,
            second: pair[1].location,
        }),
    }
}

fn not_found<E: Extension + ?Sized>(key: &str) -> ExtensionError {
    let (kind, asked, registered) = (E::KIND, key.to_owned(), keys::<E>());
    if registered.is_empty() {
        return ExtensionError::NoneRegistered { kind, asked, plugin_crate: E::CRATE };
    }
    let nearest = nearest::nearest(key, &registered);
    ExtensionError::Unknown { kind, asked, nearest, registered }
}

/// Registers a plugin under a key: `register!(dyn Contract, key, build)`, at module level beside the plugin's type.
///
/// `build` is a `fn(&Settings) -> Result<Arc<P>, E>`, where `P` implements the contract and `E` turns into a
/// [`BoxError`]. It refuses settings it does not know, and touches neither disk nor network.
///
/// See [`extension`](crate::extension) for an example.
#[macro_export]
macro_rules! register {
    ($contract:ty, $key:expr, $build:expr $(,)?) => {
        $crate::extension::inventory::submit! {
            $crate::extension::Plugin::<$contract>::new(
                $key,
                ::std::concat!(::std::file!(), ":", ::std::line!()),
                |settings| {
                    let plugin: ::std::sync::Arc<$contract> = $build(settings)?;
                    ::std::result::Result::Ok(plugin)
                },
            )
        }
    };
}

/// Makes a contract a kind of plugin: its trait object, its plain name, and the crate of its built-in plugins.
macro_rules! extension {
    ($contract:ty, $kind:literal, $plugin_crate:literal) => {
        inventory::collect!($crate::extension::Plugin<$contract>);

        impl $crate::extension::sealed::Sealed for $contract {}

        impl $crate::extension::Extension for $contract {
            const KIND: &'static str = $kind;
            const CRATE: &'static str = $plugin_crate;

            fn linked() -> Vec<&'static $crate::extension::Plugin<Self>> {
                inventory::iter::<$crate::extension::Plugin<Self>>().collect()
            }
        }
    };
}
pub(crate) use extension;

/// Keeps [`Extension`] to the contracts of this crate.
pub(crate) mod sealed {
    /// Implemented where [`Extension`](super::Extension) is.
    pub trait Sealed {}
}
