//! Turns for handlers that compute.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::sleep;

/// If no turn is given for this long, those who have one do not compute: they block, perhaps for something that waits for a turn itself.
const BLOCKED_AFTER: Duration = Duration::from_millis(100);

/// As many turns as there are threads.
#[derive(Debug)]
pub(super) struct Turns {
    free: Semaphore,
    /// How many were given so far.
    given: AtomicUsize,
    /// How many were when somebody last found those who have one blocking.
    given_when_blocked: AtomicUsize,
}

impl Turns {
    pub(super) fn new(threads: usize) -> Self {
        let given_when_blocked = AtomicUsize::new(usize::MAX);
        Self { free: Semaphore::new(threads), given: AtomicUsize::new(0), given_when_blocked }
    }

    /// Waits for a turn, which ends when it is dropped; `None` if those who have one seem to block, and others must not wait for them.
    /// Before it returns, the runtime has looked for what came in. Cancel safe.
    pub(super) async fn next(&self) -> Option<SemaphorePermit<'_>> {
        let turn = self.wait().await;
        if turn.is_some() {
            self.given.fetch_add(1, Ordering::Relaxed);
        }
        tokio::task::yield_now().await;
        turn
    }

    async fn wait(&self) -> Option<SemaphorePermit<'_>> {
        let mut turn = pin!(self.free.acquire());
        loop {
            let given = self.given.load(Ordering::Relaxed);
            if given == self.given_when_blocked.load(Ordering::Relaxed) {
                // Nothing has changed since, so there is nothing to wait for.
                return self.free.try_acquire().ok();
            }
            tokio::select! {
                // Never closed.
                turn = &mut turn => return turn.ok(),
                () = sleep(BLOCKED_AFTER) => {}
            }
            if self.given.load(Ordering::Relaxed) == given {
                self.given_when_blocked.store(given, Ordering::Relaxed);
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_more_have_a_turn_at_a_time_than_there_are_threads() {
        let turns = Turns::new(2);
        let (first, _second) = (turns.next().await, turns.next().await);
        let (started, mut third) = (Instant::now(), pin!(turns.next()));
        let waits = tokio::time::timeout(Duration::from_millis(99), &mut third);
        assert!(waits.await.is_err());
        drop(first);
        assert!(third.await.is_some());
        assert!(started.elapsed() < BLOCKED_AFTER, "{:?}", started.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn who_blocks_with_a_turn_keeps_the_others_for_a_tenth_of_a_second_at_most() {
        let turns = Turns::new(1);
        let blocking = turns.next().await;
        let started = Instant::now();
        let others = futures(&turns, 5).await;
        assert!(others.iter().all(Option::is_none));
        assert!(started.elapsed() <= BLOCKED_AFTER * 2, "{:?}", started.elapsed());
        // And not each time anew.
        let started = Instant::now();
        assert!(turns.next().await.is_none());
        assert_eq!(started.elapsed(), Duration::ZERO);
        drop(blocking);
        assert!(turns.next().await.is_some());
    }

    async fn futures(turns: &Turns, count: usize) -> Vec<Option<SemaphorePermit<'_>>> {
        let mut waiting: Vec<_> = (0..count).map(|_| Box::pin(turns.next())).collect();
        let mut given = Vec::new();
        std::future::poll_fn(|cx| {
            waiting.retain_mut(|turn| match turn.as_mut().poll(cx) {
                std::task::Poll::Ready(turn) => {
                    given.push(turn);
                    false
                }
                std::task::Poll::Pending => true,
            });
            if waiting.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
        given
    }
}
