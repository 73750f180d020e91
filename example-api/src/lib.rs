//! The service that the example programs share: its trait, its types, and an implementation that keeps users in memory.
//!
//! A crate like this one is all that a provider and a consumer have in common. The provider implements [`UserService`] and
//! serves it with a [`UserServiceDispatcher`]; the consumer calls a [`UserServiceStub`], which implements the same trait.

mod users;

use rpc::{RpcError, rpc_service};
use serde::{Deserialize, Serialize};

pub use users::Users;

/// Keeps users.
#[rpc_service]
pub trait UserService {
    /// The id of the instance that answers.
    #[rpc(idempotent)]
    async fn whoami(&self) -> Result<String, RpcError>;

    /// The user of this id. Load balancers that go by key send the same id to the same instance.
    #[rpc(idempotent)]
    async fn get_user(&self, #[rpc(hash)] id: u64) -> Result<User, UserError>;

    /// Stores a user and gives it an id. Not idempotent: run twice, it stores two.
    async fn create_user(&self, new_user: NewUser) -> Result<User, UserError>;

    /// Answers after `ms` milliseconds.
    #[rpc(idempotent)]
    async fn nap(&self, ms: u64) -> Result<(), RpcError>;
}

/// A user that is stored. The default is what callers get who go on without an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// What the user is found by.
    pub id: u64,
    /// The user's name.
    pub name: String,
}

/// A user that is to be stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewUser {
    /// The user's name.
    pub name: String,
}

/// What the service answers instead of a user, and what can happen on the way to it.
#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
pub enum UserError {
    /// No user has this id.
    #[error("no user has the id {id}")]
    Unknown {
        /// The id that was asked for.
        id: u64,
    },
    /// The call itself failed. Every error type of a service has a place for that.
    #[error(transparent)]
    Rpc(#[from] RpcError),
}
