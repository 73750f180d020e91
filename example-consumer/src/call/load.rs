//! When calls are made: one after the other by so many callers, or so many in a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::calls::Calls;
use super::tally::Tally;

/// Makes all calls, or those until `stop`, which drops what is under way then.
pub(super) async fn run(calls: &Arc<Calls>, stop: &CancellationToken) -> Tally {
    let (requests, duration) = calls.arguments.limits();
    let began = Instant::now();
    let numbers = Numbers { next: AtomicU64::new(0), requests, began, until: duration.map(|time| began + time) };
    match calls.arguments.rate {
        Some(rate) => open(calls, numbers, rate, stop).await,
        None => closed(calls, numbers, stop).await,
    }
}

/// The numbers of the calls that are still to be made.
#[derive(Debug)]
struct Numbers {
    next: AtomicU64,
    requests: u64,
    began: Instant,
    until: Option<Instant>,
}

impl Numbers {
    /// The next one, if there is a call to be made at that time.
    fn take(&self, due: Instant) -> Option<u64> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.requests && self.until.is_none_or(|until| due < until)).then_some(number)
    }
}

/// A closed loop: each caller makes a call when its last one is over.
async fn closed(calls: &Arc<Calls>, numbers: Numbers, stop: &CancellationToken) -> Tally {
    let numbers = Arc::new(numbers);
    let mut callers = JoinSet::new();
    for _ in 0..calls.arguments.concurrency() {
        let (calls, numbers, stop) = (Arc::clone(calls), Arc::clone(&numbers), stop.clone());
        callers.spawn(async move {
            let mut tally = Tally::default();
            let calling = async {
                let mut due = Instant::now();
                while let Some(number) = numbers.take(due) {
                    tally.add(calls.make(number, due).await);
                    due = Instant::now();
                }
            };
            stop.run_until_cancelled(calling).await;
            tally
        });
    }
    callers.join_all().await.into_iter().fold(Tally::default(), Tally::merged)
}

/// An open loop: each call is made at its time, whatever became of those before. Latencies count from there, so that a provider that stalls
/// shows in all the calls that it kept waiting. More than are to be under way at a time wait too; what waits until the time is over is not made.
async fn open(calls: &Arc<Calls>, numbers: Numbers, rate: u32, stop: &CancellationToken) -> Tally {
    let mut tally = Tally::default();
    let until = numbers.until;
    let mut due = schedule(numbers, rate);
    let most = calls.arguments.concurrency() as usize;
    let calling = async {
        let mut under_way = JoinSet::new();
        loop {
            tokio::select! {
                Some((number, at)) = due.recv(), if under_way.len() < most => {
                    if until.is_some_and(|until| Instant::now() >= until) {
                        due.close();
                        continue;
                    }
                    let calls = Arc::clone(calls);
                    under_way.spawn(async move { calls.make(number, at).await });
                }
                Some(outcome) = under_way.join_next() => tally.add(outcome.expect("a call neither panics nor is aborted")),
                else => break,
            }
        }
    };
    stop.run_until_cancelled(calling).await;
    tally
}

/// Tells the number and the time of each call when it is due. Its thread, which sleeps more exactly than the runtime does, ends when nobody
/// listens any longer.
fn schedule(numbers: Numbers, rate: u32) -> mpsc::Receiver<(u64, Instant)> {
    let (sender, receiver) = mpsc::channel(64);
    thread::spawn(move || {
        let mut due = numbers.began;
        while let Some(number) = numbers.take(due) {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if sender.blocking_send((number, due)).is_err() {
                return;
            }
            due = numbers.began + Duration::from_secs(number + 1) / rate;
        }
    });
    receiver
}
