//! Whether to poll for what the peer sends next, instead of going to sleep.
//!
//! A thread that sleeps has to be woken, by a system call of whoever sends, and begins late. Where the peer sends again at once, to poll
//! for that costs less, in time and in work. To poll for as long as a sleep would cost, and then to sleep, is at most twice as expensive
//! as to know what comes (Karlin, Li, Manasse, Owicki: Empirical studies of competitive spinning for a shared-memory multiprocessor, SOSP
//! 1991). Here it may take longer, as a sleep of the peer may be a part of it; but such busy polls count as in vain. There are some
//!
//! - only if the last wait of the connection was short,
//! - not if they were in vain again and again,
//! - only while the thread has nothing else to do, and reads no other connection,
//! - not if the process may use but one processor, which the peer may need.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

/// How long a busy poll takes at most.
pub(super) const LONGEST: Duration = Duration::from_micros(50);
/// One that takes longer is in vain, even if it finds something: about what a sleep costs, in time.
const WORTHWHILE: Duration = Duration::from_micros(30);
/// If the others need so long for their turn, the thread would not have slept.
pub(super) const BUSY_TURN: Duration = Duration::from_micros(5);
/// A longer wait promises nothing for the next.
const SHORT_WAIT: Duration = Duration::from_micros(100);
/// So many of the last 16 in vain make busy polls useless; a few can be the system's doing.
const MAKE_USELESS: u32 = 8;
/// So many waits are slept through then, at first,
const SHORTEST_REST: u32 = 16;
/// and twice as many each time, up to this, until so many busy polls in a row were not in vain.
const LONGEST_REST: u32 = 256;
const ENOUGH: u32 = 8;
/// As many of the last busy polls are remembered after a rest, so that it is tried more than once again: both sides must begin at the same
/// time. What is always in vain costs 1 us a wait.
const REMEMBERED: u16 = 0b1111;

/// What the waits of a connection were like.
#[derive(Debug)]
pub(super) struct BusyPoll {
    has_processors: bool,
    was_short: bool,
    /// The last wait was ended by a busy poll.
    has_found: bool,
    /// The last 16, a bit each, the latest lowest; 1 for one in vain.
    vain_ones: u16,
    /// Waits to sleep through.
    rest: u32,
    /// How many it will be the next time.
    next_rest: u32,
}

impl BusyPoll {
    /// For the processors that this process may use.
    pub(super) fn new() -> Self {
        static HAS_PROCESSORS: AtomicBool = AtomicBool::new(false);
        // A thread that is pinned to one processor sees no other, but a later one may.
        let has_processors =
            HAS_PROCESSORS.load(Ordering::Relaxed) || available_parallelism().is_ok_and(|count| count.get() > 1);
        HAS_PROCESSORS.store(has_processors, Ordering::Relaxed);
        Self::with_processors(has_processors)
    }

    /// Whether there are several processors is told.
    pub(super) const fn with_processors(has_processors: bool) -> Self {
        Self { has_processors, was_short: false, has_found: false, vain_ones: 0, rest: 0, next_rest: SHORTEST_REST }
    }

    /// A wait begins; whether to busy poll in it.
    pub(super) fn begin(&mut self) -> bool {
        self.has_found = false;
        if self.rest > 0 {
            self.rest -= 1;
            return false;
        }
        self.was_short && self.has_processors
    }

    /// A busy poll has ended after this time; whether anything came meanwhile.
    pub(super) fn end(&mut self, took: Duration, found: bool) {
        self.has_found = found;
        let in_vain = took > WORTHWHILE;
        // One that was broken off so soon says nothing.
        if !in_vain && !found {
            return;
        }
        self.vain_ones = self.vain_ones << 1 | u16::from(in_vain);
        if in_vain && self.vain_ones.count_ones() >= MAKE_USELESS {
            self.rest = self.next_rest;
            self.next_rest = LONGEST_REST.min(2 * self.next_rest);
            self.vain_ones &= REMEMBERED;
        } else if self.vain_ones.trailing_zeros() >= ENOUGH {
            self.next_rest = SHORTEST_REST;
        }
    }

