//! Which bytes leave, in which order, and which count as accepted.

use std::sync::{Arc, OnceLock, Weak};

use tokio::io::{AsyncReadExt, DuplexStream, duplex};

use super::*;
use crate::protocol::frame::Kind;

fn output(capacity: usize) -> (Arc<Output>, DuplexStream) {
    let (near, far) = duplex(capacity);
    (Arc::new(Output::new(Box::new(near))), far)
}

fn push(output: &Output, id: u64, body: &[u8]) {
    push_pieces(output, id, &[Bytes::copy_from_slice(body)]);
}

fn push_pieces(output: &Output, id: u64, body: &[Bytes]) {
    output.lock().push_with(Header::plain(Kind::Response, id), 4, |out| out.extend_from_slice(b"head"), body);
}

#[tokio::test]
async fn frames_leave_in_order_whoever_writes_them() {
    let (output, mut far) = output(1_000);
    let flusher = tokio::spawn({
        let output = Arc::clone(&output);
        async move { output.run(|_| None).await }
    });
    let bodies: Vec<Vec<u8>> = (0..60).map(|i| vec![i; [0, 5, 3_000, SHARED_FROM, 40_000][i as usize % 5]]).collect();
    let mut expected = Vec::new();
    for (id, body) in bodies.iter().enumerate() {
        push(&output, id as u64, body);
        if id % 3 == 0 {
            output.flush_now()
        } else {
            output.wake()
        }
        let header = Header::plain(Kind::Response, id as u64);
        expected.extend_from_slice(&header.to_bytes(4 + body.len() as u32));
        expected.extend_from_slice(b"head");
        expected.extend_from_slice(body);
    }
    let mut read = vec![0; expected.len()];
    far.read_exact(&mut read).await.unwrap();
    assert!(read == expected);
    while !output.lock().is_idle() {
        tokio::task::yield_now().await;
    }
    flusher.abort();
}

#[tokio::test]
async fn a_body_in_pieces_leaves_as_one() {
    let (output, mut far) = output(1_000_000);
    let pieces = [3, SHARED_FROM, 5, SHARED_FROM, 40_000, 0].map(|length| Bytes::from(vec![length as u8; length]));
    push_pieces(&output, 1, &pieces);
    push(&output, 2, b"next");
    output.flush_now();
    let whole = pieces.concat();
    let header = |id, body: &[u8]| Header::plain(Kind::Response, id).to_bytes(4 + body.len() as u32);
    let expected = [&header(1, &whole)[..], b"head", &whole, &header(2, b"next"), b"head", b"next"].concat();
    let mut read = vec![0; expected.len()];
    far.read_exact(&mut read).await.unwrap();
    assert!(read == expected);
    assert!(output.lock().is_idle());
}

#[tokio::test]
async fn counts_only_what_the_socket_accepted() {
    let (output, _far) = output(30);
    push(&output, 1, b"");
    let first_end = output.lock().end();
    push(&output, 2, b"");
    output.flush_now();
    let accepted = output.close();
    assert_eq!((first_end, accepted), (24, 30));
}

#[tokio::test]
async fn writing_in_place_leaves_the_flushers_wait_for_the_socket_alone() {
    let (output, mut far) = output(64);
    let flusher = tokio::spawn({
        let output = Arc::clone(&output);
        async move { output.run(|_| None).await }
    });
    push(&output, 1, &[1; 500]);
    output.wake();
    while output.progress().0 == 0 {
        tokio::task::yield_now().await;
    }
    push(&output, 2, b"answer");
    output.flush_now();
    let mut all = vec![0; 20 + 4 + 500 + 20 + 4 + 6];
    far.read_exact(&mut all).await.unwrap();
    assert!(all.ends_with(b"answer"));
    flusher.abort();
}

#[tokio::test]
async fn senders_wait_for_room_and_get_it() {
    let (output, mut far) = output(1_000);
    push(&output, 1, &vec![0; ROOM as usize + 1]);
    assert!(!output.has_room());
    let flusher = tokio::spawn({
        let output = Arc::clone(&output);
        async move { output.run(|_| None).await }
    });
    output.wake();
    let reader = tokio::spawn(async move {
        let mut sink = vec![0; ROOM as usize];
        far.read_exact(&mut sink).await.unwrap();
        far
    });
    output.room().await;
    assert!(output.has_room());
    reader.await.unwrap();
    flusher.abort();
}

#[tokio::test]
async fn closing_lets_those_who_wait_for_room_go() {
    let (output, _far) = output(10);
    push(&output, 1, &vec![0; ROOM as usize + 1]);
    let waiting = tokio::spawn({
        let output = Arc::clone(&output);
        async move { output.room().await }
    });
    tokio::task::yield_now().await;
    output.close();
    waiting.await.unwrap();
}

