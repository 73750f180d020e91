//! A request on its way: from what was read to an answer, or to a task that will give one.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::{Batch, Connection, Ended};
use crate::body::Body;
use crate::context::Context;
use crate::options::{DEFAULT_TIMEOUT, LONGEST_TIMEOUT};
use crate::protocol::codec::Codec;
use crate::protocol::frame::{Header, Kind};
use crate::protocol::message::{self, RequestHead, Response};
use crate::server::panics::{catch, poll};
use crate::server::run::run;
use crate::server::table::Entry;
use crate::server::{Handling, Request};
use crate::status::{Status, StatusCode};

impl Connection {
    /// Answers a request, or begins to. The method whose handler was polled in place is returned.
    pub(super) fn request(
        self: &Arc<Self>,
        header: Header,
        payload: Bytes,
        batch: &mut Batch,
    ) -> Result<Option<&Entry>, Ended> {
        let Header { id, codec, flags, .. } = header;
        let (head, body) = RequestHead::decode(flags, payload)?;
        let Some(in_flight) = self.handlers.beside(id) else {
            return Err(Ended::DuplicateId(id));
        };
        let has_room = self.output.has_room();
        let reply = |batch: &mut Batch, response| {
            batch.unread_replies = if has_room { 0 } else { batch.unread_replies + 1 };
            self.answer(id, codec, response);
        };
        // From when it was read: what was taken before it may have used up its time.
        let deadline = batch.read_at + head.time_left.unwrap_or(DEFAULT_TIMEOUT).min(LONGEST_TIMEOUT);
        let (entry, known_codec) = match self.admit(&head, codec, in_flight, deadline - batch.now) {
            Ok(admitted) => admitted,
            Err(status) => {
                reply(batch, Response::Status(status));
                return Ok(None);
            }
        };
        let context = Context { deadline, connection: Arc::clone(&self.ends), metadata: head.metadata };
        let request = Request { codec: known_codec, body: &body, context };
        let mut handling = match catch(entry, || entry.dispatcher.dispatch(entry.ordinal, request)) {
            Ok(handling) => handling,
            Err(answer) => {
                reply(batch, answer.0);
                return Ok(None);
            }
        };
        if !batch.in_place || !has_room || entry.pace.is_slow() {
            self.spawn(id, codec, deadline, head.method, handling);
            return Ok(None);
        }
        // The first poll needs no waker: a handler that waits is polled again as soon as its task begins.
        match poll(entry, &mut handling, &mut TaskContext::from_waker(Waker::noop())) {
            Poll::Ready(answer) => self.answer(id, codec, answer.0),
            Poll::Pending => self.spawn(id, codec, deadline, head.method, handling),
        }
        Ok(Some(entry))
    }

    /// The method and codec of a request that may run; else why not.
    fn admit(
        &self,
        head: &RequestHead,
        codec: u8,
        in_flight: usize,
        time_left: Duration,
    ) -> Result<(&Entry, Codec), Status> {
        let Some(entry) = self.server.table.get(head.method) else {
            return Err(unknown_method(head.method));
        };
        let Some(codec) = Codec::from_id(codec) else {
            let known = format!("{} (bincode), {} (json)", Codec::Bincode.id(), Codec::Json.id());
            let message = format!("codec {codec} is not known; known: {known}");
            return Err(Status::new(StatusCode::UnsupportedCodec, message));
        };
        let limit = self.server.max_in_flight;
        if in_flight >= limit as usize {
            return Err(Status::new(StatusCode::Overloaded, format!("{limit} calls of this connection are in flight")));
        }
        // A client counts a call no more once it is answered or cancelled, when its handler may not be gone yet. As many again may be on
        // their way out, so that cancelling at once what was asked makes no endless number of handlers.
        if self.handlers.alive() >= (limit as usize).saturating_mul(2) {
            let message = format!("{limit} cancelled calls of this connection have handlers that are not gone yet");
            return Err(Status::new(StatusCode::Overloaded, message));
        }
        if time_left.is_zero() {
            return Err(Status::new(StatusCode::DeadlineExceeded, "no time was left"));
        }
        Ok((entry, codec))
    }

    fn spawn(self: &Arc<Self>, id: u64, codec: u8, deadline: Instant, method: u32, handling: Handling) {
        let work = Work { handling, _alive: Alive::new(Arc::clone(self)) };
        let wants_sweep = self.handlers.begin(id, deadline, codec, || {
            let connection = Arc::clone(self);
            tokio::spawn(connection.finish(id, codec, deadline, method, work)).abort_handle()
        });
        if wants_sweep {
            self.wants_sweep.notify_one();
        }
    }

    /// The rest of a handler that has to wait, as a task.
    async fn finish(self: Arc<Self>, id: u64, codec: u8, deadline: Instant, method: u32, mut work: Work) {
        let Some(entry) = self.server.table.get(method) else { return };
        let (answer, computes) = run(&self.server, entry, deadline, &mut work.handling).await;
        self.output.room().await;
        if self.handlers.finish(id) {
            self.answer(id, codec, answer.0);
            // Behind handlers that compute, the connection's own task may be a long time coming.
            if computes || self.handlers.alive() == 1 {
                self.output.flush_now();
            } else {
                self.output.wake();
            }
        }
        // Only now is the place given up: a connection that drains waits for the answer to be queued.
        drop(work);
    }

    /// Queues an answer, or why it cannot be sent.
    pub(super) fn answer(&self, id: u64, codec: u8, response: Response<Body>) {
        self.respond(Header { codec, ..Header::plain(Kind::Response, id) }, response);
    }

    pub(super) fn describe(&self, id: u64, question: Bytes) -> Result<(), Ended> {
        let method = message::decode_question(question)?;
        let response = match self.server.table.get(method) {
            Some(entry) => Response::Ok(entry.description.encode().into()),
            None => Response::Status(unknown_method(method)),
        };
        self.respond(Header::plain(Kind::Describe, id), response);
        Ok(())
    }

    fn respond(&self, header: Header, response: Response<Body>) {
        let (mut flags, mut payload) = response.encode();
        if payload.len() > self.client_max_frame as usize {
            let (length, limit) = (payload.len(), self.client_max_frame);
            let message = format!("the answer has {length} bytes, the client accepts at most {limit} in a frame");
            (flags, payload) = Response::Status(Status::new(StatusCode::AnswerTooLarge, message)).encode();
        }
        self.push(Header { flags, ..header }, payload.pieces());
    }

    pub(super) fn push(&self, header: Header, payload: &[Bytes]) {
        self.output.lock().push(header, payload);
    }
}

/// A handler and its place among those that live; the place is given up when the handler is gone.
struct Work {
    handling: Handling,
    _alive: Alive,
}

struct Alive(Arc<Connection>);

impl Alive {
    fn new(connection: Arc<Connection>) -> Self {
        connection.handlers.born();
        connection.server.handlers.fetch_add(1, Ordering::Relaxed);
        Self(connection)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.handlers.gone();
        self.0.server.handlers.fetch_sub(1, Ordering::Relaxed);
        self.0.quieter.notify_one();
    }
}

fn unknown_method(number: u32) -> Status {
    Status::new(StatusCode::UnknownMethod, format!("this port has no method number {number}"))
}
