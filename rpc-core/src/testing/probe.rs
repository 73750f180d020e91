//! The service that the tests call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rpc_macros::rpc_service;

use crate::{Context, RpcError, Server, ServerBuilder};

#[rpc_service(crate = crate)]
pub(crate) trait Probe {
    /// Answers with the text, at once.
    async fn echo(&self, text: String) -> Result<String, RpcError>;

    /// Answers with the time slept, in milliseconds.
    async fn nap(&self, ms: u64) -> Result<u64, RpcError>;

    /// The time left until the caller's deadline, in milliseconds, and a value of the metadata.
    async fn time_left(&self, key: String) -> Result<(u64, Option<String>), RpcError>;
}

/// Counts its handlers.
#[derive(Debug, Default, Clone)]
pub(crate) struct Counting {
    pub(crate) started: Arc<AtomicUsize>,
    pub(crate) running: Arc<AtomicUsize>,
}

impl Counting {
    pub(crate) fn started(&self) -> usize {
        self.started.load(Ordering::Relaxed)
    }

    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// A server of this service.
    pub(crate) fn server(&self) -> ServerBuilder {
        Server::builder().service(ProbeDispatcher::new(self.clone()))
    }

    fn enter(&self) -> Running {
        self.started.fetch_add(1, Ordering::Relaxed);
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(Arc::clone(&self.running))
    }
}

struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Probe for Counting {
    async fn echo(&self, text: String) -> Result<String, RpcError> {
        let _running = self.enter();
        Ok(text)
    }

    async fn nap(&self, ms: u64) -> Result<u64, RpcError> {
        let _running = self.enter();
        tokio::time::sleep(Duration::from_millis(ms)).await;
        Ok(ms)
    }

    async fn time_left(&self, key: String) -> Result<(u64, Option<String>), RpcError> {
        let context = Context::current().ok_or_else(|| RpcError::new("no context"))?;
        Ok((context.time_left().as_millis() as u64, context.metadata().get(&key).map(str::to_owned)))
    }
}
