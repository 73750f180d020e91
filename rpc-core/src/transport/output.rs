//! The writing side of a connection: one shared buffer, written by whoever is at hand.
//!
//! ```text
//!  callers, handlers --push--> queue --take--> sink --poll_write--> socket
//!                              |<---- bytes queued ---->|<- accepted ->|
//! ```
//!
//! Frames are copied into the queue under a short lock, all but long pieces of their bodies, which are written from where they are. The
//! queue is written as a whole by the *flusher*, a part of the connection's task. A woken flusher first lets the tasks that are ready
//! run, so that their frames share its system call, and waits a little for more that it is told of. Who pushes the only frame at hand, or
//! the last of as many as should leave together, writes in place instead ([`Output::flush_now`]): no task switch for a lone call.
//!
//! The count of bytes that the socket accepted tells for every frame whether the peer can have seen all of it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWrite;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Writer;
use super::sink::{Segment, Sink};
use crate::body::SHARED_FROM;
use crate::lock::lock;
use crate::protocol::frame::{HEADER, Header};

/// Senders wait while more than this is queued.
const ROOM: u64 = 1024 * 1024;

/// How often the flusher lets others run once more while frames are expected. Who has not come by then is busy with something else.
const MAX_TURNS: usize = 8;

/// No further turn is given so long after the flusher was woken: where others compute, each turn may take much longer.
const MAX_HOLD: Duration = Duration::from_micros(100);

/// The writing side of a connection.
pub(crate) struct Output {
    state: Mutex<State>,
    flush: Notify,
    room: Notify,
}

struct State {
    queue: VecDeque<Segment>,
    /// An empty buffer, kept for the next segment.
    spare: Vec<u8>,
    /// The writer and what it is writing; away while somebody writes.
    sink: Option<Sink>,
    /// Frames queued since the queue was last taken.
    frames: usize,
    /// Bytes ever queued.
    queued: u64,
    /// Bytes that the socket accepted.
    accepted: u64,
    /// The flusher was woken and has not begun.
    flusher_woken: bool,
    someone_waits_for_room: bool,
    failure: Option<io::Error>,
    closed: bool,
}

/// Who writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hand {
    /// The flusher, which is woken when the socket takes more.
    Flusher,
    /// Whoever has just pushed, and is not.
    InPlace,
}

/// The queue, locked.
pub(crate) struct Queue<'a> {
    state: MutexGuard<'a, State>,
    flush: &'a Notify,
}

impl Output {
    pub(crate) fn new(writer: Writer) -> Self {
        Self {
            state: Mutex::new(State {
                queue: VecDeque::new(),
                spare: Vec::new(),
                sink: Some(Sink::new(writer)),
                frames: 0,
                queued: 0,
                accepted: 0,
                flusher_woken: false,
                someone_waits_for_room: false,
                failure: None,
                closed: false,
            }),
            flush: Notify::new(),
            room: Notify::new(),
        }
    }

