//! One announced instance.

use std::sync::Arc;
use std::time::Duration;

use rpc_core::registry::Registration;
use rpc_core::{BoxError, BoxFuture, ServiceInstance};
use tokio::time::timeout;

use super::error::Failure;
use super::keeper::Keeper;
use super::wanted::Told;

/// How long to wait for the task, which asks etcd several things with a limit each, to say how it went.
const TOLD_WITHIN: Duration = Duration::from_secs(4);

/// Dropped, it is taken out by the task.
#[derive(Debug)]
pub(super) struct Announced {
    keeper: Arc<Keeper>,
    key: String,
    service: String,
    id: String,
    owner: u64,
}

impl Announced {
    /// Announces an instance. If that fails, or is not waited for, nothing stays announced.
    ///
    /// # Errors
    ///
    /// When etcd does not answer or refuses, or another provider has the service and the id.
    pub(super) async fn new(keeper: Arc<Keeper>, key: String, instance: ServiceInstance) -> Result<Self, Failure> {
        let (service, id) = (instance.service.clone(), instance.id.clone());
        let (owner, told) = keeper.claim(&key, instance)?;
        let announced = Self { keeper, key, service, id, owner };
        wait(told, "register an instance").await?;
        Ok(announced)
    }

    async fn change(&self, instance: ServiceInstance) -> Result<(), Failure> {
        let is_same = (&instance.service, &instance.id) == (&self.service, &self.id);
        let told = if is_same { self.keeper.change(&self.key, self.owner, Some(instance)) } else { None };
        let told = told.ok_or_else(|| Failure::NotOurs { service: self.service.clone(), id: self.id.clone() })?;
        wait(told, "update an instance").await
    }

    async fn take_out(&self) -> Result<(), Failure> {
        match self.keeper.change(&self.key, self.owner, None) {
            Some(told) => wait(told, "take an instance out").await,
            None => Ok(()),
        }
    }
}

impl Registration for Announced {
    fn update(&self, instance: ServiceInstance) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async { self.change(instance).await.map_err(BoxError::from) })
    }

    fn release(&self) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async { self.take_out().await.map_err(BoxError::from) })
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        // Nobody waits.
        let _ = self.keeper.change(&self.key, self.owner, None);
    }
}

async fn wait(told: Told, what: &'static str) -> Result<(), Failure> {
    match timeout(TOLD_WITHIN, told).await {
        Ok(Ok(result)) => result,
        // The time is over, or the runtime of the task is gone.
        _ => Err(Failure::Slow { what }),
    }
}
