//! One run of a call: choose an instance, send, wait. An instance that cannot take the call is passed over for the next.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::attempt::Failure;
use super::channel::Core;
use super::maker::Maker;
use super::route::{Link, Way};
use super::snapshot::Snapshot;
use crate::error::{Code, Executed, RpcError};
use crate::fault::Reply;
use crate::invocation::{Invocation, Tried};
use crate::loadbalancer::{PickContext, Picker};
use crate::lock::lock;
use crate::report::Step;

/// Instances whose last connect failed that one run may wait for, where no other is left.
const MAX_FORGIVEN: usize = 16;
/// Causes that an error tells.
const MAX_TOLD: usize = 8;

/// The instances that were passed over in this run; why is told by its steps.
#[derive(Default)]
struct Passed {
    links: HashSet<u64>,
    forgiven: usize,
}

impl Passed {
    fn is_new(&self, link: &Link) -> bool {
        self.links.is_empty() || !self.links.contains(&link.target().link)
    }

    fn may_take(&self, link: &Arc<Link>, call: &Invocation) -> bool {
        self.is_new(link) && link.way(call.ordinal).is_some()
    }
}

impl Core {
    /// Makes one run. Each instance gets at most one chance.
    pub(super) async fn run_once(
        &self,
        call: &Invocation,
        within: Option<Duration>,
        maker: Maker,
    ) -> Result<Reply, RpcError> {
        let (run, mut tried, mut now) = maker.begin(call);
        let mut passed = Passed::default();
        if !self.directory.is_followed() {
            self.directory.follow(self.shared.refresh);
        }
        loop {
            // Each time in the newest list: it may have become another meanwhile, as when the only provider is replaced.
            match self.directory.read(|snapshot| self.choose(snapshot, call, run, &mut passed, &mut tried)) {
                None => self.wait_for_list(call).await?,
                Some(Err(error)) => {
                    // Nothing was waited for: a caller that tries on without a pause must not keep its thread from all else.
                    tokio::task::coop::consume_budget().await;
                    return Err(error);
                }
                Some(Ok(way)) => {
                    let target = way.target();
                    maker.sends(call, target.link);
                    match self.attempt(&way, call, now, within).await {
                        Ok(reply) => {
                            if call.observed {
                                lock(&call.progress).steps.push(target.answered(run));
                            }
                            return Ok(reply);
                        }
                        Err(Failure::Final(error)) => {
                            maker.fails(call, target.link, target.failed(run, &error));
                            return Err(error);
                        }
                        Err(Failure::Passed(cause)) => {
                            maker.passes(call, target.link, target.passed_over(run, cause));
                            passed.links.insert(target.link);
                        }
                    }
                }
            }
            now = Instant::now();
        }
    }

    /// The way to an instance, or why there is none.
    fn choose(
        &self,
        snapshot: &Snapshot,
        call: &Invocation,
        run: u32,
        passed: &mut Passed,
        tried: &mut Tried,
    ) -> Result<Way, RpcError> {
        let picker = &*snapshot.pickers[self.policies.of(call.ordinal).balancer];
        let choice = Choice { snapshot, picker, call };
        if let Some(way) = choice.choose(passed, tried) {
            return Ok(way);
        }
        // All were full, and now one is not.
        let freed = snapshot.links.iter().any(|link| passed.may_take(link, call));
        let chosen = freed.then(|| choice.choose(passed, tried)).flatten();
        chosen.ok_or_else(|| self.exhausted(snapshot, call, run, passed))
    }

