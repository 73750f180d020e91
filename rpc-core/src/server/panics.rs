//! The user's code, which may panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use super::table::Entry;
use super::{Answer, Handling};
use crate::status::StatusCode;

/// Polls a handler; a panic is its answer.
pub(super) fn poll(entry: &Entry, handling: &mut Handling, cx: &mut Context<'_>) -> Poll<Answer> {
    catch(entry, || handling.as_mut().poll(cx)).unwrap_or_else(Poll::Ready)
}

/// Runs the user's code. What a panic says stays on this side; the caller learns that there was one.
pub(super) fn catch<T>(entry: &Entry, code: impl FnOnce() -> T) -> Result<T, Answer> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let text = panic_text(&*panic);
        tracing::error!(service = entry.service(), method = entry.method(), panic = text, "a handler panicked");
        // What was thrown may itself panic when it is dropped.
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(second);
        }
        Answer::status(StatusCode::Internal, "the handler panicked")
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a value that is no text")
}
