//! Pauses between tries that go on for ever.

use std::time::Duration;

/// The shortest pause.
const FIRST: Duration = Duration::from_millis(200);
/// The longest, unless a shorter one is asked for.
const LONGEST: Duration = Duration::from_secs(5);

/// Pauses that double from 200 ms, each up to half shorter, so that many who failed together do not come back together.
#[derive(Debug)]
pub(super) struct Pauses {
    next: Duration,
    longest: Duration,
}

impl Pauses {
    /// Pauses of `longest` at most, and of 5 s.
    pub(super) fn up_to(longest: Duration) -> Self {
        Self { next: FIRST, longest: longest.clamp(FIRST, LONGEST) }
    }

    /// The next one.
    pub(super) fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        pause.mul_f64(1.0 - 0.5 * fastrand::f64())
    }

    /// Begins with the shortest again, after none at all now.
    pub(super) fn reset(&mut self) -> Duration {
        self.next = FIRST;
        Duration::ZERO
    }
}

impl Default for Pauses {
    fn default() -> Self {
        Self::up_to(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_again() {
        let mut pauses = Pauses::up_to(Duration::from_secs(1));
        for longest in [200, 400, 800, 1_000, 1_000] {
            let longest = Duration::from_millis(longest);
            let pause = pauses.next();
            assert!(longest / 2 <= pause && pause <= longest, "{pause:?} of {longest:?}");
        }
        assert_eq!(pauses.reset(), Duration::ZERO);
        assert!(pauses.next() <= FIRST);
        assert_eq!(Pauses::up_to(Duration::from_secs(60)).longest, LONGEST);
    }
}
