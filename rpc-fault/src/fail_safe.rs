//! `failSafe`: a failure of the far side is logged, and the caller goes on without.

use std::sync::Arc;

use rpc_core::fault::{Acts, FaultStrategy, Next, Reply};
use rpc_core::{BoxError, BoxFuture, Invocation, RpcError, Settings, register};
use serde::Deserialize;

use crate::failure;

/// Answers a call that the far side failed with the stub's fallback, or the `Default` of the method's result, and logs the failure.
///
/// For calls that are nice to have. What the service itself answers, be it an error, is an answer. What cannot pass by itself still fails:
/// arguments that cannot travel, types that differ, a method that is not there. A call is made once.
#[derive(Clone, Copy, Debug, Default)]
pub struct FailSafe;

impl FailSafe {
    /// The key it is registered under. It has no settings.
    pub const KEY: &'static str = "failSafe";
}

register!(dyn FaultStrategy, FailSafe::KEY, build);

impl FaultStrategy for FailSafe {
    fn call<'a>(&'a self, call: &'a Invocation, next: Next<'a>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(async move {
            match next.run(call).await {
                Err(error) if failure::may_pass(&error) => Ok(do_without(call, error)),
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
}

/// Logs a failure and lets the caller go on.
pub(crate) fn do_without(call: &Invocation, error: RpcError) -> Reply {
    let (service, method, instance) = (call.service(), call.method().name(), failure::last_instance(call));
    tracing::warn!(service, method, instance, %error, "the call failed; its caller goes on without");
    Reply::degraded(error)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {}

fn build(settings: &Settings) -> Result<Arc<FailSafe>, BoxError> {
    let Config {} = settings.parse()?;
    Ok(Arc::new(FailSafe))
}
