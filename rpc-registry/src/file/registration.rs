//! One registration, and the task that looks after it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rpc_core::registry::Registration;
use rpc_core::{BoxError, BoxFuture, ServiceInstance};
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::aside;
use super::error::Failure;
use super::held::{Held, tell_of_another};
use super::service::Service;

/// How often to see whether the files are still there: whoever cleans up old ones knows nothing of locks.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// Dropped, it looks as if its provider had crashed.
#[derive(Debug)]
pub(super) struct Announced {
    service: String,
    id: String,
    held: Shared,
    keeping: AbortHandle,
}

/// Shared with what is under way, one at a time; nothing once it is released.
type Shared = Arc<Mutex<Option<Held>>>;

impl Announced {
    /// Announces an instance.
    ///
    /// # Errors
    ///
    /// When it has no id, or the directory does not take it; nothing is announced then.
    pub(super) async fn new(service: Service, instance: ServiceInstance) -> Result<Self, Failure> {
        let (name, id) = (instance.service.clone(), instance.id.clone());
        if id.is_empty() {
            return Err(Failure::Empty("instance id"));
        }
        let announce = move || {
            tell_of_another(&service, &instance);
            Held::announce(service, instance)
        };
        let held = aside(announce).await?;
        let held = Arc::new(Mutex::new(Some(held)));
        let keeping = tokio::spawn(keep(Arc::downgrade(&held), name.clone(), id.clone())).abort_handle();
        Ok(Self { service: name, id, held, keeping })
    }

    async fn change(&self, instance: ServiceInstance) -> Result<(), Failure> {
        let not_ours = Failure::NotOurs { service: self.service.clone(), id: self.id.clone() };
        if (&instance.service, &instance.id) != (&self.service, &self.id) {
            return Err(not_ours);
        }
        let held = Arc::clone(&self.held);
        aside(move || lock(&held).as_mut().map_or(Err(not_ours), |held| held.update(instance))).await
    }

    async fn take_back(&self) -> Result<(), Failure> {
        self.keeping.abort();
        let held = Arc::clone(&self.held);
        aside(move || lock(&held).take().map_or(Ok(()), Held::release)).await
    }
}

impl Registration for Announced {
    fn update(&self, instance: ServiceInstance) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async { self.change(instance).await.map_err(BoxError::from) })
    }

    fn release(&self) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async { self.take_back().await.map_err(BoxError::from) })
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        self.keeping.abort();
    }
}

/// Mends what others break, as long as the registration is held. While it waits it does not hold it itself: a task that is aborted lives on
/// until its runtime has a turn for it, and what it held would look alive until then.
async fn keep(held: Weak<Mutex<Option<Held>>>, service: String, id: String) {
    let mut is_down = false;
    loop {
        sleep(CHECK_EVERY).await;
        let Some(held) = held.upgrade() else { return };
        let mended = aside(move || lock(&held).as_mut().map_or(Ok(()), Held::mend)).await;
        if let Err(error) = &mended
            && !is_down
        {
            tracing::warn!(service, id, %error, "this instance may be missing in the registry; trying until it is back");
        }
        is_down = mended.is_err();
    }
}

/// It is whole wherever a panic could happen.
fn lock(held: &Mutex<Option<Held>>) -> MutexGuard<'_, Option<Held>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
