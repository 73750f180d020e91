//! A connection that breaks fails the calls on it at once, and no others.

use std::time::{Duration, Instant};

use rpc::{Code, Executed};
use tokio::net::TcpListener;

use common::raw::Raw;
use common::stage::{answer, hello, honest_start};
use common::traffic::{Echo, EchoDispatcher, EchoStub, Mirror};
use common::{client, hold_to, server, within};

mod common;

const PENDING: usize = 100;
const AT_ONCE: Duration = Duration::from_millis(100);

#[tokio::test]
async fn all_pending_calls_fail_at_once_and_the_next_one_connects_again() {
    let honest = server(EchoDispatcher::new(Mirror)).start().await.unwrap();
    let (_, welcome) = Raw::greet(honest.address()).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let echo: EchoStub = client(&[listener.local_addr().unwrap()]).build().unwrap().stub().unwrap();
    let calls: Vec<_> = (0..PENDING)
        .map(|_| {
            let echo = echo.clone();
            tokio::spawn(async move { (echo.echo(b"lost".to_vec()).await, Instant::now()) })
        })
        .collect();
    let mut raw = Raw::accept(&listener).await;
    raw.send(&hello(&welcome.bytes())).await.unwrap();
    for _ in 0..PENDING {
        raw.read().await.unwrap().expect("a request");
    }
    let broken = Instant::now();
    raw.reset();
    let mut last = broken;
    for call in calls {
        let (result, ended) = call.await.unwrap();
        let error = result.unwrap_err();
        assert_eq!((error.code(), error.executed()), (Code::ConnectionLost, Executed::Maybe), "{error}");
        last = last.max(ended);
    }
    hold_to(AT_ONCE, last - broken, "all pending calls failed");

    let next = tokio::spawn(async move { echo.echo(b"next".to_vec()).await });
    let mut raw = within(AT_ONCE, "connected again", Raw::accept(&listener)).await;
    let request = honest_start(&mut raw, &welcome).await;
    raw.send(&answer(&request)).await.unwrap();
    assert_eq!(next.await.unwrap().unwrap(), b"next");
}
