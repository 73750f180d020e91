//! What is read, and when a connection polls for it.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{Wake, Waker};
use std::time::Duration;

use tokio::io::{AsyncWriteExt, DuplexStream};

use super::*;
use crate::protocol::frame::{HEADER, Header, Kind};

fn input(size: usize) -> (Input, DuplexStream) {
    let (near, far) = tokio::io::duplex(size);
    (Input::new(Box::new(near), u32::MAX), far)
}

/// What is ready at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("not ready"),
    }
}

fn read_one(input: &mut Input, far: &mut DuplexStream) {
    ready(far.write_all(b"x")).unwrap();
    assert_eq!(ready(input.read()).unwrap(), 1);
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wakes {
    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// An input that will busy poll, on a machine with several processors.
fn promising() -> (Input, DuplexStream) {
    let (mut input, mut far) = input(READ);
    input.busy_poll = BusyPoll::with_processors(true);
    read_one(&mut input, &mut far);
    read_one(&mut input, &mut far);
    input.busy_poll.waited(Duration::ZERO);
    (input, far)
}

/// Polls a read as often as it wakes itself, and does something `before` one of the polls; how many polls. Without a runtime, who
/// yields wakes itself at once.
fn polls_with(input: &mut Input, before: usize, mut act: impl FnMut()) -> usize {
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut read = std::pin::pin!(input.read());
    let mut polls = 0;
    while polls <= wakes.count() {
        polls += 1;
        if polls == before {
            act();
        }
        assert!(read.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    polls
}

/// How many polls until it sleeps.
fn polls(input: &mut Input) -> usize {
    polls_with(input, 0, || {})
}

/// A read that has to wait, and then need not.
fn read_one_late(input: &mut Input, far: &mut DuplexStream) {
    let mut read = std::pin::pin!(input.read());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(read.as_mut().poll(&mut cx).is_pending());
    ready(far.write_all(b"x")).unwrap();
    assert!(matches!(read.as_mut().poll(&mut cx), Poll::Ready(Ok(1))));
}

/// Whether it is so once: while the machine is busy with something else, turns are long.
fn one_of_many(is_so: impl FnMut() -> bool) -> bool {
    std::iter::repeat_with(is_so).take(10_000).any(|is_so| is_so)
}

fn compute(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {}
}

/// Counts how often it is polled.
struct Counted(DuplexStream, Arc<AtomicUsize>);

impl AsyncRead for Counted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

#[tokio::test]
async fn reads_append_and_then_say_that_the_stream_ended() {
    let (mut input, mut far) = input(READ);
    input.buffer.extend_from_slice(b"a");
    far.write_all(b"bc").await.unwrap();
    assert_eq!(input.read().await.unwrap(), 2);
    drop(far);
    assert_eq!(input.read().await.unwrap(), 0);
    assert_eq!(input.buffer, "abc");
}

#[tokio::test]
async fn long_frames_are_read_where_they_belong() {
    let (mut input, mut far) = input(4 * READ);
    let header = Header::plain(Kind::Request, 1).to_bytes(2 * READ as u32);
    far.write_all(&header).await.unwrap();
    input.read().await.unwrap();
    assert_eq!(input.next().unwrap(), None);
    let place = input.buffer.as_ptr();
    far.write_all(&[7; 2 * READ + 1]).await.unwrap();
    assert_eq!(input.read().await.unwrap(), 2 * READ, "and nothing behind them");
    assert_eq!((input.buffer.as_ptr(), input.buffer.len()), (place, HEADER + 2 * READ));
}

#[tokio::test]
async fn an_input_that_waits_holds_little_room() {
    for room in [KEPT_BUFFER + 1, 100 * READ] {
        let (mut input, mut far) = input(READ);
        input.buffer.reserve(room);
        far.write_all(b"x").await.unwrap();
        input.read().await.unwrap();
        assert!(input.buffer.capacity() <= 64, "{}", input.buffer.capacity());
    }
}

#[test]
fn after_a_short_wait_it_polls_for_a_while_before_it_sleeps() {
    let (mut input, _far) = promising();
    // Others have their turn before each of at least two more tries.
    assert!(one_of_many(|| {
        input.busy_poll.waited(Duration::ZERO);
        polls(&mut input) >= 3
    }));
    input.busy_poll.waited(Duration::from_secs(1));
    assert_eq!(polls(&mut input), 1);
}

#[test]
fn a_short_wait_is_noted() {
    let (mut input, mut far) = promising();
    assert!(one_of_many(|| {
        input.busy_poll.waited(Duration::from_secs(1));
        read_one_late(&mut input, &mut far);
        input.busy_poll.begin()
    }));
}

#[test]
fn what_is_there_at_once_is_no_wait() {
    let (mut input, mut far) = promising();
    read_one(&mut input, &mut far);
    assert!(input.busy_poll.begin());
    input.busy_poll.waited(Duration::from_secs(1));
    read_one(&mut input, &mut far);
    assert!(!input.busy_poll.begin());
}

#[test]
fn whoever_shares_a_thread_sleeps_at_once() {
    let (mut other, mut far_other) = input(READ);
    let (mut input, mut far) = promising();
    read_one(&mut other, &mut far_other);
    read_one(&mut input, &mut far);
    assert_eq!((input.shares_thread(), polls(&mut input)), (true, 1));
    read_one(&mut input, &mut far);
    assert!(!input.shares_thread() && polls(&mut input) > 1);
}

#[test]
fn another_that_reads_on_the_thread_ends_a_busy_poll() {
    let (mut other, mut far_other) = input(READ);
    for _ in 0..100 {
        let (mut input, _far) = promising();
        assert!(polls_with(&mut input, 3, || read_one(&mut other, &mut far_other)) <= 3);
    }
}

#[test]
fn a_thread_with_something_else_to_do_ends_a_busy_poll_that_does_not_count() {
    let (mut input, _far) = promising();
    for _ in 0..20 {
        input.busy_poll.waited(Duration::ZERO);
        assert!(polls_with(&mut input, 3, || compute(BUSY_TURN)) <= 3);
    }
    input.busy_poll.waited(Duration::ZERO);
    assert!(input.busy_poll.begin());
}

#[test]
fn whom_the_last_read_woke_may_compute() {
    let (mut input, _far) = promising();
    assert!(one_of_many(|| {
        input.busy_poll.waited(Duration::ZERO);
        polls_with(&mut input, 2, || compute(BUSY_TURN)) >= 3
    }));
}

#[test]
fn busy_polls_in_vain_come_to_an_end() {
    let (mut input, _far) = promising();
    assert!(one_of_many(|| {
        input.busy_poll.waited(Duration::ZERO);
        polls(&mut input) == 1
    }));
}

#[test]
fn busy_polls_that_find_something_make_up_for_those_in_vain() {
    let (mut input, mut far) = promising();
    (0..7).for_each(|_| input.busy_poll.end(LONGEST, false));
    for _ in 0..16 {
        input.busy_poll.waited(Duration::ZERO);
        read_one_late(&mut input, &mut far);
        assert!(input.peer_is_quick());
    }
    input.busy_poll.waited(Duration::ZERO);
    input.busy_poll.end(LONGEST, false);
    assert!(input.busy_poll.begin());
}

#[test]
fn a_thread_gives_its_processor_away_now_and_then() {
    let begun = Instant::now();
    let mut thread = Thread { buffer: Box::default(), last: 0, yielded: begun };
    let yields: Vec<_> = (1..=2_000).filter(|us| thread.yields(begun + Duration::from_micros(*us))).collect();
    assert_eq!(yields, [500, 1_000, 1_500, 2_000]);
}

#[tokio::test]
async fn what_comes_now_and_then_is_not_polled_for() {
    let (near, mut far) = tokio::io::duplex(READ);
    let tries = Arc::new(AtomicUsize::new(0));
    let mut input = Input::new(Box::new(Counted(near, Arc::clone(&tries))), u32::MAX);
    let sender = tokio::spawn({
        let tries = Arc::clone(&tries);
        async move {
            for sent in 0..20 {
                while tries.load(Ordering::Relaxed) < 3 * sent + 2 {
                    yield_now().await;
                }
                // It sleeps. The wait is to be longer than a short one, whatever the machine does.
                tokio::time::sleep(Duration::from_millis(2)).await;
                far.write_all(b"x").await.unwrap();
            }
        }
    });
    let read = async {
        for _ in 0..20 {
            input.read().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(20), read).await.unwrap();
    sender.await.unwrap();
    // One at once, one to sleep, one when it is woken.
    assert_eq!(tries.load(Ordering::Relaxed), 3 * 20);
}
