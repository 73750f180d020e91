//! What happened to a call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Code, Executed};

/// What happened to one call, for logs, metrics and tests.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallReport {
    /// The service that was called.
    pub service: &'static str,
    /// The method that was called.
    pub method: &'static str,
    /// From the stub's call to its result.
    pub elapsed: Duration,
    /// Every instance that the call came to, in order: those that were passed over, and those that were sent the request. What was under way
    /// when a fault strategy dropped its run is not among them.
    pub steps: Vec<Step>,
    /// Why the call failed; `None` if it was answered, be it with the service's own error.
    pub error: Option<Code>,
    /// Whether the caller, the failure notwithstanding, got the fallback's answer or the result's `Default`.
    pub degraded: bool,
    /// Whether the method may have run.
    pub executed: Executed,
}

/// One instance's part in a call. It was an attempt if the request may have run there, else the instance was passed over.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Step {
    /// The run that it was part of, from 1; a fault strategy makes several.
    pub run: u32,
    /// The instance's id.
    pub instance: String,
    /// Whether the request may have run there; `No` where the instance was passed over.
    pub executed: Executed,
    /// What kind of failure it was; `None` if the instance answered.
    pub code: Option<Code>,
    /// Why it gave no answer; `None` if it did.
    pub error: Option<String>,
}

/// Who wants to know what happened to a call.
#[derive(Clone)]
pub(crate) struct Observer(pub(crate) Arc<dyn Fn(&CallReport) + Send + Sync>);

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
