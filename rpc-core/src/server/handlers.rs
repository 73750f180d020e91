//! The handlers of one connection that did not answer at once: each a task, owned here.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::lock::lock;

/// The running handlers by request id. Dropping it drops them all.
#[derive(Debug, Default)]
pub(super) struct Handlers {
    running: Mutex<HashMap<u64, Handler>>,
    /// Handlers that live; more than are listed while dropped ones are on their way out.
    alive: AtomicUsize,
}

#[derive(Debug)]
struct Handler {
    deadline: Instant,
    codec: u8,
    task: AbortHandle,
}

impl Handlers {
    /// Lists a handler; `spawn` begins it. `false` if the id is in use: nothing was spawned then.
    pub(super) fn begin(&self, id: u64, deadline: Instant, codec: u8, spawn: impl FnOnce() -> AbortHandle) -> bool {
        // Held while spawning: a handler that ends at once on another thread must find itself listed.
        match lock(&self.running).entry(id) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(Handler { deadline, codec, task: spawn() });
                true
            }
        }
    }

    /// How many requests wait for their answers; `None` if one of them has this id.
    pub(super) fn beside(&self, id: u64) -> Option<usize> {
        let running = lock(&self.running);
        (!running.contains_key(&id)).then(|| running.len())
    }

    /// Takes a handler off the list. `true` for exactly one caller: who gets it answers the request.
    pub(super) fn finish(&self, id: u64) -> bool {
        lock(&self.running).remove(&id).is_some()
    }

    /// Drops a handler, if it runs. Nobody answers its request.
    pub(super) fn cancel(&self, id: u64) {
        if let Some(handler) = lock(&self.running).remove(&id) {
            handler.task.abort();
        }
    }

    /// Drops the handlers whose deadline has passed; their ids and codecs are appended.
    pub(super) fn expire(&self, now: Instant, expired: &mut Vec<(u64, u8)>) {
        let late = |_: &u64, handler: &mut Handler| handler.deadline <= now;
        for (id, handler) in lock(&self.running).extract_if(late) {
            handler.task.abort();
            expired.push((id, handler.codec));
        }
    }

    /// Whether none is listed.
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.running).is_empty()
    }

    /// Handlers that live.
    pub(super) fn alive(&self) -> usize {
        self.alive.load(Ordering::Acquire)
    }

    /// One handler more lives.
    pub(super) fn born(&self) {
        self.alive.fetch_add(1, Ordering::Relaxed);
    }

    /// One handler is gone, its captures dropped.
    pub(super) fn gone(&self) {
        self.alive.fetch_sub(1, Ordering::Release);
    }

    /// Drops all handlers.
    pub(super) fn cancel_all(&self) {
        for (_, handler) in lock(&self.running).drain() {
            handler.task.abort();
        }
    }
}
