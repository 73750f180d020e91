//! The implementation that the example programs serve.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rpc::{Context, RpcError};

use crate::{NewUser, User, UserError, UserService};

/// A [`UserService`] that keeps its users in memory. Its clones share them, as providers share a database.
#[derive(Debug, Clone, Default)]
pub struct Users {
    users: Arc<Mutex<Vec<User>>>,
}

impl Users {
    /// How many users a provider begins with; their ids count from 1.
    pub const EXAMPLES: u64 = 100;

    /// With users to ask for: `user-1`, `user-2` and so on.
    #[must_use]
    pub fn with_examples() -> Self {
        let users = (1..=Self::EXAMPLES).map(|id| User { id, name: format!("user-{id}") });
        Self { users: Arc::new(Mutex::new(users.collect())) }
    }

    /// Only whole users are ever pushed, so what a panic leaves behind is good.
    fn users(&self) -> MutexGuard<'_, Vec<User>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UserService for Users {
    async fn whoami(&self) -> Result<String, RpcError> {
        let context = Context::current().ok_or_else(|| RpcError::new("not called from a handler"))?;
        Ok(context.instance().to_owned())
    }

    async fn get_user(&self, id: u64) -> Result<User, UserError> {
        self.users().iter().find(|user| user.id == id).cloned().ok_or(UserError::Unknown { id })
    }

    async fn create_user(&self, new_user: NewUser) -> Result<User, UserError> {
        let mut users = self.users();
        let user = User { id: users.len() as u64 + 1, name: new_user.name };
        users.push(user.clone());
        Ok(user)
    }

    async fn nap(&self, ms: u64) -> Result<(), RpcError> {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        Ok(())
    }
}
