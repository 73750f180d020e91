//! How far the calls are, while they are made.

use std::convert::Infallible;
use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::calls::Calls;

const PERIOD: Duration = Duration::from_millis(200);

/// To the beginning of the line, and clears it.
const CLEAR: &str = "\r\x1b[K";

/// Clears the line when it is dropped.
struct Line;

impl Drop for Line {
    fn drop(&mut self) {
        eprint!("{CLEAR}");
    }
}

/// Shows it in a line on stderr, if that is a terminal.
pub(super) async fn show(calls: &Calls) -> Infallible {
    if !io::stderr().is_terminal() {
        return std::future::pending().await;
    }
    let of = match calls.arguments.limits() {
        (_, Some(time)) => format!("calls; it takes {time:?}"),
        (1, None) => "of 1 call".to_owned(),
        (requests, None) => format!("of {requests} calls"),
    };
    let _line = Line;
    loop {
        eprint!("{CLEAR}{} {of}", calls.over.load(Ordering::Relaxed));
        tokio::time::sleep(PERIOD).await;
    }
}
