//! Locking without the question of poison.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose data are whole at every point where a panic could happen.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
