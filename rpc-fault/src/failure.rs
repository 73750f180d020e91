//! What kind of failure a strategy has before it.

use rpc_core::{Code, Executed, Invocation, RpcError};

/// Whether the far side failed, in a way that may pass. Mistakes of either side do not pass: arguments that cannot travel, types that differ,
/// a method that is not there.
pub(crate) fn may_pass(error: &RpcError) -> bool {
    error.code() == Code::NoInstance || another_run_may_help(error)
}

/// Whether another run can help and can do no harm. That an attempt ran out of time is worth another; whether the call did is for the strategy
/// to look at.
pub(crate) fn may_be_repeated(error: &RpcError, call: &Invocation) -> bool {
    another_run_may_help(error) && harms_nothing(error, call)
}

/// Whether the method cannot have run yet, or may run twice.
pub(crate) fn harms_nothing(error: &RpcError, call: &Invocation) -> bool {
    error.executed() == Executed::No || call.method().is_idempotent()
}

fn another_run_may_help(error: &RpcError) -> bool {
    matches!(
        error.code(),
        Code::Unavailable | Code::Overloaded | Code::ConnectionLost | Code::DeadlineExceeded | Code::Internal
    )
}

/// The instance that a call was last sent to or passed over, for the log.
pub(crate) fn last_instance(call: &Invocation) -> String {
    call.steps().pop().map_or_else(|| "none".to_owned(), |step| step.instance)
}
