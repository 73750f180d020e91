//! The implementation that answers in place of the providers.

use crate::context::Context;
use crate::error::{Code, Executed, RpcError};
use crate::fault::Reply;
use crate::invocation::Invocation;
use crate::protocol::message::Response;
use crate::server::{Dispatch, Request};

/// Has the fallback answer a call, bytes in, bytes out, as a server would.
pub(super) async fn substitute(fallback: &dyn Dispatch, call: &Invocation) -> Result<Reply, RpcError> {
    let context = Context::local("fallback", call.deadline, call.metadata.clone());
    let body = call.body.clone().into_bytes();
    let request = Request { codec: call.codec, body: &body, context };
    match fallback.dispatch(call.ordinal, request).await.0 {
        Response::Ok(body) => Ok(Reply::answered(call.codec, Ok(body.into_bytes()))),
        Response::Err(body) => Ok(Reply::answered(call.codec, Err(body.into_bytes()))),
        Response::Status(status) => {
            let message = format!("`{}.{}`: the fallback: {}", call.service(), call.method().name(), status.message());
            Err(RpcError::with_code(Code::Internal, Executed::Yes, message))
        }
    }
}
