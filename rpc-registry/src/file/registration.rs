//! One announced instance.

use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rpc_core::registry::Registration;
use rpc_core::{BoxError, BoxFuture, ServiceInstance};

use super::aside;
use super::entry::Entry;
use super::error::Failure;
use super::service::Service;
use crate::value;

/// Dropped, it looks as if its provider had crashed.
#[derive(Debug)]
pub(super) struct Announced {
    service: String,
    id: String,
    /// Shared with changes that are under way, which come one after the other; nothing once it is released.
    held: Arc<Mutex<Option<Held>>>,
}

/// What is held as long as the instance is announced.
#[derive(Debug)]
struct Held {
    entry: Entry,
    _lock: File,
}

impl Announced {
    /// Announces an instance.
    ///
    /// # Errors
    ///
    /// When it has no id, or the directory does not take it; nothing is announced then.
    pub(super) fn new(service: &Service, instance: &ServiceInstance) -> Result<Self, Failure> {
        let ServiceInstance { service: name, id, .. } = instance;
        if id.is_empty() {
            return Err(Failure::Empty("instance id"));
        }
        let value = written(instance)?;
        service.make()?;
        let (entry, lock) = Entry::claim(service.dir())?;
        if let Err(failure) = entry.write(&value) {
            if let Err(error) = entry.remove() {
                tracing::debug!(%error, "the files of a failed registration stay until somebody looks");
            }
            return Err(failure);
        }
        let held = Arc::new(Mutex::new(Some(Held { entry, _lock: lock })));
        Ok(Self { service: name.clone(), id: id.clone(), held })
    }

    async fn change(&self, instance: ServiceInstance) -> Result<(), Failure> {
        let not_ours = Failure::NotOurs { service: self.service.clone(), id: self.id.clone() };
        if (&instance.service, &instance.id) != (&self.service, &self.id) {
            return Err(not_ours);
        }
        let held = Arc::clone(&self.held);
        let change = move || match &*lock(&held) {
            // Without its lock file, nobody would find what is written.
            Some(held) if held.entry.is_there() => held.entry.write(&written(&instance)?),
            _ => Err(not_ours),
        };
        aside(change).await
    }

    async fn take_back(&self) -> Result<(), Failure> {
        let held = Arc::clone(&self.held);
        // Whatever cannot be removed is dead at the end of this.
        aside(move || lock(&held).take().map_or(Ok(()), |held| held.entry.remove())).await
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

fn written(instance: &ServiceInstance) -> Result<Vec<u8>, Failure> {
    value::write(instance).map_err(|source| Failure::Unwritable {
        service: instance.service.clone(),
        id: instance.id.clone(),
        source,
    })
}

/// It is whole wherever a panic could happen.
fn lock(held: &Mutex<Option<Held>>) -> MutexGuard<'_, Option<Held>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
