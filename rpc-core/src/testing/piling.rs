//! Answers that come faster than they are taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::duplex;
use tokio::task::JoinSet;

use super::fake::{call, connected};
use crate::protocol::frame::{Header, Kind};
use crate::transport::pending::Settled;

const CALLS: usize = 100;
const ANSWER: usize = 64 * 1024;

#[tokio::test(start_paused = true)]
async fn long_answers_that_are_there_all_at_once_are_taken_before_more_are_read() {
    let (near, far) = duplex(2 * CALLS * ANSWER);
    let (connection, mut server) = connected(near.into(), far.into()).await;

    let (taken, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut calls = JoinSet::new();
    for _ in 0..CALLS {
        let (connection, taken, most) = (Arc::clone(&connection), Arc::clone(&taken), Arc::clone(&most));
        calls.spawn(async move {
            let answer = call(&connection, Duration::from_secs(9)).await;
            assert!(matches!(answer, Ok(Settled::Response(..))), "{answer:?}");
            let answered = CALLS - connection.pending().len();
            most.fetch_max(answered - taken.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        });
    }
    let mut answers = Vec::new();
    for _ in 0..CALLS {
        let header = Header { codec: 1, ..Header::plain(Kind::Response, server.request().await) };
        answers.extend_from_slice(&header.to_bytes(ANSWER as u32));
        answers.extend_from_slice(&[7; ANSWER]);
    }
    server.write(&answers).await;
    calls.join_all().await;
    let most = most.load(Ordering::Relaxed);
    println!("at most {most} answers at a time waited to be taken");
    assert!(most <= 6, "{most}");
}
