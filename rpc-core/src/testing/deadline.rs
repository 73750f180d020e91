//! A call ends at its deadline, on both sides: never before, at most a tick after.

use std::time::Duration;

use tokio::time::Instant;

use super::probe::{Counting, Probe, ProbeStub};
use super::{Network, assert_took, until};
use crate::{CallOptions, Code, Executed};

#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_ends_at_its_deadline() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve("10.0.0.1:1", service.server()).await;
    let probe: ProbeStub = network.client("10.0.0.1:1").build().unwrap().stub().unwrap();
    probe.echo("connect first".into()).await.unwrap();
    for timeout in [1, 7, 300, 2_999].map(Duration::from_millis) {
        let started = Instant::now();
        let error = probe.with(CallOptions::new().timeout(timeout)).nap(60_000).await.unwrap_err();
        assert_took(started, timeout);
        assert_eq!((error.code(), error.executed()), (Code::DeadlineExceeded, Executed::Maybe));
        assert!(error.message().contains("`Probe.nap`"), "{error}");
    }
    until(|| service.running() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn the_default_is_three_seconds() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve("10.0.0.1:1", service.server()).await;
    let probe: ProbeStub = network.client("10.0.0.1:1").build().unwrap().stub().unwrap();
    let started = Instant::now();
    probe.nap(60_000).await.unwrap_err();
    assert_took(started, Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn the_server_drops_the_handler_at_the_deadline_by_itself() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve("10.0.0.1:1", service.server()).await;
    let mut client = super::fake::Fake::new(network.dial("10.0.0.1:1").await);
    let started = Instant::now();
    client.greet().await;
    let (napping, time_left) = (1_u32.to_le_bytes(), 500_000_u64.to_le_bytes());
    client.request_with(0b01, 7, &[&napping[..], &time_left, &[251, 0xFF, 0xFF]].concat()).await;
    let answer = client.read().await.unwrap();
    assert_took(started, Duration::from_millis(500));
    assert_eq!((answer.header.id, answer.header.flags, answer.payload[0]), (7, 0b10, 5));
    until(|| service.running() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_inside_a_handler_has_no_more_time_than_the_handler() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve("10.0.0.1:1", service.server()).await;
    let probe: ProbeStub = network.client("10.0.0.1:1").build().unwrap().stub().unwrap();
    let deadline = Instant::now() + Duration::from_millis(200);
    let context = crate::Context::local("test", deadline, crate::Metadata::default());
    let started = Instant::now();
    let error = context.scope(async { probe.nap(60_000).await.unwrap_err() }).await;
    assert_took(started, Duration::from_millis(200));
    assert_eq!(error.code(), Code::DeadlineExceeded);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_beyond_every_clock_is_accepted() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve("10.0.0.1:1", service.server()).await;
    let probe: ProbeStub = network.client("10.0.0.1:1").build().unwrap().stub().unwrap();
    let patient = probe.with(CallOptions::new().timeout(Duration::MAX));
    assert_eq!(patient.nap(5_000).await.unwrap(), 5_000);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_end_at_their_deadlines_and_the_next_is_answered() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve("10.0.0.1:1", service.server()).await;
    let probe: ProbeStub = network.client("10.0.0.1:1").build().unwrap().stub().unwrap();
    for _ in 0..10 {
        let impatient = probe.with(CallOptions::new().timeout(Duration::from_millis(10)));
        let calls: Vec<_> = (0..1_000)
            .map(|_| {
                let impatient = impatient.clone();
                tokio::spawn(async move { impatient.nap(50).await })
            })
            .collect();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap_err().code(), Code::DeadlineExceeded);
        }
    }
    assert_eq!(probe.echo("mine".into()).await.unwrap(), "mine");
    until(|| service.running() == 0).await;
}
