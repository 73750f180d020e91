//! The implementation that the example programs serve.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rpc::RpcError;

use crate::{NewUser, User, UserError, UserService};

/// The stored users. Its clones are the same store, as a database that several providers use would be.
#[derive(Debug, Clone, Default)]
pub struct Store {
    users: Arc<Mutex<Vec<User>>>,
}

impl Store {
    /// Only whole users are ever pushed, so what a panic leaves behind is good.
    fn users(&self) -> MutexGuard<'_, Vec<User>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A [`UserService`] over a [`Store`].
#[derive(Debug)]
pub struct Users {
    instance: String,
    store: Store,
}

impl Users {
    /// The service as the instance of this id offers it.
    pub fn new(instance: impl Into<String>, store: Store) -> Self {
        Self { instance: instance.into(), store }
    }
}

impl UserService for Users {
    async fn whoami(&self) -> Result<String, RpcError> {
        Ok(self.instance.clone())
    }

    async fn get_user(&self, id: u64) -> Result<User, UserError> {
        let users = self.store.users();
        users.iter().find(|user| user.id == id).cloned().ok_or(UserError::Unknown { id })
    }

    async fn create_user(&self, new_user: NewUser) -> Result<User, UserError> {
        let mut users = self.store.users();
        let user = User { id: users.len() as u64 + 1, name: new_user.name };
        users.push(user.clone());
        Ok(user)
    }

    async fn nap(&self, ms: u64) -> Result<(), RpcError> {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        Ok(())
    }
}
