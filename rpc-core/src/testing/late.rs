//! Answers that come after their calls have ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::Network;
use super::fake::{Fake, call};
use crate::protocol::frame::{Header, Kind};
use crate::protocol::message::Response;
use crate::transport::connection::Connection;
use crate::transport::pending::Settled;

const ADDRESS: &str = "10.0.0.1:1";
const ROUNDS: u64 = 100;
const AT_ONCE: u64 = 100;

/// Answers a call when it is cancelled, which is too late; the call after `count` such ones in time.
async fn answer_late(mut server: Fake, count: u64) {
    let mut cancelled = 0;
    while let Some(frame) = server.read().await {
        match frame.header {
            Header { kind: Kind::Cancel, id, .. } => {
                cancelled += 1;
                server.answer(id, "late").await;
            }
            Header { kind: Kind::Request, id, .. } if cancelled == count => server.answer(id, "own").await,
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_late_answers_are_counted_and_leave_nothing_behind() {
    let network = Network::default();
    let mut clients = network.listen(ADDRESS.parse().unwrap());
    let io = network.dial(ADDRESS).await;
    let (connection, server) = tokio::join!(Connection::open(io, 1_000_000), Fake::server(&mut clients));
    let connection = Arc::new(connection.unwrap());
    let _server = tokio::spawn(answer_late(server, ROUNDS * AT_ONCE));
    for _ in 0..ROUNDS {
        let mut calls = JoinSet::new();
        for _ in 0..AT_ONCE {
            let connection = Arc::clone(&connection);
            calls.spawn(async move { call(&connection, Duration::from_millis(10)).await });
        }
        while let Some(answer) = calls.join_next().await {
            let answer = answer.unwrap().unwrap();
            assert!(matches!(answer, Settled::Expired), "{answer:?}");
        }
    }
    let own = call(&connection, Duration::from_secs(1)).await.unwrap();
    assert!(matches!(&own, Settled::Response(_, Response::Ok(body)) if **body == *b"\x03own"), "{own:?}");
    let pending = connection.pending();
    assert_eq!((pending.len(), pending.late()), (0, ROUNDS * AT_ONCE));
    assert_eq!(pending.slots(), AT_ONCE as usize);
}
