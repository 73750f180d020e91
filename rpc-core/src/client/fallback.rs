//! The implementation that answers in place of the providers.

use std::sync::Arc;

use crate::context::{Context, Ends};
use crate::error::{Code, Executed, RpcError};
use crate::fault::Reply;
use crate::invocation::Invocation;
use crate::protocol::message::Response;
use crate::server::{Dispatch, Request};

/// Has the fallback answer a call, bytes in, bytes out, as a server would.
pub(super) async fn substitute(fallback: &dyn Dispatch, call: &Invocation) -> Result<Reply, RpcError> {
    let connection = Arc::new(Ends { instance: "fallback".into(), peer: None });
    let context = Context { deadline: call.deadline, connection, metadata: call.metadata.clone() };
    let request = Request { codec: call.codec, body: &call.body, context };
    match fallback.dispatch(call.ordinal, request).await.0 {
        Response::Ok(body) => Ok(Reply::answered(call.codec, Ok(body))),
        Response::Err(body) => Ok(Reply::answered(call.codec, Err(body))),
        Response::Status(status) => {
            let message = format!("`{}.{}`: the fallback: {}", call.service(), call.method().name(), status.message());
            Err(RpcError::with_code(Code::Internal, Executed::Yes, message))
        }
    }
}
