//! One run of a call: choose an instance, send, wait. An instance that cannot take the call is passed over for the next.

use std::cell::Cell;

use tokio::time::timeout_at;

use super::channel::Core;
use super::route::Cause;
use super::snapshot::Snapshot;
use crate::BoxFuture;
use crate::error::{Code, Executed, RpcError};
use crate::fault::{Reply, Run};
use crate::invocation::Invocation;
use crate::loadbalancer::PickContext;
use crate::protocol::message::Response;
use crate::report::Attempt;
use crate::status::{Status, StatusCode};
use crate::transport::lock;
use crate::transport::outgoing::{Outgoing, Refusal};
use crate::transport::pending::Answer;

/// How an instance's part in a run ended without a reply.
enum Failure {
    /// The instance cannot have seen the request: the run goes on.
    Passed(Cause),
    /// The run is over.
    Final(RpcError),
}

impl From<Cause> for Failure {
    fn from(cause: Cause) -> Self {
        Self::Passed(cause)
    }
}

impl Run for Core {
    fn run<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(self.run(call))
    }
}

impl Core {
    /// Makes one run. Each instance gets at most one chance.
    pub(super) async fn run(&self, call: &Invocation) -> Result<Reply, RpcError> {
        let snapshot = self.snapshot(call).await?;
        let mut passed = Vec::new();
        while let Some(position) = choose(snapshot, call, &passed) {
            let result = self.attempt(snapshot, position, call).await;
            let instance = || snapshot.endpoints[position].instance().id.clone();
            match result {
                Ok(reply) => {
                    if call.observed {
                        record(call, Attempt { instance: instance(), executed: Executed::Yes, error: None });
                    }
                    return Ok(reply);
                }
                Err(Failure::Final(error)) => {
                    let text = error.to_string();
                    record(call, Attempt { instance: instance(), executed: error.executed(), error: Some(text) });
                    return Err(error);
                }
                Err(Failure::Passed(cause)) => {
                    let text = cause.text.clone();
                    record(call, Attempt { instance: instance(), executed: Executed::No, error: Some(text) });
                    passed.push((position, cause));
                }
            }
        }
        Err(self.exhausted(snapshot, call, &passed))
    }

    async fn attempt(&self, snapshot: &Snapshot, position: usize, call: &Invocation) -> Result<Reply, Failure> {
        let link = &snapshot.links[position];
        let shape = &self.shapes[call.ordinal];
        let late = |executed, when| Failure::Final(self.late(call, executed, when));
        let route = match link.open_route() {
            Some(route) => route,
            None => match timeout_at(call.deadline, link.connect(self.service(), &self.shapes)).await {
                Ok(connected) => connected?,
                Err(_) => return Err(late(Executed::No, "while connecting")),
            },
        };
        let Some(method) = route.number(call.ordinal) else {
            return Err(match timeout_at(call.deadline, route.why_not(call.ordinal, shape)).await {
                Ok(cause) => cause.into(),
                Err(_) => late(Executed::No, "while the server was asked for its types"),
            });
        };
        let outgoing = Outgoing::Request { method, codec: call.codec.id(), metadata: &call.metadata, body: &call.body };
        let answer = loop {
            match route.connection.call(outgoing, call.deadline).await {
                Err(Refusal::NoRoom) if timeout_at(call.deadline, route.connection.room()).await.is_ok() => {}
                Err(Refusal::NoRoom) => return Err(late(Executed::No, "before the connection took the request")),
                answer => break answer,
            }
        };
        match answer {
            Ok(Answer::Response(Response::Ok(body))) => Ok(Reply { codec: call.codec, answer: Ok(body) }),
            Ok(Answer::Response(Response::Err(body))) => Ok(Reply { codec: call.codec, answer: Err(body) }),
            Ok(Answer::Response(Response::Status(status))) => Err(self.status(call, &status)),
            Ok(Answer::Expired) => Err(late(Executed::Maybe, "without an answer")),
            Ok(Answer::Lost(Executed::No)) => Err(Cause::from(Refusal::Lost).into()),
            Ok(Answer::Lost(executed)) => {
                let cause =
                    route.connection.lost().map_or_else(|| "it is not known why".to_owned(), ToString::to_string);
                let message =
                    format!("`{}`: the request was sent, then the connection ended: {cause}", self.name(call.ordinal));
                Err(Failure::Final(RpcError::with_code(Code::ConnectionLost, executed, message)))
            }
            Ok(Answer::Description(_)) => {
                let message =
                    format!("`{}`: the server answered a request with a description", self.name(call.ordinal));
                Err(Failure::Final(RpcError::with_code(Code::Internal, Executed::Maybe, message)))
            }
            Err(refusal @ Refusal::TooLarge { .. }) => {
                let message = format!("`{}`: {refusal}", self.name(call.ordinal));
                Err(Failure::Final(RpcError::with_code(Code::TooLarge, Executed::No, message)))
            }
            Err(refusal) => Err(Cause::from(refusal).into()),
        }
    }

