//! What follows a failed first run where the strategy acts on failure.

use std::sync::{Mutex, Weak};
use std::time::Duration;

use super::channel::Core;
use super::maker::Maker;
use crate::BoxFuture;
use crate::error::RpcError;
use crate::fault::{FaultStrategy, Next, Reply, Run};
use crate::invocation::Invocation;
use crate::lock::lock;

impl Core {
    /// Has the strategy go on after the channel's own run. Boxed, so that calls that do not fail have no room for it in their futures.
    #[cold]
    pub(super) fn recover<'a>(
        &'a self,
        fault: &'a dyn FaultStrategy,
        call: &'a Invocation,
        error: RpcError,
    ) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(async move {
            lock(&call.progress).runs = 1;
            let failed = Failed { core: self, error: Mutex::new(Some(error)) };
            fault.call(call, Next::new(&failed)).await
        })
    }
}

/// Runs of which the first was made already, and failed.
struct Failed<'a> {
    core: &'a Core,
    /// The first run's, until somebody takes it.
    error: Mutex<Option<RpcError>>,
}

impl Run for Failed<'_> {
    fn run<'a>(&'a self, call: &'a Invocation, within: Option<Duration>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(async move {
            // Taken here, since a run that is dropped before it began is none.
            let error = lock(&self.error).take();
            match error {
                Some(error) => Err(error),
                None => self.core.run_once(call, within, Maker::Strategy).await,
            }
        })
    }

    fn downgrade(&self) -> Weak<dyn Run> {
        self.core.downgrade()
    }
}
