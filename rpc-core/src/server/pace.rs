//! Methods whose handlers compute for long, found by what they did so far.

use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::time::Duration;

/// A poll that takes this long computes.
pub(super) const LONG_POLL: Duration = Duration::from_millis(1);
/// This many long polls of the last 16 make a method slow: one or two can be the system's doing.
const MAKE_SLOW: u32 = 3;
/// This many polls that were not long make it quick again.
const MAKE_QUICK: u32 = 1_000;

/// Whether a method is slow: one whose handlers keep their thread for long when they are polled.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The last 16 polls, a bit each, the latest lowest; 1 for a long one.
    long_ones: AtomicU16,
    /// What is left of [`MAKE_QUICK`]; 0 while the method is quick.
    until_quick: AtomicU32,
}

impl Pace {
    pub(super) fn is_slow(&self) -> bool {
        self.until_quick.load(Ordering::Relaxed) != 0
    }

    /// Notes how long a poll took. Polls at the same time may overlook each other; the next ones tell the same.
    pub(super) fn note(&self, took: Duration) {
        let is_long = took >= LONG_POLL;
        let (before, until_quick) = (self.long_ones.load(Ordering::Relaxed), self.until_quick.load(Ordering::Relaxed));
        // The usual case writes nothing: the value is shared by all threads.
        if !is_long && before == 0 && until_quick == 0 {
            return;
        }
        let after = before << 1 | u16::from(is_long);
        self.long_ones.store(after, Ordering::Relaxed);
        if is_long && (until_quick != 0 || after.count_ones() >= MAKE_SLOW) {
            self.until_quick.store(MAKE_QUICK, Ordering::Relaxed);
        } else if !is_long && until_quick != 0 {
            self.until_quick.store(until_quick - 1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT_POLL: Duration = Duration::from_micros(999);

    fn noted(pace: &Pace, polls: &[Duration]) -> bool {
        polls.iter().for_each(|poll| pace.note(*poll));
        pace.is_slow()
    }

    #[test]
    fn three_long_polls_of_sixteen_make_a_method_slow() {
        let pace = Pace::default();
        assert!(!noted(&pace, &[SHORT_POLL; 100]));
        assert!(!noted(&pace, &[LONG_POLL, LONG_POLL]));
        assert!(!noted(&pace, &[SHORT_POLL; 14]));
        // What is seventeen polls ago counts no more.
        assert!(!noted(&pace, &[LONG_POLL, LONG_POLL]));
        assert!(noted(&pace, &[LONG_POLL]));
    }

    #[test]
    fn a_thousand_polls_in_a_row_that_are_short_make_it_quick_again() {
        let pace = Pace::default();
        assert!(noted(&pace, &[LONG_POLL; 3]));
        assert!(noted(&pace, &[SHORT_POLL; 999]));
        assert!(noted(&pace, &[LONG_POLL]));
        assert!(noted(&pace, &[SHORT_POLL; 999]));
        assert!(!noted(&pace, &[SHORT_POLL]));
    }
}
