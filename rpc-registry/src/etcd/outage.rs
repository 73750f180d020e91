//! Telling of an outage once, and of its end.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Whether something is wrong, and since when.
#[derive(Debug)]
pub(super) struct Outage {
    /// Where.
    endpoints: Arc<str>,
    since: Mutex<Option<Instant>>,
}

impl Outage {
    pub(super) fn at(endpoints: Arc<str>) -> Self {
        Self { endpoints, since: Mutex::default() }
    }

    /// Something is wrong; said once until it ends.
    pub(super) fn begin(&self, error: impl Display) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if since.is_none() {
            *since = Some(Instant::now());
            tracing::warn!(etcd = %self.endpoints, %error, "instances may be missing in the registry; trying until they are back");
        }
    }

    /// All is well.
    pub(super) fn end(&self) {
        if let Some(since) = self.forget() {
            tracing::info!(etcd = %self.endpoints, lasted = ?since.elapsed(), "all instances are in the registry again");
        }
    }

    /// It does not matter any more. Since when it was, if it was.
    pub(super) fn forget(&self) -> Option<Instant> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
