//! A public service in a crate without a prelude, with every lint denied and the framework under another name.
#![no_implicit_prelude]
#![forbid(unsafe_code)]
#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unused,
    rust_2018_idioms,
    clippy::all,
    clippy::pedantic
)]

use ::core::clone::Clone;
use ::core::fmt::Debug;
use ::core::result::Result;
use ::framework::{RpcError, rpc_service};
use ::serde::{Deserialize, Serialize};
use ::std::string::String;

/// A user.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct User {
    /// How the user is called.
    pub name: String,
}

/// Keeps users.
#[rpc_service(name = "strict.UserService", crate = ::framework)]
pub trait UserService {
    /// Finds a user.
    ///
    /// # Errors
    ///
    /// If the call fails.
    #[rpc(idempotent)]
    async fn get_user(&self, #[rpc(hash)] id: u64, _unused: u8) -> Result<User, RpcError>;

    /// Stores a user.
    ///
    /// # Errors
    ///
    /// If the call fails.
    #[must_use = "a call that is not awaited is not made"]
    async fn put_user(&self, user: User) -> Result<(), RpcError>;

    /// Finds a user, as it was once done.
    ///
    /// # Errors
    ///
    /// If the call fails.
    #[deprecated = "call `get_user`"]
    async fn find_user(&self, name: String) -> Result<User, RpcError>;

    /// Is there in some builds only.
    ///
    /// # Errors
    ///
    /// If the call fails.
    #[cfg(feature = "extra")]
    async fn extra(&self) -> Result<u8, RpcError>;

    /// Takes something else in some builds.
    ///
    /// # Errors
    ///
    /// If the call fails.
    #[cfg(feature = "extra")]
    async fn either(&self, text: String) -> Result<(), RpcError>;

    /// Takes something else in some builds.
    ///
    /// # Errors
    ///
    /// If the call fails.
    #[cfg(not(feature = "extra"))]
    async fn either(&self, number: u8) -> Result<(), RpcError>;
}

/// Serves nobody, in private.
mod private {
    use ::framework::RpcError;

    #[::framework::rpc_service(crate = ::framework)]
    trait Unused {
        async fn unused(&self) -> ::core::result::Result<(), RpcError>;
    }

    #[::framework::rpc_service(crate = ::framework)]
    pub(super) trait AlsoUnused {
        async fn unused(&self) -> ::core::result::Result<(), RpcError>;
    }
}
