//! A server's connection: requests in, answers out, in any order.
//!
//! One task drives it. It decodes all that one read brought, polls each handler once in place, and writes the answers of those that
//! were ready together; a handler that has to wait becomes a task of its own.

mod request;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::Shared as Server;
use super::greeting::{Greeted, HELLO_WITHIN, greet};
use super::handlers::Handlers;
use super::pace::LONG_POLL;
use crate::context::Ends;
use crate::protocol::Malformed;
use crate::protocol::frame::{Frame, FrameError, Header, Kind};
use crate::protocol::message::Response;
use crate::status::{Status, StatusCode};
use crate::transport::input::Input;
use crate::transport::output::Output;
use crate::transport::{Io, TICK};

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
    /// When the last request or cancel was done with, or the connection had to wait: what comes next begins then.
    now: Instant,
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
    let Greeted { output, input, peer, client_max_frame } = greeted;
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
        error = this.output.run(|_| None) => Ended::Io(error),
        ended = this.read(input) => ended,
    }
}

impl Connection {
    async fn read(self: &Arc<Self>, mut input: Input) -> Ended {
        let mut batch =
            Batch { read_at: self.opened, now: self.opened, signed_at: self.opened, in_place: true, unread_replies: 0 };
        loop {
            loop {
                match input.next() {
                    Ok(Some(frame)) => {
                        // Handlers bound their answers themselves; what this task replies by itself is bounded here.
                        if batch.unread_replies >= MAX_UNREAD_REPLIES || frame.header.kind == Kind::Describe {
                            self.output.wake();
                            self.output.room().await;
                            (batch.now, batch.unread_replies) = (Instant::now(), 0);
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
            if input.has_begun() && batch.read_at >= batch.signed_at + SIGN_EVERY && self.output.has_room() {
                batch.signed_at = batch.read_at;
                self.push(Header::plain(Kind::Pong, 0), &[]);
            }
            self.output.flush_now();
            match input.read().await {
                Ok(0) => return Ended::Closed,
                Ok(_) => {
                    batch.read_at = Instant::now();
                    (batch.now, batch.in_place) = (batch.read_at, true);
                    self.last_read.store(self.nanos(batch.read_at), Ordering::Relaxed);
                }
                Err(error) => return Ended::Io(error),
            }
        }
    }

    fn take(self: &Arc<Self>, frame: Frame, batch: &mut Batch) -> Result<(), Ended> {
        let Frame { header, payload } = frame;
        match header.kind {
            Kind::Request => {
                let polled = self.request(header, payload, batch)?;
                let begun = std::mem::replace(&mut batch.now, Instant::now());
                if let Some(entry) = polled {
                    entry.pace.note(batch.now - begun);
                    // These handlers compute: the rest of what was read gets tasks, and so all threads, and what is answered leaves now.
                    if batch.now - batch.read_at >= LONG_POLL {
                        batch.in_place = false;
                        self.output.flush_now();
                    }
                }
            }
            Kind::Cancel => {
                self.handlers.cancel(header.id);
                batch.now = Instant::now();
            }
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
