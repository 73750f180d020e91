//! `onceMore`: one more run, if the method can bear it.

use std::sync::Arc;

use rpc_core::fault::{FaultStrategy, Next, Reply};
use rpc_core::{BoxError, BoxFuture, Executed, Invocation, RpcError, Settings, register};

/// Makes a failed call once more, if it has not run or may run twice.
#[derive(Debug)]
pub struct OnceMore;

impl OnceMore {
    /// The key it is registered under.
    pub const KEY: &'static str = "onceMore";
}

register!(dyn FaultStrategy, OnceMore::KEY, build);

fn build(_: &Settings) -> Result<Arc<OnceMore>, BoxError> {
    Ok(Arc::new(OnceMore))
}

impl FaultStrategy for OnceMore {
    fn call<'a>(&'a self, call: &'a Invocation, next: Next<'a>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(async move {
            match next.run(call).await {
                Err(error) if error.executed() == Executed::No || call.method().is_idempotent() => {
                    next.run(call).await.map_err(|again| again.executed_at_least(error.executed()))
                }
                result => result,
            }
        })
    }
}
