//! What is announced, and what keeps it so.

use std::fs::File;
use std::mem;

use rpc_core::ServiceInstance;

use super::entry::Entry;
use super::error::Failure;
use super::service::Service;
use crate::value;

/// An instance in the directory as long as this is held.
#[derive(Debug)]
pub(super) struct Held {
    service: Service,
    wanted: ServiceInstance,
    /// Whether `wanted` is what the entry says.
    is_current: bool,
    entry: Entry,
    _lock: File,
}

impl Held {
    /// Announces `wanted`.
    ///
    /// # Errors
    ///
    /// When the directory does not take it; nothing is announced then.
    pub(super) fn announce(service: Service, wanted: ServiceInstance) -> Result<Self, Failure> {
        let value = written(&wanted)?;
        service.make()?;
        let (entry, lock) = Entry::claim(service.dir())?;
        if let Err(failure) = entry.write(&value) {
            if let Err(error) = entry.remove() {
                tracing::debug!(%error, "the files of a failed registration stay until somebody looks");
            }
            return Err(failure);
        }
        Ok(Self { service, wanted, is_current: true, entry, _lock: lock })
    }

    /// Announces `wanted` in place of what was announced.
    ///
    /// # Errors
    ///
    /// When the directory does not take it now; [`mend`](Self::mend) tries again.
    pub(super) fn update(&mut self, wanted: ServiceInstance) -> Result<(), Failure> {
        self.wanted = wanted;
        self.is_current = false;
        self.mend()
    }

    /// Sees to it that what is wanted is announced.
    ///
    /// # Errors
    ///
    /// When the directory does not take it now.
    pub(super) fn mend(&mut self) -> Result<(), Failure> {
        if !self.entry.is_whole() {
            let again = Self::announce(self.service.clone(), self.wanted.clone())?;
            let ServiceInstance { service, id, .. } = &self.wanted;
            tracing::warn!(service, id, "somebody deleted the files of this instance; it is registered again");
            return mem::replace(self, again).release();
        }
        if !self.is_current {
            self.entry.write(&written(&self.wanted)?)?;
            self.is_current = true;
        }
        Ok(())
    }

    /// Takes it back. What cannot be removed is dead afterwards.
    ///
    /// # Errors
    ///
    /// When a file cannot be removed.
    pub(super) fn release(self) -> Result<(), Failure> {
        self.entry.remove()
    }
}

fn written(instance: &ServiceInstance) -> Result<Vec<u8>, Failure> {
    value::write(instance).map_err(|source| Failure::Unwritable {
        service: instance.service.clone(),
        id: instance.id.clone(),
        source,
    })
}