#[tokio::test]
async fn a_failed_write_in_place_ends_the_flusher() {
    let (output, far) = output(10);
    drop(far);
    push(&output, 1, b"body");
    output.flush_now();
    assert_eq!(output.run(|_| None).await.kind(), io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn shutdown_writes_everything_first() {
    let (output, mut far) = output(10);
    push(&output, 1, &[7; 100_000]);
    let reader = tokio::spawn(async move {
        let mut all = Vec::new();
        far.read_to_end(&mut all).await.unwrap();
        all.len()
    });
    output.shutdown().await.unwrap();
    assert_eq!(reader.await.unwrap(), 20 + 4 + 100_000);
}

#[test]
fn long_pieces_are_queued_where_they_are_and_shorter_ones_copied() {
    let (output, _far) = output(10);
    let (long, shorter) = (Bytes::from(vec![7; SHARED_FROM]), Bytes::from(vec![8; SHARED_FROM - 1]));
    push_pieces(&output, 1, &[long.clone(), shorter]);
    let mut state = lock(&output.state);
    let [Segment::Copied(_), Segment::Shared(shared), Segment::Copied(copied)] = state.queue.make_contiguous() else {
        panic!("three segments")
    };
    assert_eq!((shared.as_ptr(), copied.len()), (long.as_ptr(), SHARED_FROM - 1));
}

#[tokio::test]
async fn frames_of_tasks_that_are_ready_leave_with_the_one_that_woke_the_flusher() {
    let (output, mut far) = output(1_000);
    push(&output, 0, b"");
    output.wake();
    for id in 1..4 {
        let output = Arc::clone(&output);
        tokio::spawn(async move { push(&output, id, b"") });
    }
    let mut frames = [0; 1_000];
    tokio::select! {
        biased;
        error = output.run(|_| None) => panic!("{error}"),
        length = far.read(&mut frames) => assert_eq!(length.unwrap(), 4 * 24),
    }
}

/// Runs the flusher until everything is written, with one who says each time how many more are expected. What it was asked.
async fn asked_for(output: &Output, far: &mut DuplexStream, expected: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let asked = Mutex::new(Vec::new());
    let expected = |frames| {
        lock(&asked).push(frames);
        expected(frames)
    };
    let mut frames = [0; 1_000];
    tokio::select! {
        biased;
        error = output.run(expected) => panic!("{error}"),
        length = far.read(&mut frames) => println!("{length:?}"),
    }
    assert!(output.lock().is_idle());
    asked.into_inner().unwrap()
}

/// Queues another frame in the middle of the first write.
struct Joined {
    output: Arc<OnceLock<Weak<Output>>>,
    writes: Arc<Mutex<Vec<usize>>>,
}

impl AsyncWrite for Joined {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut writes = lock(&self.writes);
        if writes.is_empty() {
            push(&self.output.get().unwrap().upgrade().unwrap(), 2, b"");
        }
        writes.push(bytes.len());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_queued_while_a_caller_writes_is_left_to_the_flusher() {
    let (place, writes) = (Arc::new(OnceLock::new()), Arc::new(Mutex::new(Vec::new())));
    let joined = Joined { output: Arc::clone(&place), writes: Arc::clone(&writes) };
    let output = Arc::new(Output::new(Box::new(joined)));
    place.set(Arc::downgrade(&output)).unwrap();
    push(&output, 1, b"");
    output.flush_now();
    assert_eq!((&lock(&writes)[..], output.lock().is_idle()), (&[24][..], false));
    let written = async {
        while !output.lock().is_idle() {
            tokio::time::sleep(MAX_HOLD).await;
        }
    };
    tokio::select! {
        error = output.run(|_| None) => panic!("{error}"),
        () = written => assert_eq!(lock(&writes)[..], [24, 24]),
        () = tokio::time::sleep(Duration::from_secs(1)) => panic!("nobody writes it"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_flusher_waits_for_frames_that_are_expected_and_not_for_long() {
    let (output, mut far) = output(1_000);
    push(&output, 0, b"");
    output.wake();
    let comes_late = Mutex::new(3);
    let asked = asked_for(&output, &mut far, |_| {
        let mut turns = lock(&comes_late);
        *turns -= 1;
        if *turns == 0 {
            push(&output, 1, b"");
        }
        Some(1)
    });
    assert_eq!(asked.await, [1, 1, 1, 2, 2, 2, 2, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn the_flusher_does_not_wait_when_there_is_enough() {
    let (output, mut far) = output(1_000);
    push(&output, 0, b"");
    output.wake();
    assert_eq!(asked_for(&output, &mut far, |frames| (frames < 1).then_some(7)).await, [1]);
}

#[tokio::test]
async fn the_flusher_waits_no_longer_than_its_time_where_turns_are_long() {
    let (output, mut far) = output(1_000);
    push(&output, 0, b"");
    output.wake();
    tokio::spawn(async {
        let begun = std::time::Instant::now();
        while begun.elapsed() < MAX_HOLD {}
    });
    assert_eq!(asked_for(&output, &mut far, |_| Some(1)).await, [1]);
}

#[tokio::test(start_paused = true)]
async fn who_did_not_come_is_not_waited_for_again() {
    let (output, mut far) = output(1_000);
    let (asked, coming) = (Mutex::new(0), Mutex::new(2));
    let flush = async |output: &Output, far: &mut DuplexStream| {
        push(output, 0, b"");
        output.wake();
        far.read_exact(&mut [0; 24]).await.unwrap();
        std::mem::take(&mut *lock(&asked))
    };
    let flusher = output.run(|_| {
        *lock(&asked) += 1;
        Some(*lock(&coming))
    });
    let rounds = async {
        let mut all = Vec::new();
        for now_coming in [2, 2, 3, 3, 1, 2] {
            *lock(&coming) = now_coming;
            all.push(flush(&output, &mut far).await);
        }
        all
    };
    tokio::select! {
        biased;
        error = flusher => panic!("{error}"),
        all = rounds => assert_eq!(all, [9, 1, 9, 1, 1, 9]),
    }
}
