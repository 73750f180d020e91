//! The calls that wait for an answer on one connection: a slab whose slots are reused, and ids that are not.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};

use tokio::time::Instant;

use crate::error::Executed;
use crate::lock::lock;
use crate::protocol::codec::Codec;
use crate::protocol::message::{Description, Response};
use crate::status::Status;

/// What ends a wait.
#[derive(Debug)]
pub(crate) enum Settled {
    /// And the codec of what is in it; it means nothing for a status.
    Response(Codec, Response),
    Description(Result<Description, Status>),
    /// The deadline passed; the request may have been sent.
    Expired,
    /// The connection ended; whether the request was sent whole before.
    Lost(Executed),
}

/// The waiting calls of a connection.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    slots: Mutex<Slots>,
    /// As `waiting` of the slots, for those who look without a lock.
    waiting: AtomicUsize,
    /// As [`Slots::under_way`], likewise.
    under_way: AtomicUsize,
}

#[derive(Debug, Default)]
struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Slots that are waiting.
    waiting: usize,
    /// When the next sweep is planned, see [`Pending::sweep`]; `None` while nobody plans one.
    next_sweep: Option<Instant>,
    /// Answers that nobody waited for any more.
    late: u64,
}

#[derive(Debug)]
struct Slot {
    /// Grows with every use of the slot, and is the upper half of the call's id: an answer to an earlier use finds nobody.
    generation: u32,
    state: State,
}

#[derive(Debug)]
enum State {
    Free,
    Waiting { waker: Waker, end: u64, deadline: Instant },
    Done(Settled),
}

/// What an insertion found.
#[derive(Debug)]
pub(crate) struct Inserted {
    pub(crate) id: u64,
    /// Calls that wait or have yet to fetch their answer, this one among them.
    pub(crate) under_way: usize,
    /// No sweep is planned that would see this deadline pass: the caller must have one planned.
    pub(crate) wants_sweep: bool,
}

impl Pending {
    /// Begins a wait, unless `limit` calls wait already. `end` is where the call's frame ends in the output.
    pub(crate) fn insert(&self, limit: usize, waker: &Waker, end: u64, deadline: Instant) -> Option<Inserted> {
        let mut slots = lock(&self.slots);
        if slots.waiting >= limit {
            return None;
        }
        let state = State::Waiting { waker: waker.clone(), end, deadline };
        let id = match slots.free.pop() {
            Some(index) => {
                let slot = &mut slots.slots[index as usize];
                slot.state = state;
                id(index, slot.generation)
            }
            None => {
                let index = u32::try_from(slots.slots.len()).ok()?;
                slots.slots.push(Slot { generation: 0, state });
                id(index, 0)
            }
        };
        slots.waiting += 1;
        self.publish(&slots);
        let wants_sweep = slots.next_sweep.is_none_or(|planned| deadline < planned);
        if wants_sweep {
            slots.next_sweep = Some(deadline);
        }
        Some(Inserted { id, under_way: slots.under_way(), wants_sweep })
    }

    /// The answer to `id`, once it is there; from then on the id is not known any more.
    pub(crate) fn poll(&self, id: u64, current: &Waker) -> Poll<Settled> {
        let mut slots = lock(&self.slots);
        let Some(slot) = slots.get(id) else {
            return Poll::Ready(Settled::Lost(Executed::Maybe));
        };
        match &mut slot.state {
            State::Waiting { waker, .. } => {
                waker.clone_from(current);
                Poll::Pending
            }
            state => {
                let State::Done(answer) = std::mem::replace(state, State::Free) else {
                    return Poll::Ready(Settled::Lost(Executed::Maybe));
                };
                slots.release(id);
                self.publish(&slots);
                Poll::Ready(answer)
            }
        }
    }

    /// Ends the wait for `id`. Whether it was still without an answer.
    pub(crate) fn remove(&self, id: u64) -> bool {
        let mut slots = lock(&self.slots);
        let Some(slot) = slots.get(id) else {
            return false;
        };
        let was_waiting = matches!(slot.state, State::Waiting { .. });
        slot.state = State::Free;
        slots.waiting -= usize::from(was_waiting);
        slots.release(id);
        self.publish(&slots);
        was_waiting
    }

    /// Hands out a batch of answers, under one lock, and adds those to wake to `wakers`.
    pub(crate) fn complete(&self, answers: &mut Vec<(u64, Settled)>, wakers: &mut Vec<Waker>) {
        let mut slots = lock(&self.slots);
        for (id, answer) in answers.drain(..) {
            match slots.finish(id, answer) {
                Some(waker) => wakers.push(waker),
                None => slots.late += 1,
            }
        }
        self.publish(&slots);
    }

