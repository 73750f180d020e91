//! One call, and what became of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use example_api::{NewUser, UserError, UserService, UserServiceStub, Users};
use rpc::{CallOptions, CallReport};

use super::arguments::{Arguments, Method};

/// The calls that are made.
#[derive(Debug)]
pub(super) struct Calls {
    users: UserServiceStub,
    pub(super) arguments: Arguments,
    /// How many are over.
    pub(super) over: AtomicU64,
}

/// What became of a call.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) result: Result<(), UserError>,
    /// Set if the call got as far as being sent or refused.
    pub(super) report: Arc<OnceLock<CallReport>>,
    pub(super) latency: Duration,
}

impl Calls {
    pub(super) fn new(users: UserServiceStub, arguments: Arguments) -> Self {
        Self { users, arguments, over: AtomicU64::new(0) }
    }

    /// Makes the call of this number, from 0. Its latency counts from `due`.
    pub(super) async fn make(&self, number: u64, due: Instant) -> Outcome {
        let report = Arc::new(OnceLock::new());
        let result = self.call(number, Arc::clone(&report)).await;
        self.over.fetch_add(1, Ordering::Relaxed);
        Outcome { result, report, latency: due.elapsed() }
    }

    async fn call(&self, number: u64, report: Arc<OnceLock<CallReport>>) -> Result<(), UserError> {
        let options = CallOptions::new().observe(move |told| _ = report.set(told.clone()));
        let users = self.users.with(match self.arguments.key(number) {
            Some(key) => options.hash_key(key),
            None => options,
        });
        match self.arguments.method {
            Method::Whoami => drop(users.whoami().await?),
            Method::GetUser => drop(users.get_user(number % Users::EXAMPLES + 1).await?),
            Method::CreateUser => drop(users.create_user(NewUser { name: format!("user-{}", number + 1) }).await?),
            Method::Nap => users.nap(self.arguments.nap_ms()).await?,
        }
        Ok(())
    }
}
