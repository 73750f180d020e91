//! What one call can ask for beside its arguments.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::context::Metadata;
use crate::report::{CallReport, Observer};

/// How long a call may take unless something else is asked for.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(3);

/// Longer times count as this, so that no sum of a clock overflows.
pub(crate) const LONGEST_TIMEOUT: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Options of the calls of one stub, given by the stub's `with`. What is not set is the client's.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use rpc_core::CallOptions;
///
/// let options = CallOptions::new().timeout(Duration::from_millis(300)).hash_key("user:7").metadata("tenant", "blue");
/// ```
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) hash_key: Option<Bytes>,
    pub(crate) metadata: Metadata,
    pub(crate) observer: Option<Observer>,
}

impl CallOptions {
    /// No option set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How long the call may take, all attempts together. A call made inside a handler ends with the handler's own deadline if
    /// that is sooner. The client's default is 3 s.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The key that decides where a load balancer by key sends the call; wins over the argument marked `#[rpc(hash)]`. Either
    /// is the same key under every codec; without them the encoded arguments together are the key, which are others in JSON than in bincode.
    #[must_use]
    pub fn hash_key(mut self, key: impl Into<Bytes>) -> Self {
        self.hash_key = Some(key.into());
        self
    }

    /// Sends a pair of text beside the arguments; the handler finds it in its [`Context`](crate::Context). Key and value may have
    /// 65,535 bytes each; a longer one fails the call with [`Code::BadRequest`](crate::Code::BadRequest) before anything is sent.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Calls `observe` with a report when the call is over. It runs in the caller's task and should return soon; a panic in it is
    /// logged.
    #[must_use]
    pub fn observe(mut self, observe: impl Fn(&CallReport) + Send + Sync + 'static) -> Self {
        self.observer = Some(Observer(Arc::new(observe)));
        self
    }
}
