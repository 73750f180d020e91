//! A client's connection: many calls in flight on one stream.
//!
//! One task drives it: it reads and hands out answers, flushes the [`Output`], sweeps deadlines and watches that the peer is alive. Callers
//! queue their frames themselves and wait in [`Pending`].

mod call;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use self::call::Call;
use super::greeting::{Greeted, OpenError, greet};
use super::input::Input;
use super::liveness::{Liveness, PONG_WITHIN, Verdict};
use super::outgoing::{Outgoing, Refusal};
use super::output::Output;
use super::pending::{Pending, Settled};
use super::{Io, TICK};
use crate::protocol::Malformed;
use crate::protocol::codec::Codec;
use crate::protocol::frame::{Frame, FrameError, Header, Kind};
use crate::protocol::hello::Welcome;
use crate::protocol::message::{self, Description, Response};

const OPEN: u8 = 0;
const LEAVING: u8 = 1;
const CLOSED: u8 = 2;

/// After so many bytes, callers have their turn: answers that are not taken pile up, and leave the cache before they are.
const READ_PER_TURN: usize = 256 * 1024;

/// A connection that is open, or was.
#[derive(Debug)]
pub(crate) struct Connection {
    shared: Arc<Shared>,
    _driver: AbortOnDropHandle<()>,
}

#[derive(Debug)]
struct Shared {
    output: Output,
    pending: Pending,
    welcome: Welcome,
    /// Changes under the output's lock only, so that it fits what is queued.
    phase: AtomicU8,
    /// The server has said that it leaves; stays so when the connection ends.
    has_left: AtomicBool,
    lost: OnceLock<LostCause>,
    wants_sweep: Notify,
    /// See [`least_batch`](call::least_batch).
    least_batch: AtomicUsize,
    opened: Instant,
    /// When something was last read, in nanoseconds since `opened`.
    last_read: AtomicU64,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LostCause {
    #[error("the server closed the connection")]
    Closed,
    #[error(transparent)]
    Io(std::io::Error),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("the server sent a {0:?} frame")]
    Unexpected(Kind),
    #[error("the server is silent: no answer to a ping within {} s", PONG_WITHIN.as_secs())]
    Silent,
    #[error("the task that drives the connection was dropped")]
    Dropped,
}

impl Connection {
    /// Exchanges hellos and begins to drive the connection. The caller bounds the time.
    pub(crate) async fn open(io: Io, max_frame: u32) -> Result<Self, OpenError> {
        let Greeted { output, input, welcome } = greet(io, max_frame).await?;
        let shared = Arc::new(Shared {
            output,
            pending: Pending::default(),
            welcome,
            phase: AtomicU8::new(OPEN),
            has_left: AtomicBool::new(false),
            lost: OnceLock::new(),
            wants_sweep: Notify::new(),
            least_batch: AtomicUsize::new(call::least_batch(&input)),
            opened: Instant::now(),
            last_read: AtomicU64::new(0),
        });
        let driver = tokio::spawn(Arc::clone(&shared).drive(input));
        Ok(Self { shared, _driver: AbortOnDropHandle::new(driver) })
    }

    /// What the server said of itself.
    pub(crate) fn welcome(&self) -> &Welcome {
        &self.shared.welcome
    }

    /// Whether a call may be sent: neither leaving nor lost, and below the server's limit.
    pub(crate) fn admits(&self) -> Result<(), Refusal> {
        match self.shared.phase.load(Ordering::Relaxed) {
            LEAVING => Err(Refusal::Leaving),
            CLOSED => Err(Refusal::Lost),
            _ if self.shared.is_full() => Err(Refusal::Full(self.welcome().max_in_flight)),
            _ => Ok(()),
        }
    }

    /// Whether new calls need another connection.
    pub(crate) fn is_spent(&self) -> bool {
        self.shared.phase.load(Ordering::Relaxed) != OPEN
    }

    /// Whether the server has said that it leaves, be the connection still open or not.
    pub(crate) fn has_left(&self) -> bool {
        self.shared.has_left.load(Ordering::Relaxed)
    }

    /// Why the connection ended, if it did.
    pub(crate) fn lost(&self) -> Option<&LostCause> {
        self.shared.lost.get()
    }

    /// Sends `outgoing` and waits for what ends the wait, `deadline` at the latest. Dropping it sends a cancel.
    pub(crate) fn call<'a>(&'a self, outgoing: Outgoing<'a>, deadline: Instant) -> Call<'a> {
        Call::new(&self.shared, outgoing, deadline)
    }

    /// The calls that wait for an answer.
    #[cfg(test)]
    pub(crate) fn pending(&self) -> &Pending {
        &self.shared.pending
    }

    /// Waits until the output takes another frame. Cancel safe.
    pub(crate) async fn room(&self) {
        self.shared.output.room().await;
    }
}

impl Shared {
    fn is_full(&self) -> bool {
        self.pending.len() >= self.welcome.max_in_flight as usize
    }

    async fn drive(self: Arc<Self>, input: Input) {
        // The runtime may drop this task at any await: the waiting calls must hear of it.
        let guard = EndGuard(&self);
        let cause = tokio::select! {
            // Reading last: a peer that never stops sending would else keep the others from their turn.
            biased;
            cause = self.sweep() => cause,
            error = self.output.run(|queued| self.expected(queued)) => LostCause::Io(error),
            cause = self.read(input) => cause,
        };
        guard.0.end(cause);
    }