    /// Ends the calls whose deadline has passed; their ids and those to wake are appended. Returns the earliest deadline of those that wait on,
    /// for which the caller plans the next sweep; `None` if none waits.
    pub(crate) fn sweep(&self, now: Instant, expired: &mut Vec<u64>, wakers: &mut Vec<Waker>) -> Option<Instant> {
        let mut slots = lock(&self.slots);
        let (first, mut earliest) = (expired.len(), None::<Instant>);
        for (index, slot) in slots.slots.iter().enumerate() {
            match slot.state {
                State::Waiting { deadline, .. } if deadline <= now => expired.push(id(index as u32, slot.generation)),
                State::Waiting { deadline, .. } => {
                    earliest = Some(earliest.map_or(deadline, |earliest| earliest.min(deadline)));
                }
                _ => {}
            }
        }
        for &id in &expired[first..] {
            wakers.extend(slots.finish(id, Settled::Expired));
        }
        slots.next_sweep = earliest;
        self.publish(&slots);
        earliest
    }

    /// Ends all calls because the connection did. What the socket `accepted` decides which of them may have run.
    pub(crate) fn fail_all(&self, accepted: u64) {
        let mut wakers = Vec::new();
        let mut slots = lock(&self.slots);
        for slot in &mut slots.slots {
            if let State::Waiting { end, .. } = slot.state {
                let executed = if end <= accepted { Executed::Maybe } else { Executed::No };
                let state = std::mem::replace(&mut slot.state, State::Done(Settled::Lost(executed)));
                if let State::Waiting { waker, .. } = state {
                    wakers.push(waker);
                }
            }
        }
        slots.waiting = 0;
        self.publish(&slots);
        drop(slots);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Calls that wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Calls that wait or have yet to fetch their answer.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Tells those who look without a lock.
    fn publish(&self, slots: &Slots) {
        self.waiting.store(slots.waiting, Ordering::Relaxed);
        self.under_way.store(slots.under_way(), Ordering::Relaxed);
    }

    /// Slots so far, used and free.
    #[cfg(test)]
    pub(crate) fn slots(&self) -> usize {
        lock(&self.slots).slots.len()
    }

    /// Answers so far that nobody waited for any more.
    pub(crate) fn late(&self) -> u64 {
        lock(&self.slots).late
    }
}

impl Slots {
    fn under_way(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn get(&mut self, id: u64) -> Option<&mut Slot> {
        let (index, generation) = split(id);
        self.slots
            .get_mut(index as usize)
            .filter(|slot| slot.generation == generation && !matches!(slot.state, State::Free))
    }

    /// Puts the answer where the call finds it; `None` if it does not wait any more.
    fn finish(&mut self, id: u64, answer: Settled) -> Option<Waker> {
        let slot = self.get(id)?;
        if !matches!(slot.state, State::Waiting { .. }) {
            return None;
        }
        let State::Waiting { waker, .. } = std::mem::replace(&mut slot.state, State::Done(answer)) else {
            return None;
        };
        self.waiting -= 1;
        Some(waker)
    }

    /// Makes a slot that was set free ready for its next use, under another id.
    fn release(&mut self, id: u64) {
        let (index, generation) = split(id);
        self.slots[index as usize].generation = generation.wrapping_add(1);
        self.free.push(index);
    }
}

const fn id(index: u32, generation: u32) -> u64 {
    (generation as u64) << 32 | index as u64
}

const fn split(id: u64) -> (u32, u32) {
    (id as u32, (id >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;

    use super::*;

    fn insert(pending: &Pending, end: u64, deadline: Instant) -> u64 {
        pending.insert(10, Waker::noop(), end, deadline).unwrap().id
    }

    fn answer(text: &'static str) -> Settled {
        Settled::Response(Codec::Bincode, Response::Ok(Bytes::from_static(text.as_bytes())))
    }

    fn poll(pending: &Pending, id: u64) -> Poll<String> {
        pending.poll(id, Waker::noop()).map(|answer| format!("{answer:?}"))
    }

    fn complete(pending: &Pending, id: u64, text: &'static str) -> usize {
        let mut wakers = Vec::new();
        pending.complete(&mut vec![(id, answer(text))], &mut wakers);
        wakers.len()
    }

    #[test]
    fn each_call_gets_its_own_answer() {
        let pending = Pending::default();
        let now = Instant::now();
        let (a, b) = (insert(&pending, 0, now), insert(&pending, 0, now));
        assert_eq!(complete(&pending, b, "b") + complete(&pending, a, "a"), 2);
        assert!(matches!(poll(&pending, a), Poll::Ready(text) if text.contains("\"a\"")));
        assert!(matches!(poll(&pending, b), Poll::Ready(text) if text.contains("\"b\"")));
        assert_eq!(pending.len(), 0);
    }

    #[test]
    fn a_late_answer_never_reaches_the_next_user_of_the_slot() {
        let pending = Pending::default();
        let first = insert(&pending, 0, Instant::now());
        assert!(pending.remove(first));
        let second = insert(&pending, 0, Instant::now());
        assert_ne!(first, second);
        assert_eq!(complete(&pending, first, "late"), 0);
        assert!(poll(&pending, second).is_pending());
        assert_eq!(pending.late(), 1);
    }

    #[test]
    fn calls_are_under_way_until_they_have_their_answer() {
        let pending = Pending::default();
        let insert = || {
            let inserted = pending.insert(10, Waker::noop(), 0, Instant::now()).unwrap();
            assert_eq!(inserted.under_way, pending.under_way());
            (inserted.id, inserted.under_way)
        };
        let (first, alone) = insert();
        complete(&pending, first, "untaken");
        let (second, both) = insert();
        assert_eq!((alone, both, pending.len()), (1, 2, 1));
        pending.remove(second);
        assert!(poll(&pending, first).is_ready());
        assert_eq!((pending.under_way(), insert().1), (0, 1));
    }

    #[test]
    fn a_second_answer_to_the_same_call_is_dropped() {
        let pending = Pending::default();
        let id = insert(&pending, 0, Instant::now());
        assert_eq!(complete(&pending, id, "first"), 1);
        assert_eq!(complete(&pending, id, "second"), 0);
        assert!(matches!(poll(&pending, id), Poll::Ready(text) if text.contains("first")));
        assert_eq!(complete(&pending, id, "third"), 0);
        assert_eq!(pending.late(), 2);
    }

    #[test]
    fn an_unknown_id_harms_nobody() {
        let pending = Pending::default();
        let id = insert(&pending, 0, Instant::now());
        assert_eq!(complete(&pending, u64::MAX, "x") + complete(&pending, id + 1, "x"), 0);
        assert!(!pending.remove(12345));
        assert!(poll(&pending, id).is_pending());
    }

    #[test]
    fn no_more_calls_wait_than_allowed() {
        let pending = Pending::default();
        let ids: Vec<u64> = (0..10).map(|_| insert(&pending, 0, Instant::now())).collect();
        assert!(pending.insert(10, Waker::noop(), 0, Instant::now()).is_none());
        pending.remove(ids[4]);
        assert!(pending.insert(10, Waker::noop(), 0, Instant::now()).is_some());
    }

    #[test]
    fn only_requests_the_socket_accepted_whole_may_have_run() {
        let pending = Pending::default();
        let (whole, cut) = (insert(&pending, 100, Instant::now()), insert(&pending, 101, Instant::now()));
        pending.fail_all(100);
        assert!(matches!(poll(&pending, whole), Poll::Ready(text) if text == "Lost(Maybe)"));
        assert!(matches!(poll(&pending, cut), Poll::Ready(text) if text == "Lost(No)"));
    }

    #[test]
    fn a_sweep_ends_what_is_late_and_nothing_else() {
        let pending = Pending::default();
        let now = Instant::now();
        let later = now + Duration::from_nanos(1);
        let (late, early) = (insert(&pending, 0, now), insert(&pending, 0, later));
        let (mut expired, mut wakers) = (Vec::new(), Vec::new());
        assert_eq!(pending.sweep(now, &mut expired, &mut wakers), Some(later));
        assert_eq!((&expired[..], wakers.len()), (&[late][..], 1));
        assert!(matches!(poll(&pending, late), Poll::Ready(text) if text == "Expired"));
        assert!(poll(&pending, early).is_pending());
    }

    #[test]
    fn a_sweep_is_wanted_only_by_a_deadline_that_no_planned_one_sees() {
        let pending = Pending::default();
        let now = Instant::now();
        let wants = |seconds| {
            let deadline = now + Duration::from_secs(seconds);
            let inserted = pending.insert(10, Waker::noop(), 0, deadline).unwrap();
            (inserted.id, inserted.wants_sweep)
        };
        let (first, wanted) = wants(3);
        assert!(wanted && !wants(3).1 && !wants(4).1 && wants(2).1);
        let sweep = |at| pending.sweep(now + Duration::from_secs(at), &mut Vec::new(), &mut Vec::new());
        assert_eq!(sweep(2), Some(now + Duration::from_secs(3)));
        pending.remove(first);
        assert_eq!((sweep(3), sweep(4)), (Some(now + Duration::from_secs(4)), None));
        assert!(wants(60).1);
    }
}
