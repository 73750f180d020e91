//! One instance's part in a call: connect if need be, send, wait, and say what came of it.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Timeout, timeout_at};

use super::channel::Core;
use super::route::{Cause, Route, Way};
use crate::error::{Code, Executed, RpcError};
use crate::fault::Reply;
use crate::invocation::Invocation;
use crate::options::LONGEST_TIMEOUT;
use crate::protocol::message::Response;
use crate::status::{Status, StatusCode};
use crate::transport::outgoing::{Outgoing, Refusal};
use crate::transport::pending::Settled;

/// How an instance's part ended without a reply.
pub(super) enum Failure {
    /// The instance cannot have seen the request: another may take it.
    Passed(Cause),
    /// The run is over.
    Final(RpcError),
}

impl From<Cause> for Failure {
    fn from(cause: Cause) -> Self {
        Self::Passed(cause)
    }
}

impl Core {
    /// Sends the call this way and waits for what comes of it, from `now` on `within` at the longest.
    pub(super) async fn attempt(
        &self,
        way: &Way,
        call: &Invocation,
        mut now: Instant,
        within: Option<Duration>,
    ) -> Result<Reply, Failure> {
        let deadline = within.map_or(call.deadline, |limit| call.deadline.min(now + limit.min(LONGEST_TIMEOUT)));
        let late = |executed, when| Failure::Final(self.late(call, deadline, executed, when));
        let connected;
        let route = match way {
            Way::Over(route) => route,
            Way::Connect(link) => match rare_wait(deadline, link.connect(self.service(), &self.shapes)).await {
                Ok(route) => {
                    (connected, now) = (route?, Instant::now());
                    &connected
                }
                Err(_) => return Err(late(Executed::No, "while connecting")),
            },
        };
        let Some(number) = route.number(call.ordinal) else {
            return Err(match rare_wait(deadline, route.why_not(call.ordinal, &self.shapes[call.ordinal])).await {
                Ok(cause) => cause.into(),
                Err(_) => late(Executed::No, "while the server was asked for its types"),
            });
        };
        let result = match send(route, number, call, now, deadline).await {
            Ok(answer) => self.meaning(call, route, answer),
            Err(Refusal::NoRoom) => Err(late(Executed::No, "before the connection took the request")),
            Err(refusal @ Refusal::TooLarge { .. }) => Err(self.failure(call, Code::TooLarge, Executed::No, &refusal)),
            Err(refusal) => Err(Cause::from(refusal).into()),
        };
        result?.ok_or_else(|| late(Executed::Maybe, "without an answer"))
    }

    /// What an answer means for the run; `None` if it is that there was none in time.
    fn meaning(&self, call: &Invocation, route: &Route, answer: Settled) -> Result<Option<Reply>, Failure> {
        match answer {
            Settled::Response(codec, Response::Ok(body)) => Ok(Some(Reply::answered(codec, Ok(body)))),
            Settled::Response(codec, Response::Err(body)) => Ok(Some(Reply::answered(codec, Err(body)))),
            Settled::Response(_, Response::Status(status)) => Err(self.status(call, &status)),
            Settled::Expired => Ok(None),
            Settled::Lost(Executed::No) => Err(Cause::from(Refusal::Lost).into()),
            Settled::Lost(executed) => {
                let cause =
                    route.connection.lost().map_or_else(|| "for no known cause".to_owned(), ToString::to_string);
                let message = format!("the request was sent, then the connection ended: {cause}");
                Err(self.failure(call, Code::ConnectionLost, executed, &message))
            }
            Settled::Description(_) => {
                let message = "the server answered a request with a description";
                Err(self.failure(call, Code::Internal, Executed::Maybe, &message))
            }
        }
    }

    /// What a server's status means for the run.
    fn status(&self, call: &Invocation, status: &Status) -> Failure {
        let passed = |code| Failure::Passed(Cause { code, text: status.message().to_owned() });
        let failed = |code, executed| self.failure(call, code, executed, &status.message());
        match status.code() {
            StatusCode::Overloaded => passed(Code::Overloaded),
            StatusCode::UnknownMethod => passed(Code::MethodNotFound),
            StatusCode::UnsupportedCodec => passed(Code::Codec),
            StatusCode::BadRequest => failed(Code::BadRequest, Executed::No),
            StatusCode::DeadlineExceeded => failed(Code::DeadlineExceeded, Executed::Maybe),
            StatusCode::Internal => failed(Code::Internal, Executed::Maybe),
            StatusCode::AnswerTooLarge => failed(Code::TooLarge, Executed::Yes),
        }
    }

    fn failure(&self, call: &Invocation, code: Code, executed: Executed, what: &dyn std::fmt::Display) -> Failure {
        let message = format!("`{}`: {what}", self.name(call.ordinal));
        Failure::Final(RpcError::with_code(code, executed, message))
    }
}

/// Waits until the deadline for what most calls find done. Boxed, so that they have no room for it in their futures.
#[cold]
pub(super) fn rare_wait<F: Future>(deadline: Instant, wait: F) -> Pin<Box<Timeout<F>>> {
    Box::pin(timeout_at(deadline, wait))
}

/// Sends the request as soon as the connection takes it, and waits for the answer; [`Refusal::NoRoom`] if it is not taken in time.
async fn send(
    route: &Route,
    method: u32,
    call: &Invocation,
    mut now: Instant,
    deadline: Instant,
) -> Result<Settled, Refusal> {
    let (codec, metadata, body) = (call.codec.id(), &call.metadata, &call.body);
    loop {
        let time_left = deadline.saturating_duration_since(now);
        let outgoing = Outgoing::Request { method, codec, time_left, metadata, body };
        match route.connection.call(outgoing, deadline).await {
            Err(Refusal::NoRoom) if rare_wait(deadline, route.connection.room()).await.is_ok() => now = Instant::now(),
            result => return result,
        }
    }
}
