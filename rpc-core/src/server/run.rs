//! A handler that did not answer at once, up to its answer.

use std::future::poll_fn;
use std::task::Poll;

use tokio::time::Instant;

use super::pace::LONG_POLL;
use super::panics::poll;
use super::table::Entry;
use super::{Answer, Handling, Shared};
use crate::status::StatusCode;

/// Polls a handler until it answers, but not after its deadline. Whether it computes is told too.
///
/// A handler of a slow method waits for its turn: the runtime does not look for what came in while a queue of them lasts, and short calls
/// would wait for all of it.
pub(super) async fn run(server: &Shared, entry: &Entry, deadline: Instant, handling: &mut Handling) -> (Answer, bool) {
    let mut computes = false;
    loop {
        let turn = if entry.pace.is_slow() { server.turns.next().await } else { None };
        let begun = Instant::now();
        if begun >= deadline {
            return (Answer::status(StatusCode::DeadlineExceeded, "no time was left"), computes);
        }
        let polled = poll_fn(|cx| Poll::Ready(poll(entry, handling, cx))).await;
        let took = begun.elapsed();
        entry.pace.note(took);
        computes |= took >= LONG_POLL;
        drop(turn);
        match polled {
            Poll::Ready(answer) => return (answer, computes),
            Poll::Pending => woken().await,
        }
    }
}

/// Waits until the task is woken, by whatever it was that was given its waker.
async fn woken() {
    let mut asked = false;
    poll_fn(|_| if std::mem::replace(&mut asked, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}