    /// The error of a run that found no instance: each with its cause, and the cause's code if all share it.
    fn exhausted(&self, snapshot: &Snapshot, call: &Invocation, run: u32, passed: &Passed) -> RpcError {
        let name = self.name(call.ordinal);
        let steps = &mut lock(&call.progress).steps;
        for link in snapshot.links.iter().filter(|link| passed.is_new(link)) {
            steps.extend(link.objection(call.ordinal).map(|cause| link.target().passed_over(run, cause)));
        }
        let mut told = steps.iter().filter(|step| step.run == run);
        let Some(code) = told.clone().next().and_then(|first| first.code) else {
            let (registry, service, count) = (&self.shared.registry, call.service(), snapshot.endpoints.len());
            let (code, message) = match count {
                0 => (
                    Code::NoInstance,
                    format!(
                        "`{name}`: registry `{registry}` knows no instance of service `{service}`; does a provider run, and register there?"
                    ),
                ),
                _ => (Code::Unavailable, format!("`{name}`: the load balancer chose none of {count} instances")),
            };
            return RpcError::with_code(code, Executed::No, message);
        };
        let is_shared = told.clone().all(|step| step.code == Some(code));
        let code = if is_shared { code } else { Code::Unavailable };
        let causes: Vec<_> = told.by_ref().take(MAX_TOLD).map(told_by).collect();
        let mut causes = causes.join("; ");
        if let more @ 1.. = told.count() {
            causes.push_str(&format!("; and {more} more"));
        }
        RpcError::with_code(code, Executed::No, format!("`{name}`: no instance can take the call ({causes})"))
    }
}

/// An instance that was passed over, with its cause.
fn told_by(step: &Step) -> String {
    format!("{}: {}", step.instance, step.error.as_deref().unwrap_or_default())
}

/// What an instance is chosen by.
struct Choice<'a> {
    snapshot: &'a Snapshot,
    picker: &'a dyn Picker,
    call: &'a Invocation,
}

impl Choice<'_> {
    /// The way to an instance that admits the call, that this run has not passed over and to which no earlier run has sent it. Where
    /// that leaves none, first a recent failure to connect is forgiven, then earlier attempts are.
    fn choose(&self, passed: &mut Passed, tried: &mut Tried) -> Option<Way> {
        let chosen = self.untried(passed, tried);
        let (last @ Some(_), None) = (tried.last(), &chosen) else {
            return chosen;
        };
        *tried = Tried::default();
        lock(&self.call.progress).tried = Tried::default();
        // The last one that failed is the last to be asked again.
        self.untried(passed, &last.into()).or_else(|| self.untried(passed, tried))
    }

    fn untried(&self, passed: &mut Passed, tried: &Tried) -> Option<Way> {
        let links = &self.snapshot.links;
        let is_new = |link: &Link| passed.is_new(link) && !tried.contains(link.target().link);
        let admits = |position: usize| {
            let link = &links[position];
            is_new(link).then(|| link.way(self.call.ordinal)).flatten()
        };
        if let Some(chosen) = self.pick(&admits) {
            return Some(chosen);
        }
        if passed.forgiven == MAX_FORGIVEN {
            return None;
        }
        let forgives = |position: usize| {
            let link = &links[position];
            (is_new(link) && !link.is_open()).then(|| Way::Connect(Arc::clone(link)))
        };
        let chosen = self.pick(&forgives)?;
        passed.forgiven += 1;
        Some(chosen)
    }

    /// Asks the picker. An answer that is not admitted is replaced by the first position that is; that it chooses none is its right.
    fn pick(&self, admits: &dyn Fn(usize) -> Option<Way>) -> Option<Way> {
        let count = self.snapshot.endpoints.len();
        // A picker returns what it was last told is admitted; only one that does not costs a second look.
        let admitted = Cell::new(None);
        let asks = |position: usize| {
            let way = if position < count { admits(position) } else { None };
            let admits = way.is_some();
            admitted.set(way.map(|way| (position, way)));
            admits
        };
        let picked = self.picker.pick(&PickContext::new(self.call.key.as_deref(), &asks))?;
        match admitted.take() {
            Some((position, way)) if position == picked => Some(way),
            _ => std::iter::once(picked).filter(|picked| *picked < count).chain(0..count).find_map(admits),
        }
    }
}
