//! Who makes a run, and what the runs after it are told.

use tokio::time::Instant;

use crate::invocation::{Invocation, Tried};
use crate::lock::lock;
use crate::report::Step;

/// Who makes a run of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    /// The channel itself, which makes the first one. Who drops that drops the call, so only its failure is noted: a success costs nothing.
    Channel,
    /// A fault strategy. It may drop the run at any time or make another beside it, so the run is noted as it goes.
    Strategy,
}

impl Maker {
    /// The number of a run that begins, the instances that those before it have tried, and the time.
    pub(super) fn begin(self, call: &Invocation) -> (u32, Tried, Instant) {
        if self == Self::Channel {
            // Nothing was waited for since the call began.
            return (1, Tried::default(), call.started);
        }
        let mut progress = lock(&call.progress);
        progress.runs += 1;
        (progress.runs, progress.tried.clone(), Instant::now())
    }

    /// The request is about to be sent over the link with this number; the outcome is not known yet.
    pub(super) fn sends(self, call: &Invocation, link: u64) {
        if self == Self::Strategy {
            lock(&call.progress).tried.push(link);
        }
    }

    /// The link's instance cannot have seen the request, and the run goes on.
    pub(super) fn passes(self, call: &Invocation, link: u64, step: Step) {
        let mut progress = lock(&call.progress);
        if self == Self::Strategy {
            progress.tried.remove(link);
        }
        progress.steps.push(step);
    }

    /// The run ended at the link's instance, without a reply.
    pub(super) fn fails(self, call: &Invocation, link: u64, step: Step) {
        let mut progress = lock(&call.progress);
        if self == Self::Channel {
            progress.tried.push(link);
        }
        progress.steps.push(step);
    }
}
