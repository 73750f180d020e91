//! One call on a connection: its frame, and its wait.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use tokio::time::Instant;

use super::{CLOSED, LEAVING, Shared};
use crate::protocol::frame::{HEADER, Header, Kind};
use crate::transport::input::Input;
use crate::transport::outgoing::{Outgoing, OutgoingFrame, Refusal};
use crate::transport::pending::Settled;

/// A call in flight, see [`Connection::call`](super::Connection::call).
#[derive(Debug)]
#[must_use = "a call is sent when it is first polled"]
pub(crate) struct Call<'a> {
    shared: &'a Shared,
    outgoing: Outgoing<'a>,
    deadline: Instant,
    /// Set from the first poll until the answer.
    id: Option<u64>,
}

impl<'a> Call<'a> {
    pub(super) fn new(shared: &'a Shared, outgoing: Outgoing<'a>, deadline: Instant) -> Self {
        Self { shared, outgoing, deadline, id: None }
    }
}

impl Future for Call<'_> {
    type Output = Result<Settled, Refusal>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.id {
            None => match self.shared.start(self.outgoing, self.deadline, cx.waker()) {
                Ok(id) => self.id = Some(id),
                Err(refusal) => return Poll::Ready(Err(refusal)),
            },
            Some(id) => {
                if let Poll::Ready(answer) = self.shared.pending.poll(id, cx.waker()) {
                    self.id = None;
                    return Poll::Ready(Ok(answer));
                }
            }
        }
        Poll::Pending
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id
            && self.shared.pending.remove(id)
        {
            self.shared.cancel(&[id]);
        }
    }
}

impl Shared {
    /// Queues the frame of a call and begins its wait.
    fn start(&self, outgoing: Outgoing<'_>, deadline: Instant, waker: &Waker) -> Result<u64, Refusal> {
        let mut queue = self.output.lock();
        match self.phase.load(Ordering::Relaxed) {
            LEAVING => return Err(Refusal::Leaving),
            CLOSED => return Err(Refusal::Lost),
            _ => {}
        }
        if !queue.has_room() {
            return Err(Refusal::NoRoom);
        }
        let frame = OutgoingFrame::new(outgoing);
        let (length, limit) = (frame.len(), self.welcome.max_frame);
        if length > limit as usize {
            return Err(Refusal::TooLarge { length, limit });
        }
        let was_idle = queue.is_idle();
        let end = queue.end() + (HEADER + length) as u64;
        let allowed = self.welcome.max_in_flight;
        let inserted = self.pending.insert(allowed as usize, waker, end, deadline).ok_or(Refusal::Full(allowed))?;
        frame.push(inserted.id, &mut queue);
        let is_alone = inserted.under_way == 1 && was_idle;
        let is_batch = queue.frames() >= self.least_batch.load(Ordering::Relaxed);
        if is_alone || is_batch && is_half(queue.frames(), inserted.under_way) {
            drop(queue);
            self.output.flush_now();
        } else {
            queue.wake();
        }
        if inserted.wants_sweep {
            self.wants_sweep.notify_one();
        }
        Ok(inserted.id)
    }

    /// How many callers have their answer and are about to take it, whose next requests should leave with the `queued` ones; `None` if these
    /// are enough.
    pub(super) fn expected(&self, queued: usize) -> Option<usize> {
        let under_way = self.pending.under_way();
        (!is_half(queued, under_way)).then(|| under_way.saturating_sub(self.pending.len()))
    }

    /// Tells the server that nobody waits for these any more.
    pub(super) fn cancel(&self, ids: &[u64]) {
        if ids.is_empty() {
            return;
        }
        let mut queue = self.output.lock();
        for &id in ids {
            queue.push(Header::plain(Kind::Cancel, id), &[]);
        }
        queue.wake();
    }
}

/// How many requests are worth a write before all are queued. Few only where the peer answers at once; none where a thread has several
/// connections: a server works on the requests of one while the callers of the others make theirs, anyway.
pub(super) fn least_batch(input: &Input) -> usize {
    match (input.shares_thread(), input.peer_is_quick()) {
        (true, _) => usize::MAX,
        (false, true) => 1,
        (false, false) => 16,
    }
}

/// Whether these requests should leave now: half of all, so that the server answers this half while the callers of the other make the next.
/// With fewer, each side would too often wait for the other, and with all of them always.
fn is_half(queued: usize, under_way: usize) -> bool {
    2 * queued >= under_way
}
