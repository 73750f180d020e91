//! A server's connection: requests in, answers out, in any order.
//!
//! One task drives it. It decodes all that one read brought, polls each handler once in place, and writes the answers of those that
//! were ready together; a handler that has to wait becomes a task of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::codec::Decoder;

use super::greeting::{Greeted, HELLO_WITHIN, greet};
use super::handlers::Handlers;
use super::pace::LONG_POLL;
use super::panics::{catch, poll};
use super::run::run;
use super::table::Entry;
use super::{Handling, Request, Shared as Server};
use crate::body::Body;
use crate::context::{Context, Ends};
use crate::options::{DEFAULT_TIMEOUT, LONGEST_TIMEOUT};
use crate::protocol::Malformed;
use crate::protocol::codec::Codec;
use crate::protocol::frame::{Frame, FrameDecoder, FrameError, Header, Kind};
use crate::protocol::message::{self, RequestHead, Response};
use crate::status::{Status, StatusCode};
use crate::transport::output::Output;
use crate::transport::read::read;
use crate::transport::{Io, Reader, TICK};

/// A connection from which nothing was read for this long is dead: clients ping every 10 s.
const SILENT_AFTER: Duration = Duration::from_secs(30);
/// While a long request arrives, the client gets a sign of life this often.
const SIGN_EVERY: Duration = Duration::from_millis(500);
/// Replies of the connection's own, to requests that no handler gets, that may wait for a client that does not read.
const MAX_UNREAD_REPLIES: usize = 1_000;
/// A client that was sent away and says nothing for this long will not echo: a stopped process, or a host that is gone.
pub(super) const ECHO_WITHIN: Duration = Duration::from_secs(2);
/// How long a client may take to close a connection that was drained.
pub(super) const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ended {
    #[error("the client closed the connection")]
    Closed,
    #[error("drained")]
    Drained,
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("no complete hello within {} s", HELLO_WITHIN.as_secs())]
    NoHelloInTime,
    #[error("the client began with a {0:?} frame instead of a hello")]
    NoHello(Kind),
    #[error("no common protocol version: the client speaks {lowest} to {highest}, this server {ours}", ours = crate::protocol::frame::VERSION)]
    NoCommonVersion { lowest: u8, highest: u8 },
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("the client sent a {0:?} frame")]
    Unexpected(Kind),
    #[error("the client used the id {0} for two requests at a time")]
    DuplicateId(u64),
    #[error("nothing was read for {} s", SILENT_AFTER.as_secs())]
    Silent,
}

struct Connection {
    server: Arc<Server>,
    output: Output,
    handlers: Handlers,
    ends: Arc<Ends>,
    /// The longest payload that the client accepts.
    client_max_frame: u32,
    opened: Instant,
    /// When something was last read, in nanoseconds since `opened`.
    last_read: AtomicU64,
    wants_sweep: Notify,
    /// The client has echoed go-away: no request follows.
    echoed: AtomicBool,
    /// The echo came, or a handler is gone.
    quieter: Notify,
}

/// What one read brought.
struct Batch {
    read_at: Instant,
    /// When the client was last given a sign of life that it did not ask for.
    signed_at: Instant,
    /// Whether handlers are polled in place first: until they have together taken as long as a long poll.
    in_place: bool,
    /// Replies of the connection's own since the output last had room.
    unread_replies: usize,
}

/// Serves one client until the connection ends.
pub(super) async fn serve(io: Io, server: Arc<Server>) {
    let peer = io.peer;
    let ended = match greet(io, &server).await {
        Ok(greeted) => drive(greeted, server).await,
        Err(ended) => ended,
    };
    let peer = peer.map(tracing::field::display);
    match ended {
        Ended::Closed | Ended::Drained | Ended::Io(_) => tracing::debug!(peer, cause = %ended, "connection ended"),
        _ => tracing::warn!(peer, cause = %ended, "connection ended"),
    }
}