    /// What a server's status means for the run.
    fn status(&self, call: &Invocation, status: &Status) -> Failure {
        let (code, executed) = match status.code() {
            StatusCode::Overloaded => return Cause { code: Code::Overloaded, text: status.message().into() }.into(),
            StatusCode::UnknownMethod => {
                return Cause { code: Code::MethodNotFound, text: status.message().into() }.into();
            }
            StatusCode::UnsupportedCodec => return Cause { code: Code::Codec, text: status.message().into() }.into(),
            StatusCode::BadRequest => (Code::BadRequest, Executed::No),
            StatusCode::DeadlineExceeded => (Code::DeadlineExceeded, Executed::Maybe),
            StatusCode::Internal => (Code::Internal, Executed::Maybe),
            StatusCode::AnswerTooLarge => (Code::TooLarge, Executed::Yes),
        };
        Failure::Final(RpcError::with_code(
            code,
            executed,
            format!("`{}`: {}", self.name(call.ordinal), status.message()),
        ))
    }

    /// The error of a run that found no instance: each with its cause, and the cause's code if all share it.
    fn exhausted(&self, snapshot: &Snapshot, call: &Invocation, passed: &[(usize, Cause)]) -> RpcError {
        let name = self.name(call.ordinal);
        let causes: Vec<(&str, Cause)> = (0..snapshot.endpoints.len())
            .filter_map(|position| {
                let known = passed.iter().find(|(at, _)| *at == position).map(|(_, cause)| cause.clone());
                let cause = known.or_else(|| snapshot.links[position].admits(call.ordinal).err())?;
                Some((snapshot.endpoints[position].instance().id.as_str(), cause))
            })
            .collect();
        let Some(((_, first), others)) = causes.split_first() else {
            let message = format!(
                "`{name}`: registry `{}` knows no instance of service `{}`",
                self.shared.registry,
                call.service()
            );
            return RpcError::with_code(Code::Unavailable, Executed::No, message);
        };
        let shared = others.iter().all(|(_, cause)| cause.code == first.code);
        let code = if shared { first.code } else { Code::Unavailable };
        let causes: Vec<_> = causes.iter().map(|(instance, cause)| format!("{instance}: {}", cause.text)).collect();
        let message = format!("`{name}`: no instance can take the call ({})", causes.join("; "));
        RpcError::with_code(code, Executed::No, message)
    }
}

/// The position of an instance that was not passed over yet and admits the call; those that could not be connected to just now only
/// if no other is left.
fn choose(snapshot: &Snapshot, call: &Invocation, passed: &[(usize, Cause)]) -> Option<usize> {
    let is_new = |position: usize| passed.iter().all(|(at, _)| *at != position);
    let admits = |position: usize| is_new(position) && snapshot.links[position].admits(call.ordinal).is_ok();
    let tries = |position: usize| is_new(position) && snapshot.links[position].is_worth_a_try();
    pick(snapshot, call, &admits).or_else(|| pick(snapshot, call, &tries))
}

/// Asks the picker, and looks for itself if the picker's answer is not admitted.
fn pick(snapshot: &Snapshot, call: &Invocation, admits: &dyn Fn(usize) -> bool) -> Option<usize> {
    let count = snapshot.endpoints.len();
    // A picker returns what it was last told is admitted; only one that does not costs a second look.
    let admitted = Cell::new(None);
    let asks = |position: usize| {
        let admits = admits(position);
        admitted.set(admits.then_some(position));
        admits
    };
    let picked = snapshot.picker.pick(&PickContext::new(call.key.as_deref(), &asks));
    picked
        .filter(|position| *position < count && (admitted.get() == picked || admits(*position)))
        .or_else(|| (0..count).find(|position| admits(*position)))
}

fn record(call: &Invocation, attempt: Attempt) {
    lock(&call.attempts).push(attempt);
}
