//! Which bytes leave, in which order, and which count as accepted.

use std::sync::Arc;

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
        async move { output.run(|_| false).await }
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
        async move { output.run(|_| false).await }
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
        async move { output.run(|_| false).await }
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
    assert_eq!(output.run(|_| false).await.kind(), io::ErrorKind::BrokenPipe);
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
        error = output.run(|_| false) => panic!("{error}"),
        length = far.read(&mut frames) => assert_eq!(length.unwrap(), 4 * 24),
    }
}

#[tokio::test]
async fn the_flusher_waits_for_frames_that_are_expected_and_not_for_long() {
    let (output, mut far) = output(1_000);
    let asked = Arc::new(Mutex::new(Vec::new()));
    push(&output, 0, b"");
    output.wake();
    let expects = {
        let (output, asked) = (Arc::clone(&output), Arc::clone(&asked));
        move |batch| {
            let mut asked = asked.lock().unwrap();
            asked.push(batch);
            if asked.len() == 2 {
                push(&output, 1, b"");
            }
            true
        }
    };
    let mut frames = [0; 1_000];
    tokio::select! {
        biased;
        error = output.run(expects) => panic!("{error}"),
        length = far.read(&mut frames) => assert_eq!(length.unwrap(), 2 * 24),
    }
    assert_eq!(*asked.lock().unwrap(), [1, 1, 2, 2, 2, 2, 2, 2]);
    assert_eq!(output.lock().batch(), 0);
}
