//! One call on its way.

use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::Codec;
use crate::body::Body;
use crate::context::Metadata;
use crate::error::Executed;
use crate::lock::lock;
use crate::method::{Method, ServiceDescriptor};
use crate::options::LONGEST_TIMEOUT;
use crate::report::{Observer, Step};

/// One call of one method, as a fault strategy sees it. The arguments are encoded, and shared by all attempts.
#[derive(Debug)]
pub struct Invocation {
    pub(crate) service: &'static ServiceDescriptor,
    pub(crate) ordinal: usize,
    pub(crate) codec: Codec,
    pub(crate) body: Body,
    pub(crate) key: Option<Bytes>,
    pub(crate) metadata: Metadata,
    /// How many of the metadata are the call's own; what follows is inherited.
    pub(crate) own_metadata: usize,
    pub(crate) timeout: Duration,
    pub(crate) started: Instant,
    pub(crate) deadline: Instant,
    pub(crate) progress: Mutex<Progress>,
    pub(crate) observer: Option<Observer>,
    /// Whether this observer or the client's waits for a report.
    pub(crate) observed: bool,
}

/// How far a call has come.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Runs that were begun; one that the channel makes itself counts once it has failed.
    pub(crate) runs: u32,
    /// Runs of a strategy that have begun and not ended.
    pub(crate) under_way: usize,
    /// Whether the method may have run, by the runs that ended.
    pub(crate) feared: Option<Executed>,
    /// The instances that were sent the request by runs before; none once all were.
    pub(crate) tried: Tried,
    /// What happened so far; successes only when somebody observes the call.
    pub(crate) steps: Vec<Step>,
}

/// Numbers of links. Seldom more than one, which costs no allocation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tried {
    last: Option<u64>,
    earlier: Vec<u64>,
}

impl Tried {
    pub(crate) fn push(&mut self, link: u64) {
        self.earlier.extend(self.last.replace(link));
    }

    pub(crate) fn remove(&mut self, link: u64) {
        self.earlier.retain(|earlier| *earlier != link);
        if self.last == Some(link) {
            self.last = self.earlier.pop();
        }
    }

    pub(crate) fn last(&self) -> Option<u64> {
        self.last
    }

    pub(crate) fn contains(&self, link: u64) -> bool {
        self.last == Some(link) || self.earlier.contains(&link)
    }
}

impl From<Option<u64>> for Tried {
    fn from(last: Option<u64>) -> Self {
        Self { last, earlier: Vec::new() }
    }
}

impl Invocation {
    /// A call that begins now, with nothing in it but the method.
    #[doc(hidden)]
    #[must_use]
    pub fn new(service: &'static ServiceDescriptor, ordinal: usize, timeout: Duration) -> Self {
        let started = Instant::now();
        Self {
            service,
            ordinal,
            codec: Codec::default(),
            body: Bytes::new().into(),
            key: None,
            metadata: Metadata::default(),
            own_metadata: 0,
            timeout,
            started,
            deadline: started + timeout.min(LONGEST_TIMEOUT),
            progress: Mutex::default(),
            observer: None,
            observed: false,
        }
    }

    /// The same call once more, as a new one that begins now: its arguments, its options, and a deadline of its own. It inherits nothing, has
    /// been nowhere, and no observer waits for it.
    #[must_use]
    pub fn again(&self) -> Self {
        let mut metadata = self.metadata.clone();
        metadata.truncate(self.own_metadata);
        Self {
            codec: self.codec,
            // In one piece, which is ours: what is to wait must not keep a buffer of the caller's.
            body: self.body.clone().into_bytes().into(),
            key: self.key.clone(),
            own_metadata: self.own_metadata,
            metadata,
            ..Self::new(self.service, self.ordinal, self.timeout)
        }
    }

    /// Bytes of the encoded arguments.
    #[must_use]
    pub fn size(&self) -> usize {
        self.body.len()
    }

    /// The name of the service.
    #[must_use]
    pub fn service(&self) -> &'static str {
        self.service.name()
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &'static Method {
        &self.service.methods()[self.ordinal]
    }

    /// What happened so far: every instance that was passed over or was sent the request and gave no answer, in order.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        lock(&self.progress).steps.clone()
    }

    /// How long the caller still waits, all attempts together.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::SHARED_FROM;

    #[test]
    fn a_call_that_is_made_again_keeps_no_buffer_of_the_callers() {
        static SERVICE: ServiceDescriptor = ServiceDescriptor::new("s", &[]);
        let whole = Bytes::from(vec![7; 10 * SHARED_FROM]);
        let body = Body::new(Bytes::from_static(b"written"), Some(whole.slice(..SHARED_FROM)));
        let call = Invocation { body, ..Invocation::new(&SERVICE, 0, Duration::from_secs(1)) };
        let again = call.again();
        assert_eq!(again.size(), call.size());
        drop(call);
        assert!(whole.is_unique());
    }
}
