//! `failBack`: the caller goes on without, and the call is made again later.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rpc_core::fault::{Acts, Detached, FaultStrategy, Next, Reply};
use rpc_core::{Bounded, BoxError, BoxFuture, Invocation, RpcError, Settings, register};
use serde::Deserialize;
use tokio::task::JoinSet;

use crate::fail_safe::do_without;
use crate::failure;
use queue::{Place, Queue};

mod queue;

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Answers a call that the far side failed with the stub's fallback, or the `Default` of the method's result, and makes it again in the
/// background until it is answered.
///
/// For calls that must arrive, but need not arrive now, such as notices. Only a call that cannot have run yet, or whose method is marked
/// idempotent, is made again; any other fails, as does one for which the queue has no room. So who is answered in this way knows that the
/// call will be tried again: each time as a new call with the same arguments, a deadline of its own, and no tie to its caller. Any answer
/// ends it, the service's own error included. The queue is in memory: what is in it is lost with the process, and when the client is dropped
/// or [shut down](rpc_core::Client::shutdown).
///
/// | setting | default | |
/// |---|---|---|
/// | `retries` | 5 | tries after the first, 0 to 100; with 0 it is as `failSafe` |
/// | `pauseMs` | 1,000 | before the first of them, 1 or more; doubles with each, up to 60 s |
/// | `maxCalls` | 1,000 | calls that wait at a time, 1 or more |
/// | `maxBytes` | 16,777,216 | bytes of their arguments, 1 or more |
#[derive(Debug)]
pub struct FailBack {
    config: Config,
    queue: Arc<Queue>,
    /// One task for each call that waits, owned here.
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Config {
    retries: Bounded<0, 100>,
    pause_ms: Bounded<1>,
    max_calls: Bounded<1>,
    max_bytes: Bounded<1>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            retries: Bounded::new(5),
            pause_ms: Bounded::new(1_000),
            max_calls: Bounded::new(1_000),
            max_bytes: Bounded::new(16 * 1024 * 1024),
        }
    }
}

impl FailBack {
    /// The key it is registered under.
    pub const KEY: &'static str = "failBack";

    fn new(config: Config) -> Self {
        let [calls, bytes] =
            [config.max_calls, config.max_bytes].map(|most| usize::try_from(most.get()).unwrap_or(usize::MAX));
        let queue = Arc::new(Queue::new(calls, bytes));
        Self { config, queue, tasks: Mutex::default() }
    }

    /// Has a task make the call again, or says why not.
    fn queue(&self, call: &Invocation, next: Next<'_>, error: RpcError) -> Result<Reply, RpcError> {
        // Held while a place is taken and used: `close` cannot come between, and miss the task.
        let mut tasks = self.tasks();
        let place = match self.queue.take(call.size()) {
            Ok(place) => place,
            Err(full) => return Err(error.context(full)),
        };
        // What has ended is forgotten here, so that the set does not grow.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(deliver(call.again(), next.detach(), self.config, place));
        drop(tasks);
        Ok(do_without(call, error))
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

register!(dyn FaultStrategy, FailBack::KEY, build);

impl FaultStrategy for FailBack {
    fn call<'a>(&'a self, call: &'a Invocation, next: Next<'a>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(async move {
            match next.run(call).await {
                Err(error) if !failure::may_pass(&error) => Err(error),
                Err(error) if self.config.retries.get() == 0 => Ok(do_without(call, error)),
                Err(error) if failure::harms_nothing(&error, call) => self.queue(call, next, error),
                result => result,
            }
        })
    }

    fn acts(&self) -> Acts {
        Acts::OnFailure
    }

    fn may_degrade(&self) -> bool {
        true
    }

    fn close(&self) -> BoxFuture<'_, usize> {
        let mut tasks = self.tasks();
        let undone = self.queue.close();
        tasks.abort_all();
        Box::pin(std::future::ready(undone))
    }
}

/// Makes a call again until it is answered, or there is no point in going on.
async fn deliver(call: Invocation, next: Detached, config: Config, _place: Place) {
    let (service, method) = (call.service(), call.method().name());
    let mut pause = Duration::from_millis(config.pause_ms.get());
    for attempt in 1..=config.retries.get() {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        let again = call.again();
        let Err(error) = next.run(&again).await else {
            tracing::info!(service, method, attempt, "a call that had failed was delivered");
            return;
        };
        let instance = failure::last_instance(&again);
        if !failure::may_pass(&error) || !failure::harms_nothing(&error, &again) {
            tracing::warn!(service, method, attempt, instance, %error, "gave up on a call: making it again cannot help, or might do harm");
            return;
        }
        if attempt == config.retries.get() {
            tracing::warn!(service, method, attempt, instance, %error, "gave up on a call: it failed each time");
            return;
        }
        tracing::debug!(service, method, attempt, instance, %error, "a call that had failed failed again");
    }
}

fn build(settings: &Settings) -> Result<Arc<FailBack>, BoxError> {
    Ok(Arc::new(FailBack::new(settings.parse()?)))
}

#[cfg(test)]
mod tests;
