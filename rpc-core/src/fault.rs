//! The contract of fault strategies: what happens when a call fails.

use std::fmt::{self, Debug};
use std::sync::Weak;
use std::time::Duration;

use bytes::Bytes;

use crate::error::{Code, Executed, RpcError};
use crate::extension::extension;
use crate::invocation::Invocation;
use crate::{BoxFuture, Codec};

/// Goes around a call and decides what its failure means for the caller.
///
/// # Examples
///
/// One more run after a failure that cannot have run the method:
///
/// ```
/// use rpc_core::fault::{FaultStrategy, Next, Reply};
/// use rpc_core::{BoxFuture, Executed, Invocation, RpcError};
///
/// #[derive(Debug)]
/// struct OnceMore;
///
/// impl FaultStrategy for OnceMore {
///     fn call<'a>(&'a self, call: &'a Invocation, next: Next<'a>) -> BoxFuture<'a, Result<Reply, RpcError>> {
///         Box::pin(async move {
///             match next.run(call).await {
///                 Err(error) if error.executed() == Executed::No => next.run(call).await,
///                 result => result,
///             }
///         })
///     }
/// }
/// ```
pub trait FaultStrategy: Debug + Send + Sync + 'static {
    /// Carries the call out: [`next.run(call)`](Next::run) makes one run, as often as the strategy wishes. Which calls come here is said by
    /// [`acts`](Self::acts). The future is dropped soon after the call's deadline, when its runs have
    /// ended by it; 110 ms after it at the latest, if it keeps a run that it does not poll. A panic is one of the caller's task.
    fn call<'a>(&'a self, call: &'a Invocation, next: Next<'a>) -> BoxFuture<'a, Result<Reply, RpcError>>;

    /// When calls need this strategy; asked once, when a stub is made.
    fn acts(&self) -> Acts {
        Acts::Always
    }

    /// Whether it may answer with [`Reply::degraded`]. Every method of a service then needs a result that has a `Default`, or the stub a
    /// fallback; that is checked when the stub is made.
    fn may_degrade(&self) -> bool {
        false
    }

    /// Ends what it does in the background, and says how many calls that leaves undone.
    fn close(&self) -> BoxFuture<'_, usize> {
        Box::pin(std::future::ready(0))
    }
}

/// When calls need a fault strategy. What it is not needed for costs a call nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acts {
    /// From the beginning, as one that limits the time of the first run does.
    Always,
    /// Once the first run has failed. The channel makes that run, without a limit of its own, and calls the strategy only if it failed, with
    /// a [`Next`] whose first run, be it asked for with a limit or not, is that one: it gives its error at once. So the strategy is written as
    /// if it made all runs. It is for strategies that do nothing before the first run, and nothing after a success.
    OnFailure,
    /// Never: it adds nothing to a call.
    Never,
}

extension!(dyn FaultStrategy, "fault strategy", "rpc_fault");

/// What a fault strategy goes around.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    run: &'a dyn Run,
}

/// What a [`Next`] runs: a client's channel, or in a test of a strategy what the test makes up.
#[doc(hidden)]
pub trait Run: Send + Sync {
    /// Makes one run of `call`, whose attempt takes no longer than `within`.
    fn run<'a>(&'a self, call: &'a Invocation, within: Option<Duration>) -> BoxFuture<'a, Result<Reply, RpcError>>;

    /// A hold on this that does not keep it.
    fn downgrade(&self) -> Weak<dyn Run>;
}

impl<'a> Next<'a> {
    #[doc(hidden)]
    pub fn new(run: &'a dyn Run) -> Self {
        Self { run }
    }

    /// Makes one run: chooses an instance and sends it the request, passing over instances that refuse it unseen. Each instance gets
    /// at most one chance in a run, and one that an earlier run of the call has sent the request gets none until all have had theirs.
    ///
    /// # Errors
    ///
    /// When no instance could take the call, or the one that did gave no answer; [`RpcError::executed`] tells whether the method may have run.
    /// [`Code::DeadlineExceeded`] at once after the call's deadline.
    pub fn run(&self, call: &'a Invocation) -> BoxFuture<'a, Result<Reply, RpcError>> {
        self.run.run(call, None)
    }

    /// The same, with a limit of its own for the time that the chosen instance may take; the call's deadline holds as well.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run); [`Code::DeadlineExceeded`] when the limit is reached.
    pub fn run_within(&self, call: &'a Invocation, limit: Duration) -> BoxFuture<'a, Result<Reply, RpcError>> {
        self.run.run(call, Some(limit))
    }

    /// What is needed to make runs after the call has ended. It does not keep the client alive.
    #[must_use]
    pub fn detach(&self) -> Detached {
        Detached { run: self.run.downgrade() }
    }
}

/// A [`Next`] that outlives its call, for runs in the background.
#[derive(Clone)]
pub struct Detached {
    run: Weak<dyn Run>,
}

impl Detached {
    /// Makes one run, as [`Next::run`] does.
    ///
    /// # Errors
    ///
    /// As for [`Next::run`]; [`Code::Unavailable`] if the client is gone.
    pub async fn run(&self, call: &Invocation) -> Result<Reply, RpcError> {
        match self.run.upgrade() {
            Some(run) => run.run(call, None).await,
            None => Err(RpcError::with_code(Code::Unavailable, Executed::No, "the client is gone")),
        }
    }
}

impl Debug for Detached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Detached")
    }
}

impl Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Next")
    }
}

/// What a call comes to: an instance's answer, or the word of a strategy to do without.
#[derive(Debug)]
pub struct Reply(pub(crate) Kind);

#[derive(Debug)]
pub(crate) enum Kind {
    /// The method's result or the service's own error, still encoded.
    Answered { codec: Codec, answer: Result<Bytes, Bytes> },
    /// The caller gets the fallback's answer, or the result's `Default`.
    Degraded(RpcError),
}

impl Reply {
    pub(crate) fn answered(codec: Codec, answer: Result<Bytes, Bytes>) -> Self {
        Self(Kind::Answered { codec, answer })
    }

    /// Lets the caller have the fallback's answer, or the result's `Default`, because of `error`. For strategies that
    /// [`may_degrade`](FaultStrategy::may_degrade).
    #[must_use]
    pub fn degraded(error: RpcError) -> Self {
        Self(Kind::Degraded(error))
    }
}
