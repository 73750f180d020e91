//! `failOver`: a call that fails is made again, at another instance if there is one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rpc_core::fault::{Acts, FaultStrategy, Next, Reply};
use rpc_core::{Bounded, BoxError, BoxFuture, Executed, Invocation, RpcError, Settings, register};
use serde::Deserialize;

use crate::failure;

/// Extra runs, unless told otherwise.
const DEFAULT_RETRIES: u64 = 2;
/// More extra runs than this are not to be had: each is load that a service in trouble gets on top.
const MAX_RETRIES: u64 = 10;
/// The first pause that is not left out; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// The longest pause.
const LAST_PAUSE: Duration = Duration::from_secs(1);

/// Makes a failed call again, at another instance if there is one; all within the call's deadline.
///
/// A failure is repeated only if that can help, and only if the method cannot have run yet or is marked idempotent. What the service itself
/// answers, be it an error, is an answer. A pause that would not end before the deadline is not begun: the caller gets the last error at
/// once.
///
/// | setting | default | |
/// |---|---|---|
/// | `retries` | 2 | runs after the first, 0 to 10 |
/// | `attemptTimeoutMs` | none | how long one run may take, 1 or more; for idempotent methods only |
/// | `backoffMs` | see below | the pause before each extra run |
///
/// Unless `backoffMs` is set, the first extra run begins at once after an attempt was sent, since it goes to another instance if there is
/// one. Further ones wait 20 ms, 40 ms and so on to 1 s, each up to half less or more, so that callers who failed together do not come back together.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FailOver {
    retries: Bounded<0, MAX_RETRIES>,
    attempt_timeout_ms: Option<Bounded<1>>,
    backoff_ms: Option<Bounded<0>>,
}

impl Default for FailOver {
    fn default() -> Self {
        Self { retries: Bounded::new(DEFAULT_RETRIES), attempt_timeout_ms: None, backoff_ms: None }
    }
}

impl FailOver {
    /// The key it is registered under.
    pub const KEY: &'static str = "failOver";

    async fn run(&self, call: &Invocation, next: Next<'_>) -> Result<Reply, RpcError> {
        match self.attempt_timeout_ms {
            Some(limit) if call.method().is_idempotent() => {
                next.run_within(call, Duration::from_millis(limit.get())).await
            }
            _ => next.run(call).await,
        }
    }

    /// How long to wait after run number `run`, counted from 0, which ended with `error`.
    fn pause(&self, run: u32, error: &RpcError) -> Duration {
        if let Some(pause) = self.backoff_ms {
            return Duration::from_millis(pause.get());
        }
        // A run that sent nothing has found no instance to send to: there is no other that could be asked at once.
        if run == 0 && error.executed() != Executed::No {
            return Duration::ZERO;
        }
        let doubled = FIRST_PAUSE * (1 << run.saturating_sub(1));
        doubled.min(LAST_PAUSE).mul_f64(0.5 + fastrand::f64())
    }
}

register!(dyn FaultStrategy, FailOver::KEY, build);

impl FaultStrategy for FailOver {
    fn call<'a>(&'a self, call: &'a Invocation, next: Next<'a>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(async move {
            let mut executed = Executed::No;
            let mut run = 0;
            loop {
                let error = match self.run(call, next).await {
                    Ok(reply) => return Ok(reply),
                    Err(error) => error,
                };
                executed = executed.max(error.executed());
                let pause = self.pause(run, &error);
                let is_over = u64::from(run) == self.retries.get() || pause >= call.time_left();
                if is_over || !failure::may_be_repeated(&error, call) {
                    return Err(told(error.executed_at_least(executed), call, run + 1));
                }
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                run += 1;
            }
        })
    }

    fn acts(&self) -> Acts {
        // The first run has a limit too.
        if self.attempt_timeout_ms.is_some() { Acts::Always } else { Acts::OnFailure }
    }
}

/// The error of the last run, with what came before it.
fn told(error: RpcError, call: &Invocation, runs: u32) -> RpcError {
    let steps = call.steps();
    let sent = steps.iter().filter(|step| step.executed != Executed::No);
    let sent: Vec<&str> = sent.map(|step| step.instance.as_str()).collect();
    match (sent.len(), runs) {
        (0, 1) => error,
        (0, _) => error.context(format_args!("nothing was sent in {runs} runs; the last")),
        (1, 1) => error.context(format_args!("1 attempt, at {}", sent[0])),
        (1, _) => error.context(format_args!("1 attempt, at {}; the last run", sent[0])),
        (count, _) => error.context(format_args!("{count} attempts, at {}; the last run", Once(&sent))),
    }
}

/// Each name once, in the order of its first appearance.
struct Once<'a>(&'a [&'a str]);

impl fmt::Display for Once<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().enumerate().filter(|(at, name)| !self.0[..*at].contains(name)) {
            write!(f, "{}{name}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

fn build(settings: &Settings) -> Result<Arc<FailOver>, BoxError> {
    Ok(Arc::new(settings.parse()?))
}

#[cfg(test)]
mod tests;