async fn drive(greeted: Greeted, server: Arc<Server>) -> Ended {
    let Greeted { output, reader, decoder, buffer, peer, client_max_frame } = greeted;
    let connection = Arc::new(Connection {
        ends: Arc::new(Ends { instance: server.instance.clone(), peer }),
        server,
        output,
        handlers: Handlers::default(),
        client_max_frame,
        opened: Instant::now(),
        last_read: AtomicU64::new(0),
        wants_sweep: Notify::new(),
        echoed: AtomicBool::new(false),
        quieter: Notify::new(),
    });
    connection.server.serving.fetch_add(1, Ordering::Relaxed);
    // Whatever ends this task, and be it that the server is dropped, ends the handlers.
    let guard = EndGuard(connection);
    let this = &guard.0;
    tokio::select! {
        // Reading last: a client that never stops sending would else keep the others from their turn.
        biased;
        ended = this.sweep() => ended,
        ended = this.drain() => ended,
        error = this.output.run() => Ended::Io(error),
        ended = this.read(reader, decoder, buffer) => ended,
    }
}

impl Connection {
    async fn read(self: &Arc<Self>, mut reader: Reader, mut decoder: FrameDecoder, mut buffer: BytesMut) -> Ended {
        let mut batch = Batch { read_at: self.opened, signed_at: self.opened, in_place: true, unread_replies: 0 };
        loop {
            loop {
                match decoder.decode(&mut buffer) {
                    Ok(Some(frame)) => {
                        // Handlers bound their answers themselves; what this task replies by itself is bounded here.
                        if batch.unread_replies >= MAX_UNREAD_REPLIES || frame.header.kind == Kind::Describe {
                            self.output.wake();
                            self.output.room().await;
                            batch.unread_replies = 0;
                        }
                        if let Err(ended) = self.take(frame, &mut batch) {
                            return ended;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => return error.into(),
                }
            }
            // A long request on a slow line: the client's ping stands behind it, so that it gets no pong for what it asks.
            if !buffer.is_empty() && batch.read_at >= batch.signed_at + SIGN_EVERY && self.output.has_room() {
                batch.signed_at = batch.read_at;
                self.push(Header::plain(Kind::Pong, 0), &[]);
            }
            self.output.flush_now();
            match read(&mut reader, &mut buffer, decoder.missing()).await {
                Ok(0) => return Ended::Closed,
                Ok(_) => {
                    (batch.read_at, batch.in_place) = (Instant::now(), true);
                    self.last_read.store(self.nanos(batch.read_at), Ordering::Relaxed);
                }
                Err(error) => return Ended::Io(error),
            }
        }
    }

    fn take(self: &Arc<Self>, frame: Frame, batch: &mut Batch) -> Result<(), Ended> {
        let Frame { header, payload } = frame;
        match header.kind {
            Kind::Request => self.request(header, payload, batch)?,
            Kind::Cancel => self.handlers.cancel(header.id),
            Kind::Describe => self.describe(header.id, payload)?,
            // A client to which much is under way sees from that that we live.
            Kind::Ping if self.output.has_room() => self.push(Header::plain(Kind::Pong, header.id), &[]),
            Kind::Ping | Kind::Pong => {}
            Kind::GoAwayEcho if self.server.leaving.is_cancelled() => {
                self.echoed.store(true, Ordering::Release);
                self.quieter.notify_one();
            }
            kind @ (Kind::Hello | Kind::Response | Kind::GoAway | Kind::GoAwayEcho) => {
                return Err(Ended::Unexpected(kind));
            }
        }
        Ok(())
    }

    fn request(self: &Arc<Self>, header: Header, payload: Bytes, batch: &mut Batch) -> Result<(), Ended> {
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
        let begun = Instant::now();
        let (entry, known_codec) = match self.admit(&head, codec, in_flight, deadline - begun) {
            Ok(admitted) => admitted,
            Err(status) => {
                reply(batch, Response::Status(status));
                return Ok(());
            }
        };
        let context = Context { deadline, connection: Arc::clone(&self.ends), metadata: head.metadata };
        let request = Request { codec: known_codec, body: &body, context };
        let mut handling = match catch(entry, || entry.dispatcher.dispatch(entry.ordinal, request)) {
            Ok(handling) => handling,
            Err(answer) => {
                reply(batch, answer.0);
                return Ok(());
            }
        };
        if !batch.in_place || !has_room || entry.pace.is_slow() {
            self.spawn(id, codec, deadline, head.method, handling);
            return Ok(());
        }
        // The first poll needs no waker: a handler that waits is polled again as soon as its task begins.
        match poll(entry, &mut handling, &mut TaskContext::from_waker(Waker::noop())) {
            Poll::Ready(answer) => self.answer(id, codec, answer.0),
            Poll::Pending => self.spawn(id, codec, deadline, head.method, handling),
        }
        let polled = Instant::now();
        entry.pace.note(polled - begun);
        // These handlers compute: the rest of what was read gets tasks, and so all threads, and what is answered leaves now.
        if polled - batch.read_at >= LONG_POLL {
            batch.in_place = false;
            self.output.flush_now();
        }
        Ok(())
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
    fn answer(&self, id: u64, codec: u8, response: Response<Body>) {
        self.respond(Header { codec, ..Header::plain(Kind::Response, id) }, response);
    }

    fn describe(&self, id: u64, question: Bytes) -> Result<(), Ended> {
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

    fn push(&self, header: Header, payload: &[Bytes]) {
        self.output.lock().push(header, payload);
    }

    /// Drops handlers at their deadlines, in steps of [`TICK`] at least, and watches that the client is alive.
    async fn sweep(&self) -> Ended {
        let mut expired = Vec::new();
        // A client that takes what we send is alive, be it too busy with that to say so.
        let (mut accepted, mut was_idle, mut last_sign) = (0, true, self.opened);
        let mut next = self.opened + SILENT_AFTER;
        loop {
            tokio::select! {
                () = self.wants_sweep.notified() => {}
                () = tokio::time::sleep_until(next) => {}
            }
            let now = Instant::now();
            let earliest = self.handlers.sweep(now, &mut expired);
            for (id, codec) in expired.drain(..) {
                let status = Status::new(StatusCode::DeadlineExceeded, "the time that was given to it was over");
                // A client that does not read ends the call by itself.
                if self.output.has_room() {
                    self.answer(id, codec, Response::Status(status));
                    self.output.wake();
                }
            }
            let (accepted_now, is_idle) = self.output.progress();
            if accepted_now != accepted && !(was_idle && is_idle) {
                last_sign = now;
            }
            (accepted, was_idle) = (accepted_now, is_idle);
            let silent_at = last_sign.max(self.last_read()) + SILENT_AFTER;
            let is_leaving = self.server.leaving.is_cancelled();
            if now >= silent_at && !is_leaving {
                return Ended::Silent;
            }
            let look_at = if is_leaving { now + SILENT_AFTER } else { silent_at };
            next = earliest.map_or(look_at, |earliest| earliest.min(look_at)).max(now + TICK);
        }
    }

    /// When the server leaves: sends the client away, and ends once everything it asked for is answered.
    async fn drain(&self) -> Ended {
        self.server.leaving.cancelled().await;
        self.push(Header::plain(Kind::GoAway, 0), &[]);
        self.output.wake();
        self.quiet(Instant::now()).await;
        if let Err(error) = self.output.shutdown().await {
            return Ended::Io(error);
        }
        // A plain close while bytes of the client are unread would reset the connection, and lose answers.
        tokio::time::sleep(CLOSE_WITHIN).await;
        Ended::Drained
    }

    /// Waits until no handler lives, and none will: the client has echoed, or it neither echoes nor says anything else.
    async fn quiet(&self, sent: Instant) {
        loop {
            let patience = self.last_read().max(sent) + ECHO_WITHIN;
            let echoed = self.echoed.load(Ordering::Acquire);
            match self.handlers.alive() {
                0 if echoed || Instant::now() >= patience => return,
                0 => tokio::select! {
                    () = self.quieter.notified() => {}
                    () = tokio::time::sleep_until(patience) => {}
                },
                _ => self.quieter.notified().await,
            }
        }
    }

    fn last_read(&self) -> Instant {
        self.opened + Duration::from_nanos(self.last_read.load(Ordering::Relaxed))
    }

    fn nanos(&self, at: Instant) -> u64 {
        at.duration_since(self.opened).as_nanos() as u64
    }
}

struct EndGuard(Arc<Connection>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.server.serving.fetch_sub(1, Ordering::Relaxed);
        self.0.output.close();
        self.0.handlers.cancel_all();
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
