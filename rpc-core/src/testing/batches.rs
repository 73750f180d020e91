//! How many requests share a write.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncWrite, DuplexStream, WriteHalf, duplex, split};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, yield_now};
use tokio::time::Instant;

use super::fake::{self, Fake, connected};
use crate::lock::lock;
use crate::protocol::frame::{HEADER, Header, Kind};
use crate::transport::Io;
use crate::transport::connection::Connection;
use crate::transport::pending::Settled;

/// Bytes of a request: the header, the method and the time left.
const REQUEST: usize = HEADER + 4 + 8;
/// Many callers.
const CALLS: usize = 64;

/// A stream that notes how much is written at a time.
struct Noting {
    stream: WriteHalf<DuplexStream>,
    writes: Arc<Mutex<Vec<usize>>>,
}

impl AsyncWrite for Noting {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        lock(&self.writes).push(bytes.len());
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A connection, its server, and what tells how many requests each write since the last look had.
async fn noted() -> (Arc<Connection>, Fake, impl Fn() -> Vec<usize>) {
    let (near, far) = duplex(1 << 20);
    let (reader, stream) = split(near);
    let writes = Arc::new(Mutex::new(Vec::new()));
    let writer = Noting { stream, writes: Arc::clone(&writes) };
    let near = Io { reader: Box::new(reader), writer: Box::new(writer), peer: None };
    let (connection, server) = connected(near, far.into()).await;
    lock(&writes).clear();
    (connection, server, move || lock(&writes).drain(..).map(|bytes| bytes / REQUEST).collect())
}

async fn call(connection: &Connection) {
    let answer = fake::call(connection, Duration::from_secs(9)).await;
    assert!(matches!(answer, Ok(Settled::Response(..))), "{answer:?}");
}

/// Answers this many requests, all at once.
async fn answer(server: &mut Fake, calls: usize) {
    let mut answers = Vec::new();
    for _ in 0..calls {
        let header = Header { codec: 1, ..Header::plain(Kind::Response, server.request().await) };
        answers.extend_from_slice(&header.to_bytes(0));
    }
    server.write(&answers).await;
}

/// Has so many callers make three calls each.
fn call_three_times(connection: &Arc<Connection>) -> JoinSet<()> {
    let mut callers = JoinSet::new();
    for _ in 0..CALLS {
        let connection = Arc::clone(connection);
        callers.spawn(async move {
            for _ in 0..3 {
                call(&connection).await;
            }
        });
    }
    callers
}

/// Makes a call, but looks for the answer only when it may, some turns later.
async fn call_and_come_late(connection: &Connection, may_come: &Semaphore, turns: usize) {
    let mut waiting = pin!(call(connection));
    let sent = poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx))).await;
    assert!(sent.is_pending());
    let _permit = may_come.acquire().await.unwrap();
    for _ in 0..turns {
        yield_now().await;
    }
    waiting.await;
}

/// Waits until every call has its answer, taken or not.
async fn all_answered(connection: &Connection) {
    while connection.pending().len() > 0 {
        yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_half_of_many_calls_leaves_while_the_other_is_made() {
    let (connection, mut server, writes) = noted().await;
    // What is read first on a thread may be one of many there.
    tokio::join!(call(&connection), answer(&mut server, 1));
    let callers = call_three_times(&connection);
    answer(&mut server, CALLS).await;
    writes();
    for _ in 0..2 {
        answer(&mut server, CALLS).await;
        assert_eq!(writes(), [32, 32]);
    }
    callers.join_all().await;
    assert_eq!(writes(), [0; 0]);
}

#[tokio::test(start_paused = true)]
async fn all_leave_together_once_another_connection_is_read_on_the_thread() {
    let (connection, mut server, writes) = noted().await;
    let (other, mut other_server, _) = noted().await;
    for _ in 0..2 {
        tokio::join!(call(&connection), answer(&mut server, 1));
    }
    let callers = call_three_times(&connection);
    answer(&mut server, CALLS).await;
    tokio::join!(call(&other), answer(&mut other_server, 1));
    answer(&mut server, CALLS).await;
    writes();
    answer(&mut server, CALLS).await;
    assert_eq!(writes(), [CALLS]);
    callers.join_all().await;
}

#[tokio::test(start_paused = true)]
async fn a_lone_call_is_written_by_its_caller() {
    let (connection, mut server, writes) = noted().await;
    let mut calling = pin!(call(&connection));
    assert!(poll_fn(|cx| Poll::Ready(calling.as_mut().poll(cx))).await.is_pending());
    assert_eq!(writes(), [1]);
    tokio::join!(calling, answer(&mut server, 1));
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_an_answer_is_not_waited_for() {
    let (connection, mut server, writes) = noted().await;
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let connection = Arc::clone(&connection);
        callers.spawn(async move { call(&connection).await });
    }
    for _ in 0..8 {
        server.request().await;
    }
    writes();
    let mut ninth = pin!(call(&connection));
    assert!(poll_fn(|cx| Poll::Ready(ninth.as_mut().poll(cx))).await.is_pending());
    let mut turns = 0;
    while writes().is_empty() {
        yield_now().await;
        turns += 1;
    }
    assert!(turns <= 4, "{turns}");
}

#[tokio::test(start_paused = true)]
async fn requests_wait_for_those_of_callers_who_are_about_to_come() {
    let (connection, mut server, writes) = noted().await;
    let may_come = Arc::new(Semaphore::new(0));
    let mut callers = JoinSet::new();
    for turns in [0, 2, 20, 20] {
        let (connection, may_come) = (Arc::clone(&connection), Arc::clone(&may_come));
        callers.spawn(async move {
            call_and_come_late(&connection, &may_come, turns).await;
            call(&connection).await;
        });
    }
    answer(&mut server, 4).await;
    all_answered(&connection).await;
    writes();
    may_come.add_permits(4);
    answer(&mut server, 4).await;
    callers.join_all().await;
    assert_eq!(writes(), [2, 2]);
}

#[tokio::test(start_paused = true)]
async fn requests_do_not_wait_for_a_caller_who_does_not_come() {
    const LATE: usize = 8;
    let (connection, mut server, writes) = noted().await;
    let may_come = Arc::new(Semaphore::new(0));
    let mut callers = JoinSet::new();
    for _ in 0..LATE {
        let (connection, may_come) = (Arc::clone(&connection), Arc::clone(&may_come));
        callers.spawn(async move { call_and_come_late(&connection, &may_come, 0).await });
    }
    answer(&mut server, LATE).await;
    all_answered(&connection).await;
    writes();
    let begun = Instant::now();
    tokio::join!(call(&connection), call(&connection), answer(&mut server, 2));
    assert_eq!((writes(), begun.elapsed()), (vec![2], Duration::ZERO));
    may_come.add_permits(LATE);
    callers.join_all().await;
}
