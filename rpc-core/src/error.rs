//! What a call can fail with.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::BoxError;

/// Writes an error and all its sources in one line. Our errors are written so by `Debug`, since that is what a `main` that returns them
/// prints.
pub(crate) fn with_sources(error: &dyn Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{error}")?;
    let mut source = error.source();
    while let Some(error) = source {
        write!(f, ": {error}")?;
        source = error.source();
    }
    Ok(())
}

/// Whether the far side may have run the method. A fault strategy repeats a call only after [`No`](Self::No), or when the
/// method is idempotent. Ordered by how much is to be feared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Executed {
    /// It cannot have run: the request was never sent whole, or was refused.
    No,
    /// It may have run: the request was sent and no answer came.
    Maybe,
    /// It has run.
    Yes,
}

/// What kind of failure an [`RpcError`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The registry knows no instance of the service.
    NoInstance,
    /// No instance could take the call; the message names each with its cause. Also: the registry failed before it gave a first list.
    Unavailable,
    /// The call's deadline passed.
    DeadlineExceeded,
    /// Every instance has as many calls in flight as it allows.
    Overloaded,
    /// The connection ended after the request was sent and before the answer came.
    ConnectionLost,
    /// No instance has the service.
    ServiceNotFound,
    /// The service is there, but has no such method.
    MethodNotFound,
    /// Both sides have the method, with different types; the message shows the difference.
    SchemaMismatch,
    /// The server could not decode the arguments.
    BadRequest,
    /// The request or its answer exceeds the largest frame.
    TooLarge,
    /// The arguments could not be encoded, or the answer could not be decoded.
    Codec,
    /// The handler panicked or its answer could not be encoded.
    Internal,
    /// The handler answered with an [`RpcError`] of its own.
    Remote,
}

impl Code {
    const fn words(self) -> &'static str {
        match self {
            Self::NoInstance => "no instance",
            Self::Unavailable => "unavailable",
            Self::DeadlineExceeded => "deadline exceeded",
            Self::Overloaded => "overloaded",
            Self::ConnectionLost => "connection lost",
            Self::ServiceNotFound => "service not found",
            Self::MethodNotFound => "method not found",
            Self::SchemaMismatch => "schema mismatch",
            Self::BadRequest => "bad request",
            Self::TooLarge => "too large",
            Self::Codec => "codec",
            Self::Internal => "internal",
            Self::Remote => "remote error",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// A call's failure: a code, a message, and whether the method may have run.
///
/// A method's error type must be constructible from it; used as the error type itself it is the simple choice. A handler
/// makes one of any message ([`RpcError::new`]) or, by `?`, of an [`anyhow::Error`]; the caller then receives it with
/// [`Code::Remote`]. Sources stay on the side where they arose: only the
/// message is serialized.
///
/// # Examples
///
/// ```
/// use anyhow::Context as _;
/// use rpc_core::{Code, RpcError};
///
/// fn handler(input: &str) -> Result<u32, RpcError> {
///     Ok(input.parse::<u32>().context("the input is no number")?)
/// }
///
/// let error = handler("seven").unwrap_err();
/// assert_eq!(error.code(), Code::Remote);
/// assert_eq!(error.to_string(), "remote error: the input is no number: invalid digit found in string");
/// ```
#[derive(Clone)]
pub struct RpcError(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: Code,
    message: String,
    executed: Executed,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl RpcError {
    /// An error of a handler's own, with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self::with_code(Code::Remote, Executed::Yes, message)
    }

    /// An error of a fault strategy's own, such as that of a call it does not let through. A handler's is [`new`](Self::new).
    pub fn with_code(code: Code, executed: Executed, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { code, message: message.into(), executed, source: None }))
    }

    pub(crate) fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// The same error, with what a fault strategy has to add in front of its message.
    #[must_use]
    pub fn context(mut self, text: impl fmt::Display) -> Self {
        self.0.message = format!("{text}: {}", self.0.message);
        self
    }

    /// The same error for a call whose earlier runs got as far as `executed`: it then says no less than that.
    #[must_use]
    pub fn executed_at_least(mut self, executed: Executed) -> Self {
        self.0.executed = self.0.executed.max(executed);
        self
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What happened, for people; the code is not repeated in it.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether the far side may have run the method.
    #[must_use]
    pub fn executed(&self) -> Executed {
        self.0.executed
    }
}

/// The error with all its sources in one line, since this is what a `main` that returns it prints.
impl fmt::Debug for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code() {
            // A handler's own message tells them already.
            Code::Remote => write!(f, "{self}"),
            _ => with_sources(self, f),
        }
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)
    }
}

impl Error for RpcError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// A handler's `?`: the whole chain becomes the message, since sources do not cross the wire.
impl From<anyhow::Error> for RpcError {
    fn from(error: anyhow::Error) -> Self {
        Self::new(format!("{error:#}")).with_source(error)
    }
}

/// One text: a code of a later version must not change the type's shape on the wire.
impl Serialize for RpcError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.code() {
            Code::Remote => serializer.serialize_str(self.message()),
            _ => serializer.collect_str(self),
        }
    }
}

/// Whatever the handler's error was, for the caller it is an answer: a deadline that the handler missed further on is not the
/// caller's own. So the code is always [`Code::Remote`]; another one is kept in the message.
impl<'de> Deserialize<'de> for RpcError {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_crosses_the_wire_is_remote_and_executed() {
        let timeout = RpcError::with_code(Code::DeadlineExceeded, Executed::Maybe, "after 3 s");
        let crossed: RpcError = serde_json::from_str(&serde_json::to_string(&timeout).unwrap()).unwrap();
        assert_eq!(crossed.code(), Code::Remote);
        assert_eq!(crossed.executed(), Executed::Yes);
        assert_eq!(crossed.message(), "deadline exceeded: after 3 s");
    }

    #[test]
    fn what_earlier_runs_may_have_executed_is_not_forgotten() {
        use Executed::{Maybe, No, Yes};
        for (last, earlier, both) in [(No, Maybe, Maybe), (Maybe, No, Maybe), (Yes, Maybe, Yes), (No, No, No)] {
            let error = RpcError::with_code(Code::Unavailable, last, "gone").executed_at_least(earlier);
            assert_eq!(error.executed(), both);
        }
    }

    #[test]
    fn a_source_is_kept_where_it_arose() {
        let error = RpcError::from(anyhow::anyhow!("cause").context("effect"));
        assert_eq!(error.message(), "effect: cause");
        assert!(error.source().is_some());
        assert_eq!(format!("{error:?}"), "remote error: effect: cause");
    }

    #[test]
    fn debug_tells_the_sources() {
        let source = anyhow::anyhow!("refused").context("cannot connect");
        let error = RpcError::with_code(Code::Unavailable, Executed::No, "no list").with_source(source);
        assert_eq!(error.to_string(), "unavailable: no list");
        assert_eq!(format!("{error:?}"), "unavailable: no list: cannot connect: refused");
    }
}
