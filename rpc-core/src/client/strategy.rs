//! Between a call and its fault strategy: what the strategy is given, and what holds whatever it does.

use std::sync::{Mutex, Weak};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::channel::Core;
use super::maker::Maker;
use crate::BoxFuture;
use crate::error::{Executed, RpcError};
use crate::fault::{FaultStrategy, Next, Reply, Run};
use crate::invocation::Invocation;
use crate::lock::lock;
use crate::transport::TICK;

/// How long after the deadline a strategy still has its say: its run ends by itself within [`TICK`] and a millisecond.
const LAST_WORD: Duration = Duration::from_millis(8);
/// How much longer its runs may take to end, where the system is late: a strategy that keeps one without polling it would wait for ever.
const RUNS_END_WITHIN: Duration = Duration::from_millis(100);

impl Core {
    /// Has the strategy carry the call out.
    pub(super) async fn carry_out(&self, fault: &dyn FaultStrategy, call: &Invocation) -> Result<Reply, RpcError> {
        self.in_time(call, fault.call(call, Next::new(self))).await
    }

    /// Has the strategy go on after the channel's own run. Boxed, so that calls that do not fail have no room for it in their futures.
    #[cold]
    pub(super) fn recover<'a>(
        &'a self,
        fault: &'a dyn FaultStrategy,
        call: &'a Invocation,
        error: RpcError,
    ) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(async move {
            {
                let mut progress = lock(&call.progress);
                progress.runs = 1;
                progress.feared = Some(error.executed());
            }
            let failed = Failed { core: self, error: Mutex::new(Some(error)) };
            self.in_time(call, fault.call(call, Next::new(&failed))).await
        })
    }

    /// What the strategy makes of the call, unless it lets the deadline pass: then it is dropped, if possible after its runs have ended by
    /// themselves.
    async fn in_time(
        &self,
        call: &Invocation,
        mut strategy: BoxFuture<'_, Result<Reply, RpcError>>,
    ) -> Result<Reply, RpcError> {
        let mut until = call.deadline + LAST_WORD;
        let latest = until + RUNS_END_WITHIN;
        loop {
            if let Ok(result) = timeout_at(until, &mut strategy).await {
                return result;
            }
            if until >= latest || lock(&call.progress).under_way == 0 {
                break;
            }
            until = latest.min(Instant::now() + TICK);
        }
        // With it go the runs that it keeps, and it is known what is to be feared of them.
        drop(strategy);
        let executed = lock(&call.progress).feared.unwrap_or(Executed::No);
        Err(self.late(call, call.deadline, executed, "while the fault strategy went on"))
    }

    /// Makes a run for a strategy; none begins after the deadline.
    async fn run_for_strategy(&self, call: &Invocation, within: Option<Duration>) -> Result<Reply, RpcError> {
        if Instant::now() >= call.deadline {
            // A strategy that tries on must not keep its thread from seeing that the time is over.
            tokio::task::coop::consume_budget().await;
            return Err(self.late(call, call.deadline, Executed::No, "before a run began"));
        }
        let under_way = UnderWay::new(call);
        let result = self.run_once(call, within, Maker::Strategy).await;
        under_way.end(result.as_ref().map_or_else(RpcError::executed, |_| Executed::Yes));
        result
    }
}

impl Run for Core {
    fn run<'a>(&'a self, call: &'a Invocation, within: Option<Duration>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(self.run_for_strategy(call, within))
    }

    fn downgrade(&self) -> Weak<dyn Run> {
        self.this.clone()
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
                None => self.core.run_for_strategy(call, within).await,
            }
        })
    }

    fn downgrade(&self) -> Weak<dyn Run> {
        self.core.downgrade()
    }
}

/// A run that has begun and neither ended nor was dropped.
struct UnderWay<'a> {
    call: &'a Invocation,
    executed: Executed,
}

impl<'a> UnderWay<'a> {
    fn new(call: &'a Invocation) -> Self {
        lock(&call.progress).under_way += 1;
        // If it is dropped, nobody knows.
        Self { call, executed: Executed::Maybe }
    }

    fn end(mut self, executed: Executed) {
        self.executed = executed;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut progress = lock(&self.call.progress);
        progress.under_way -= 1;
        progress.feared = progress.feared.max(Some(self.executed));
    }
}
