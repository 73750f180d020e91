//! How many calls wait, and how much memory they hold.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the places that are taken.
#[derive(Debug)]
pub(super) struct Queue {
    max_calls: usize,
    max_bytes: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    calls: usize,
    bytes: usize,
    closed: bool,
}

/// A place in the queue, given up when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    queue: Arc<Queue>,
    bytes: usize,
}

/// Why there is no place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Full {
    Calls { taken: usize, max: usize },
    Bytes { taken: usize, wanted: usize, max: usize },
    Closed,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls { taken, max } => write!(f, "fail-back queue full ({taken} of {max})"),
            Self::Bytes { taken, wanted, max } => {
                write!(f, "fail-back queue full ({wanted} bytes more than {taken} of {max})")
            }
            Self::Closed => write!(f, "fail-back queue closed"),
        }
    }
}

impl Queue {
    pub(super) fn new(max_calls: usize, max_bytes: usize) -> Self {
        Self { max_calls, max_bytes, taken: Mutex::default() }
    }

    /// Takes a place for a call of this size.
    pub(super) fn take(self: &Arc<Self>, bytes: usize) -> Result<Place, Full> {
        let mut taken = self.lock();
        if taken.closed {
            return Err(Full::Closed);
        }
        if taken.calls >= self.max_calls {
            return Err(Full::Calls { taken: taken.calls, max: self.max_calls });
        }
        if bytes > self.max_bytes.saturating_sub(taken.bytes) {
            return Err(Full::Bytes { taken: taken.bytes, wanted: bytes, max: self.max_bytes });
        }
        taken.calls += 1;
        taken.bytes += bytes;
        Ok(Place { queue: Arc::clone(self), bytes })
    }

    /// Gives no further place. Returns how many are taken.
    pub(super) fn close(&self) -> usize {
        let mut taken = self.lock();
        taken.closed = true;
        taken.calls
    }

    /// How many places are taken.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().calls
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.queue.lock();
        taken.calls -= 1;
        taken.bytes -= self.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_bytes_are_bounded_and_places_come_back() {
        let queue = Arc::new(Queue::new(2, 100));
        let first = queue.take(60).unwrap();
        assert_eq!(queue.take(41).unwrap_err().to_string(), "fail-back queue full (41 bytes more than 60 of 100)");
        let _second = queue.take(40).unwrap();
        assert_eq!(queue.take(0).unwrap_err().to_string(), "fail-back queue full (2 of 2)");
        drop(first);
        let _third = queue.take(60).unwrap();
        assert_eq!(queue.close(), 2);
        assert_eq!(queue.take(0).unwrap_err(), Full::Closed);
    }
}
