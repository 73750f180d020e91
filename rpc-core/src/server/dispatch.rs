//! From bytes to a method of the user's, and back: what the generated dispatcher is made of.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use tokio::time::Instant;

use crate::arguments::Arguments;
use crate::body::Body;
use crate::context::{Context, Metadata};
use crate::method::{ServiceDescriptor, Signature};
use crate::options::LONGEST_TIMEOUT;
use crate::outcome::Outcome;
use crate::protocol::codec::{Codec, Decoder};
use crate::protocol::message::Response;
use crate::status::{Status, StatusCode};

/// Routes requests to the methods of one service; the macro implements it.
pub trait Dispatch: Send + Sync + 'static {
    /// The service.
    fn service(&self) -> &'static ServiceDescriptor;

    /// Decodes the arguments and calls the method with this ordinal. Decoding is over when it returns; the method runs when the future is
    /// polled.
    fn dispatch(&self, ordinal: usize, request: Request<'_>) -> Handling;
}

/// A request up to its method.
#[derive(Debug)]
pub struct Request<'a> {
    pub(crate) codec: Codec,
    pub(crate) body: &'a Bytes,
    pub(crate) context: Context,
}

impl<'a> Request<'a> {
    /// A request that comes over no connection, without a deadline to speak of.
    #[doc(hidden)]
    #[must_use]
    pub fn local(codec: Codec, body: &'a Bytes) -> Self {
        let context = Context::local("local", Instant::now() + LONGEST_TIMEOUT, Metadata::default());
        Self { codec, body, context }
    }
}

/// A method at work.
pub type Handling = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// What a method answered, ready to be sent.
pub struct Answer(pub(crate) Response<Body>);

impl Answer {
    pub(crate) fn status(code: StatusCode, message: impl Into<String>) -> Self {
        Self(Response::Status(Status::new(code, message)))
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Decodes the arguments and runs `handler` on them, as part of the call: [`Context::current`] finds it.
pub fn handle<S, F, Fut>(request: Request<'_>, handler: F) -> Handling
where
    S: Signature,
    F: FnOnce(S::Arguments) -> Fut + Send + 'static,
    Fut: Future<Output = S::Outcome> + Send + 'static,
{
    let Request { codec, body, context } = request;
    let mut decoder = Decoder::new(codec, body);
    match S::Arguments::decode(&mut decoder).and_then(|arguments| decoder.finish().map(|()| arguments)) {
        Ok(arguments) => Box::pin(context.scope(async move { handler(arguments).await.encode(codec) })),
        Err(error) => ready(Answer::status(StatusCode::BadRequest, error.to_string())),
    }
}

/// The answer to a method number that the service does not have.
#[must_use]
pub fn no_such_method(ordinal: usize) -> Handling {
    ready(Answer::status(StatusCode::UnknownMethod, format!("the service has no method number {ordinal}")))
}

fn ready(answer: Answer) -> Handling {
    Box::pin(std::future::ready(answer))
}
