//! Contracts of the rpc framework.

mod settings;

use std::{error::Error, pin::Pin};

pub use settings::Settings;

/// Any error, as the contracts return it: a plugin's own type, or `?` from whatever it calls.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The future that an async contract returns, written out so that it can be called through `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