    /// Ends the connection, once, and every wait on it.
    fn end(&self, cause: LostCause) {
        let phase = {
            let _queue = self.output.lock();
            self.phase.swap(CLOSED, Ordering::Relaxed)
        };
        let (instance, late) = (&self.welcome.instance, self.pending.late());
        match &cause {
            LostCause::Dropped => tracing::debug!(instance, late_answers = late, "connection given up"),
            LostCause::Closed if phase == LEAVING => tracing::debug!(instance, late_answers = late, "the server left"),
            _ => tracing::warn!(instance, late_answers = late, %cause, "connection lost"),
        }
        // Before the waits end, so that whoever wakes finds the cause.
        let _ = self.lost.set(cause);
        self.pending.fail_all(self.output.close());
    }

    async fn read(&self, mut input: Input) -> LostCause {
        let mut batch = Batch::default();
        let mut in_turn = 0;
        loop {
            let taken = loop {
                match input.next() {
                    Ok(Some(frame)) => match self.take(frame, &mut batch) {
                        Ok(()) => {}
                        Err(cause) => break Err(cause),
                    },
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error.into()),
                }
            };
            // Answers that precede a bad frame are still answers.
            self.pending.complete(&mut batch.answers, &mut batch.wakers);
            batch.wakers.drain(..).for_each(Waker::wake);
            if let Err(cause) = taken {
                return cause;
            }
            if in_turn >= READ_PER_TURN {
                in_turn = 0;
                tokio::task::yield_now().await;
            }
            match input.read().await {
                Ok(0) => return LostCause::Closed,
                Ok(length) => {
                    in_turn += length;
                    // Callers read it all the time, so it is written only when it changes.
                    let least_batch = call::least_batch(&input);
                    if self.least_batch.load(Ordering::Relaxed) != least_batch {
                        self.least_batch.store(least_batch, Ordering::Relaxed);
                    }
                    self.last_read.store(self.nanos(Instant::now()), Ordering::Relaxed);
                }
                Err(error) => return LostCause::Io(error),
            }
        }
    }

    fn take(&self, frame: Frame, batch: &mut Batch) -> Result<(), LostCause> {
        let Frame { header: Header { kind, flags, codec, id }, payload } = frame;
        match kind {
            Kind::Response => {
                let codec = match Codec::from_id(codec) {
                    Some(codec) => codec,
                    None if flags == message::STATUS => Codec::default(),
                    None => return Err(Malformed("a response in an unknown codec").into()),
                };
                batch.answers.push((id, Settled::Response(codec, Response::decode(flags, payload)?)));
            }
            Kind::Describe => {
                let description = match Response::decode(flags, payload)? {
                    Response::Status(status) => Err(status),
                    Response::Ok(texts) | Response::Err(texts) => Ok(Description::decode(texts)?),
                };
                batch.answers.push((id, Settled::Description(description)));
            }
            // A peer that floods us with pings but reads no pongs gets none.
            Kind::Ping if self.output.has_room() => self.output.send(Header::plain(Kind::Pong, id)),
            Kind::Ping | Kind::Pong => {}
            Kind::GoAway => self.leave(),
            Kind::Hello | Kind::Request | Kind::Cancel | Kind::GoAwayEcho => return Err(LostCause::Unexpected(kind)),
        }
        Ok(())
    }

    /// Takes no further call. Under the output's lock, so that every request is queued either before the echo or not at all.
    fn leave(&self) {
        let mut queue = self.output.lock();
        if self.phase.load(Ordering::Relaxed) == OPEN {
            self.phase.store(LEAVING, Ordering::Relaxed);
            self.has_left.store(true, Ordering::Relaxed);
            queue.push(Header::plain(Kind::GoAwayEcho, 0), &[]);
            queue.wake();
        }
    }

    /// Ends calls at their deadlines, in steps of [`TICK`] at least, and watches that the peer is alive.
    async fn sweep(&self) -> LostCause {
        let mut batch = Batch::default();
        let mut liveness = Liveness::new(self.opened);
        let mut next = liveness.next(None);
        let mut reprieved = false;
        loop {
            tokio::select! {
                () = self.wants_sweep.notified() => {}
                () = tokio::time::sleep_until(next) => {}
            }
            let now = Instant::now();
            let earliest = self.pending.sweep(now, &mut batch.expired, &mut batch.wakers);
            let is_busy = earliest.is_some() || !batch.expired.is_empty();
            self.cancel(&batch.expired);
            batch.expired.clear();
            batch.wakers.drain(..).for_each(Waker::wake);
            // After the echo, the protocol allows no pings; the server ends the connection by itself.
            if self.phase.load(Ordering::Relaxed) != OPEN {
                liveness = Liveness::new(now);
            }
            match liveness.check(now, self.last_read(), self.output.progress().0, is_busy) {
                Verdict::Alive => {}
                Verdict::WantsPing => {
                    self.output.send(Header::plain(Kind::Ping, 0));
                    liveness.pinged(now, self.output.lock().end());
                }
                Verdict::Dead if std::mem::replace(&mut reprieved, true) => return LostCause::Silent,
                Verdict::Dead => {
                    // The pong may lie in the socket: this process, not the peer, may have stood still. Reading comes next.
                    next = now + TICK;
                    continue;
                }
            }
            reprieved = false;
            next = liveness.next(earliest).max(now + TICK);
        }
    }

    fn last_read(&self) -> Instant {
        self.opened + Duration::from_nanos(self.last_read.load(Ordering::Relaxed))
    }

    fn nanos(&self, at: Instant) -> u64 {
        at.duration_since(self.opened).as_nanos() as u64
    }
}

/// Ends the connection if its task is dropped before it did.
struct EndGuard<'a>(&'a Shared);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        if self.0.lost.get().is_none() {
            self.0.end(LostCause::Dropped);
        }
    }
}

/// Lists that are filled and emptied again and again.
#[derive(Default)]
struct Batch {
    answers: Vec<(u64, Settled)>,
    expired: Vec<u64>,
    wakers: Vec<Waker>,
}
