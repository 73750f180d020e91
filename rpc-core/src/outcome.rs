//! What a method returns.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Code, Executed, RpcError};
use crate::protocol::codec::{self, Codec, DecodeError};
use crate::protocol::message::Response;
use crate::protocol::shape::{Shape, ShapeError};
use crate::server::Answer;
use crate::status::StatusCode;

/// What a remote method can return: a `Result` whose error type also takes the failures of the call itself.
#[diagnostic::on_unimplemented(
    message = "a remote call can fail, so its method must return a `Result<T, E>`, not `{Self}`",
    label = "not a `Result<T, E>` that can travel",
    note = "`T` and `E` must be `Serialize + DeserializeOwned + Send + 'static`, and `E: From<RpcError>`; `RpcError` itself is the simple choice for `E`"
)]
pub trait Outcome: Sized + Send + 'static {
    /// The outcome as it travels.
    #[doc(hidden)]
    fn encode(self, codec: Codec) -> Answer;

    /// The outcome that travelled.
    #[doc(hidden)]
    fn decode(codec: Codec, answer: &Result<Bytes, Bytes>) -> Result<Self, DecodeError>;

    /// The outcome of a call that gave no reply.
    #[doc(hidden)]
    fn failed(error: RpcError) -> Self;

    /// The shape of both of its types.
    #[doc(hidden)]
    fn shape() -> Result<Shape, ShapeError>;
}

impl<T, E> Outcome for Result<T, E>
where
    T: Serialize + DeserializeOwned + Send + 'static,
    E: Serialize + DeserializeOwned + From<RpcError> + Send + 'static,
{
    fn encode(self, codec: Codec) -> Answer {
        let encoded = match &self {
            Ok(value) => codec::encode(codec, value).map(Response::Ok),
            Err(error) => codec::encode(codec, error).map(Response::Err),
        };
        match encoded {
            Ok(response) => Answer(response),
            Err(error) => Answer::status(StatusCode::Internal, format!("the answer cannot be encoded: {error}")),
        }
    }

    fn decode(codec: Codec, answer: &Result<Bytes, Bytes>) -> Result<Self, DecodeError> {
        match answer {
            Ok(body) => codec::decode(codec, body).map(Ok),
            Err(body) => codec::decode(codec, body).map(Err),
        }
    }

    fn failed(error: RpcError) -> Self {
        Err(error.into())
    }

    fn shape() -> Result<Shape, ShapeError> {
        Shape::of_result::<T, E>()
    }
}

/// The outcome of a call whose reply cannot be decoded: it has run, and what it answered is lost.
pub(crate) fn undecodable(error: DecodeError, service: &str, method: &str) -> RpcError {
    let message = format!("`{service}.{method}`: the answer cannot be decoded");
    RpcError::with_code(Code::Codec, Executed::Yes, message).with_source(error)
}
