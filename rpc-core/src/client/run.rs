//! One run of a call: choose an instance, send, wait. An instance that cannot take the call is passed over for the next.

use std::cell::Cell;
use std::time::Duration;

use super::attempt::Failure;
use super::channel::Core;
use super::route::Cause;
use super::snapshot::Snapshot;
use crate::BoxFuture;
use crate::error::{Code, Executed, RpcError};
use crate::fault::{Reply, Run};
use crate::invocation::Invocation;
use crate::loadbalancer::PickContext;
use crate::lock::lock;
use crate::report::Attempt;

/// Positions that were passed over in this run, with the causes.
type Passed = Vec<(usize, Cause)>;

impl Run for Core {
    fn run<'a>(&'a self, call: &'a Invocation, within: Option<Duration>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(self.run_once(call, within))
    }
}

impl Core {
    /// Makes one run. Each instance gets at most one chance.
    pub(super) async fn run_once(&self, call: &Invocation, within: Option<Duration>) -> Result<Reply, RpcError> {
        let snapshot = self.snapshot(call).await?;
        let mut passed = Passed::new();
        while let Some(position) = choose(&snapshot, call, &passed) {
            let link = &snapshot.links[position];
            let result = self.attempt(link, call, within).await;
            let instance = || snapshot.endpoints[position].instance().id.clone();
            match result {
                Ok(reply) => {
                    if call.observed {
                        record(call, Attempt { instance: instance(), executed: Executed::Yes, error: None });
                    }
                    return Ok(reply);
                }
                Err(Failure::Final(error)) => {
                    let text = Some(error.to_string());
                    record(call, Attempt { instance: instance(), executed: error.executed(), error: text });
                    return Err(error);
                }
                Err(Failure::Passed(cause)) => {
                    let text = Some(cause.text.clone());
                    record(call, Attempt { instance: instance(), executed: Executed::No, error: text });
                    passed.push((position, cause));
                }
            }
        }
        Err(self.exhausted(&snapshot, call, passed))
    }

    /// The error of a run that found no instance: each with its cause, and the cause's code if all share it.
    fn exhausted(&self, snapshot: &Snapshot, call: &Invocation, mut passed: Passed) -> RpcError {
        let name = self.name(call.ordinal);
        for (position, link) in snapshot.links.iter().enumerate() {
            if is_new(&passed, position) {
                passed.extend(link.objection(call.ordinal).map(|cause| (position, cause)));
            }
        }
        let Some(((_, first), others)) = passed.split_first() else {
            let (registry, service) = (&self.shared.registry, call.service());
            let message = format!("`{name}`: registry `{registry}` knows no instance of service `{service}`");
            return RpcError::with_code(Code::NoInstance, Executed::No, message);
        };
        let shared = others.iter().all(|(_, cause)| cause.code == first.code);
        let code = if shared { first.code } else { Code::Unavailable };
        let cause = |(position, cause): &(usize, Cause)| {
            format!("{}: {}", snapshot.endpoints[*position].instance().id, cause.text)
        };
        let causes: Vec<_> = passed.iter().map(cause).collect();
        let message = format!("`{name}`: no instance can take the call ({})", causes.join("; "));
        RpcError::with_code(code, Executed::No, message)
    }
}

/// The position of an instance to send the call to: one that admits it, that this run has not passed over and no earlier run has sent
/// it to. Where that leaves none, first a recent failure to connect is forgiven, then earlier attempts are.
fn choose(snapshot: &Snapshot, call: &Invocation, passed: &Passed) -> Option<usize> {
    let tried = lock(&call.tried).clone();
    let position = choose_untried(snapshot, call, passed, &tried);
    if position.is_some() || tried.is_empty() {
        return position;
    }
    // The last one that failed is the last to be asked again.
    let last = &tried[tried.len() - 1..];
    lock(&call.tried).clear();
    choose_untried(snapshot, call, passed, last).or_else(|| choose_untried(snapshot, call, passed, &[]))
}

fn choose_untried(snapshot: &Snapshot, call: &Invocation, passed: &Passed, tried: &[u64]) -> Option<usize> {
    let is_new = |position: usize| is_new(passed, position) && !tried.contains(&snapshot.links[position].number);
    let admits = |position: usize| is_new(position) && snapshot.links[position].admits(call.ordinal);
    let forgives = |position: usize| is_new(position) && !snapshot.links[position].is_open();
    pick(snapshot, call, &admits).or_else(|| pick(snapshot, call, &forgives))
}

fn is_new(passed: &Passed, position: usize) -> bool {
    passed.iter().all(|(at, _)| *at != position)
}

/// Asks the picker, and looks for itself if the picker's answer is not admitted.
fn pick(snapshot: &Snapshot, call: &Invocation, admits: &dyn Fn(usize) -> bool) -> Option<usize> {
    let count = snapshot.endpoints.len();
    // A picker returns what it was last told is admitted; only one that does not costs a second look.
    let admitted = Cell::new(None);
    let asks = |position: usize| {
        let admits = position < count && admits(position);
        admitted.set(admits.then_some(position));
        admits
    };
    let picked = snapshot.picker.pick(&PickContext::new(call.key.as_deref(), &asks));
    picked
        .filter(|position| admitted.get() == picked || *position < count && admits(*position))
        .or_else(|| (0..count).find(|position| admits(*position)))
}

fn record(call: &Invocation, attempt: Attempt) {
    lock(&call.attempts).push(attempt);
}