    /// The queue, for as long as the guard lives. Nothing else may be locked but what is locked only inside of it.
    pub(crate) fn lock(&self) -> Queue<'_> {
        Queue { state: lock(&self.state), flush: &self.flush }
    }

    /// Queues a frame without a payload and has it written soon.
    pub(crate) fn send(&self, header: Header) {
        let mut queue = self.lock();
        queue.push(header, &[]);
        queue.wake();
    }

    /// Has the flusher write what is queued, together with what else is queued until then.
    pub(crate) fn wake(&self) {
        self.lock().wake();
    }

    /// Writes what is queued here and now, as far as the socket takes it; the flusher does the rest, and what is queued meanwhile. Does
    /// nothing if a write is unfinished: the flusher waits for the socket then, must not lose its place as the one who is woken, and takes
    /// what is new along.
    pub(crate) fn flush_now(&self) {
        let unfinished = match self.poll_flush_by(Hand::InPlace, &mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => false,
            Poll::Ready(Err(error)) => {
                lock(&self.state).failure = Some(error);
                true
            }
            Poll::Pending => true,
        };
        if unfinished {
            self.wake();
        }
    }

    /// Whether a sender may queue a frame now, or must wait for [`room`](Self::room).
    pub(crate) fn has_room(&self) -> bool {
        self.lock().has_room()
    }

    /// Waits until a sender may queue a frame, or the output is closed. Cancel safe.
    pub(crate) async fn room(&self) {
        loop {
            let freed = self.room.notified();
            {
                let mut state = lock(&self.state);
                if state.has_room() {
                    return;
                }
                state.someone_waits_for_room = true;
            }
            freed.await;
        }
    }

    /// How many bytes the socket accepted so far, and whether those are all.
    pub(crate) fn progress(&self) -> (u64, bool) {
        let queue = self.lock();
        (queue.state.accepted, queue.is_idle())
    }

    /// The flusher: writes until the socket fails. Part of the connection's task. `expected` tells how many more frames are about to be
    /// queued that should leave with so many; `None` if these are enough.
    pub(crate) async fn run(&self, expected: impl Fn(usize) -> Option<usize>) -> io::Error {
        // Those who did not come when they were waited for: they are not waited for again.
        let mut absent = 0;
        loop {
            self.flush.notified().await;
            let woken = Instant::now();
            // Whoever woke us may have been the first of many that are ready: their frames go out with this one.
            tokio::task::yield_now().await;
            let mut turns = 0..MAX_TURNS;
            while let Some(coming) = expected(self.frames()) {
                absent = absent.min(coming);
                if coming == absent {
                    break;
                }
                if turns.next().is_none() || woken.elapsed() >= MAX_HOLD {
                    absent = coming;
                    break;
                }
                tokio::task::yield_now().await;
            }
            lock(&self.state).flusher_woken = false;
            if let Err(error) = self.flush_all().await {
                return error;
            }
        }
    }

    /// How many frames are queued that nobody has begun to write.
    fn frames(&self) -> usize {
        self.lock().frames()
    }

    /// Writes everything that is queued. For the time before [`run`](Self::run) does it.
    pub(crate) async fn flush_all(&self) -> io::Result<()> {
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Writes everything, then ends the stream in this direction. Nothing may be pushed any more.
    pub(crate) async fn shutdown(&self) -> io::Result<()> {
        poll_fn(|cx| {
            std::task::ready!(self.poll_flush(cx))?;
            match &mut lock(&self.state).sink {
                Some(sink) => Pin::new(&mut sink.writer).poll_shutdown(cx),
                None => {
                    // Somebody writes the last frame in place; he is done before this task runs again.
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Ends writing at once. Returns how many bytes the peer can have seen at most.
    pub(crate) fn close(&self) -> u64 {
        let mut state = lock(&self.state);
        if !state.closed {
            state.closed = true;
            match state.sink.take() {
                Some(_writer) => {}
                // Somebody is writing all that was queued when he began; whether it is accepted is not known yet.
                None => {
                    state.accepted = state.queued - state.queue.iter().map(|segment| segment.len() as u64).sum::<u64>()
                }
            }
            state.queue.clear();
        }
        let accepted = state.accepted;
        drop(state);
        self.room.notify_waiters();
        accepted
    }

    fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush_by(Hand::Flusher, cx)
    }

    fn poll_flush_by(&self, hand: Hand, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut sink = {
                let mut state = lock(&self.state);
                if hand == Hand::InPlace && state.is_unfinished() {
                    return Poll::Ready(Ok(()));
                }
                match state.take_sink()? {
                    Some(sink) => sink,
                    None => return Poll::Ready(Ok(())),
                }
            };
            let mut written = 0;
            let result = sink.poll_write_all(cx, &mut written);
            let is_drained = self.put_back(sink, written);
            match result {
                // What others have queued meanwhile would keep a caller from his own work.
                Poll::Ready(Ok(())) if hand == Hand::InPlace && !is_drained => return Poll::Pending,
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Ends a turn of writing. Whether nothing was queued meanwhile.
    fn put_back(&self, mut sink: Sink, written: u64) -> bool {
        let mut state = lock(&self.state);
        if state.closed {
            return true;
        }
        state.accepted += written;
        if let Some(drained) = sink.drained.take() {
            state.spare = drained;
        }
        state.sink = Some(sink);
        let is_drained = state.queue.is_empty();
        if state.someone_waits_for_room && state.has_room() {
            state.someone_waits_for_room = false;
            drop(state);
            self.room.notify_waiters();
        }
        is_drained
    }
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = lock(&self.state);
        f.debug_struct("Output")
            .field("queued", &state.queued)
            .field("accepted", &state.accepted)
            .finish_non_exhaustive()
    }
}

impl State {
    /// Whether the socket has not yet taken all that it was given.
    fn is_unfinished(&self) -> bool {
        self.sink.as_ref().is_some_and(|sink| !sink.segments.is_empty())
    }

    fn has_room(&self) -> bool {
        self.closed || self.queued - self.accepted <= ROOM
    }

    /// What is copied next goes here.
    fn buffer(&mut self) -> &mut Vec<u8> {
        if !matches!(self.queue.back(), Some(Segment::Copied(_))) {
            self.queue.push_back(Segment::Copied(std::mem::take(&mut self.spare)));
        }
        match self.queue.back_mut() {
            Some(Segment::Copied(buffer)) => buffer,
            _ => unreachable!("the last segment is one that is copied into"),
        }
    }

    /// The sink with all that is queued; `None` if there is nothing to write or somebody is writing.
    fn take_sink(&mut self) -> io::Result<Option<Sink>> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let Some(mut sink) = self.sink.take() else {
            return Ok(None);
        };
        self.frames = 0;
        if sink.segments.is_empty() {
            // Also hands the emptied list back, so that its memory serves the next batch.
            std::mem::swap(&mut sink.segments, &mut self.queue);
        } else {
            sink.segments.append(&mut self.queue);
        }
        if sink.segments.is_empty() {
            self.sink = Some(sink);
            return Ok(None);
        }
        Ok(Some(sink))
    }
}

impl Queue<'_> {
    /// Appends a frame; its payload is `body`, in pieces.
    pub(crate) fn push(&mut self, header: Header, body: &[Bytes]) {
        self.push_with(header, 0, |_| {}, body);
    }

    /// Appends a frame; its payload is the `head_len` bytes that `head` writes, then `body`, in pieces.
    ///
    /// # Panics
    ///
    /// If the payload is longer than 4 GiB; every caller has checked it against the peer's limit.
    pub(crate) fn push_with(
        &mut self,
        header: Header,
        head_len: usize,
        head: impl FnOnce(&mut Vec<u8>),
        body: &[Bytes],
    ) {
        let state = &mut *self.state;
        if state.closed {
            return;
        }
        let length = head_len + body.iter().map(Bytes::len).sum::<usize>();
        state.frames += 1;
        state.queued += (HEADER + length) as u64;
        let length = u32::try_from(length).expect("a payload was checked against the peer's limit");
        let buffer = state.buffer();
        buffer.extend_from_slice(&header.to_bytes(length));
        head(buffer);
        for piece in body {
            if piece.len() < SHARED_FROM {
                state.buffer().extend_from_slice(piece);
            } else {
                state.queue.push_back(Segment::Shared(piece.clone()));
            }
        }
    }

    /// Unlocks, and has the flusher write what is queued, as [`Output::wake`] does.
    pub(crate) fn wake(mut self) {
        if !std::mem::replace(&mut self.state.flusher_woken, true) {
            drop(self.state);
            self.flush.notify_one();
        }
    }

    /// Whether a sender may queue a frame now, or must wait for [`Output::room`].
    pub(crate) fn has_room(&self) -> bool {
        self.state.has_room()
    }

    /// How many frames are queued that nobody has begun to write.
    pub(crate) fn frames(&self) -> usize {
        self.state.frames
    }

    /// How many bytes will have been accepted once everything queued so far has been.
    pub(crate) fn end(&self) -> u64 {
        self.state.queued
    }

    /// Whether everything that was ever queued is accepted.
    pub(crate) fn is_idle(&self) -> bool {
        self.state.queued == self.state.accepted
    }
}

#[cfg(test)]
mod tests;