    /// Whether the last wait was ended by a busy poll.
    pub(super) fn has_found(&self) -> bool {
        self.has_found
    }

    /// The wait has ended, after this time.
    pub(super) fn waited(&mut self, time: Duration) {
        self.was_short = time <= SHORT_WAIT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN_VAIN: Duration = Duration::from_nanos(30_001);

    fn after_a_short_wait() -> BusyPoll {
        let mut busy_poll = BusyPoll::with_processors(true);
        busy_poll.waited(SHORT_WAIT);
        busy_poll
    }

    #[test]
    fn only_a_short_wait_promises_another() {
        assert!(!BusyPoll::with_processors(true).begin());
        let mut busy_poll = after_a_short_wait();
        assert!(busy_poll.begin());
        busy_poll.waited(SHORT_WAIT + Duration::from_nanos(1));
        assert!(!busy_poll.begin());
    }

    #[test]
    fn a_single_processor_is_left_to_others() {
        let mut busy_poll = BusyPoll::with_processors(false);
        busy_poll.waited(Duration::ZERO);
        assert!(!busy_poll.begin());
        assert_eq!(BusyPoll::new().has_processors, available_parallelism().unwrap().get() > 1);
    }

    /// How many waits it sleeps through, up to a thousand.
    fn rest(busy_poll: &mut BusyPoll) -> usize {
        (0..1_000).take_while(|_| !busy_poll.begin()).count()
    }

    #[test]
    fn eight_in_vain_of_sixteen_are_followed_by_rests_that_grow_with_a_few_tries_between() {
        let mut busy_poll = after_a_short_wait();
        for found in [false, true].into_iter().cycle().take(14) {
            busy_poll.end(if found { WORTHWHILE } else { LONGEST }, found);
            assert_eq!(rest(&mut busy_poll), 0);
        }
        busy_poll.end(LONGEST, false);
        // Two of the last four were in vain at first, then all.
        for (waits, tries) in [(16, 6), (32, 4), (64, 4), (128, 4), (256, 4), (256, 4)] {
            assert_eq!(rest(&mut busy_poll), waits);
            for _ in 1..tries {
                busy_poll.end(LONGEST, false);
                assert_eq!(rest(&mut busy_poll), 0);
            }
            busy_poll.end(LONGEST, false);
        }
    }

    #[test]
    fn eight_in_a_row_that_are_not_in_vain_make_rests_short_again() {
        for (good, waits) in [(7, 32), (8, 16)] {
            let mut busy_poll = after_a_short_wait();
            (0..8).for_each(|_| busy_poll.end(LONGEST, false));
            assert_eq!(rest(&mut busy_poll), 16);
            (0..good).for_each(|_| busy_poll.end(WORTHWHILE, true));
            (0..4).for_each(|_| busy_poll.end(LONGEST, false));
            assert_eq!(rest(&mut busy_poll), waits);
        }
    }

    #[test]
    fn what_is_found_late_is_in_vain_too_and_what_was_broken_off_soon_says_nothing() {
        let mut busy_poll = after_a_short_wait();
        (0..7).for_each(|_| busy_poll.end(IN_VAIN, true));
        (0..100).for_each(|_| busy_poll.end(WORTHWHILE, false));
        assert!(busy_poll.begin());
        busy_poll.end(IN_VAIN, false);
        assert!(!busy_poll.begin());
    }

    #[test]
    fn a_peer_has_been_found_until_the_next_wait() {
        let mut busy_poll = after_a_short_wait();
        busy_poll.end(WORTHWHILE, true);
        assert!(busy_poll.has_found());
        busy_poll.begin();
        assert!(!busy_poll.has_found());
        busy_poll.end(WORTHWHILE, false);
        assert!(!busy_poll.has_found());
    }
}
