//! The handlers of one connection that did not answer at once: each a task, owned here.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::lock::lock;

/// The running handlers by request id. Dropping it drops them all.
#[derive(Debug, Default)]
pub(super) struct Handlers {
    running: Mutex<Running>,
    /// Handlers that live; more than are listed while dropped ones are on their way out.
    alive: AtomicUsize,
}

#[derive(Debug, Default)]
struct Running {
    handlers: HashMap<u64, Handler>,
    /// When the next sweep is planned, see [`Handlers::sweep`]; `None` while nobody plans one.
    next_sweep: Option<Instant>,
}

#[derive(Debug)]
struct Handler {
    deadline: Instant,
    codec: u8,
    task: AbortHandle,
}

impl Handlers {
    /// Lists a handler; `spawn` begins it. The id must not be in use. Whether a sweep is wanted: none is planned that would see this deadline
    /// pass.
    pub(super) fn begin(&self, id: u64, deadline: Instant, codec: u8, spawn: impl FnOnce() -> AbortHandle) -> bool {
        // Held while spawning: a handler that ends at once on another thread must find itself listed.
        let mut running = lock(&self.running);
        running.handlers.insert(id, Handler { deadline, codec, task: spawn() });
        let wants_sweep = running.next_sweep.is_none_or(|planned| deadline < planned);
        if wants_sweep {
            running.next_sweep = Some(deadline);
        }
        wants_sweep
    }

    /// How many requests wait for their answers; `None` if one of them has this id.
    pub(super) fn beside(&self, id: u64) -> Option<usize> {
        // Those that are listed live.
        if self.alive() == 0 {
            return Some(0);
        }
        let running = lock(&self.running);
        (!running.handlers.contains_key(&id)).then(|| running.handlers.len())
    }

    /// Takes a handler off the list. `true` for exactly one caller: who gets it answers the request.
    pub(super) fn finish(&self, id: u64) -> bool {
        lock(&self.running).handlers.remove(&id).is_some()
    }

    /// Drops a handler, if it runs. Nobody answers its request.
    pub(super) fn cancel(&self, id: u64) {
        if let Some(handler) = lock(&self.running).handlers.remove(&id) {
            handler.task.abort();
        }
    }

    /// Drops the handlers whose deadline has passed; their ids and codecs are appended. Returns the earliest deadline of the others, for which
    /// the caller plans the next sweep; `None` if there is none.
    pub(super) fn sweep(&self, now: Instant, expired: &mut Vec<(u64, u8)>) -> Option<Instant> {
        let mut running = lock(&self.running);
        for (id, handler) in running.handlers.extract_if(|_, handler| handler.deadline <= now) {
            handler.task.abort();
            expired.push((id, handler.codec));
        }
        running.next_sweep = running.handlers.values().map(|handler| handler.deadline).min();
        running.next_sweep
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
        for (_, handler) in lock(&self.running).handlers.drain() {
            handler.task.abort();
        }
    }
}
