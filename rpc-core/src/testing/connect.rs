//! One connection an address, made when it is needed, and not too often when it fails.

use std::time::Duration;

use tokio::time::Instant;

use super::fake::Fake;
use super::probe::{Counting, Probe, ProbeStub};
use super::{Network, assert_took};
use crate::{Code, Executed};

const ADDRESS: &str = "10.0.0.1:1";

#[tokio::test(start_paused = true)]
async fn callers_that_come_together_share_one_connection() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve(ADDRESS, service.server()).await;
    let client = network.client(ADDRESS).build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    assert_eq!(network.connects(), 0);
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let probe = probe.clone();
            tokio::spawn(async move { probe.echo("hello".into()).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    client.stub::<ProbeStub>().unwrap().echo("same".into()).await.unwrap();
    assert_eq!(network.connects(), 1);
}

#[tokio::test(start_paused = true)]
async fn connecting_takes_no_longer_than_its_timeout_hello_included() {
    let network = Network::default();
    let mut clients = network.listen(ADDRESS.parse().unwrap());
    let probe: ProbeStub = network.client(ADDRESS).build().unwrap().stub().unwrap();
    let started = Instant::now();
    let error = probe.echo("hello".into()).await.unwrap_err();
    assert_took(started, Duration::from_millis(500));
    assert_eq!((error.code(), error.executed()), (Code::Unavailable, Executed::No));
    drop(clients.recv().await);
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_replaced_by_the_next_call() {
    let network = Network::default();
    let mut clients = network.listen(ADDRESS.parse().unwrap());
    let probe: ProbeStub = network.client(ADDRESS).build().unwrap().stub().unwrap();
    for round in ["one", "two", "three"] {
        let call = tokio::spawn({
            let probe = probe.clone();
            async move { probe.echo(round.into()).await }
        });
        let mut server = Fake::server(&mut clients).await;
        let id = server.request().await;
        server.answer(id, round).await;
        assert_eq!(call.await.unwrap().unwrap(), round);
        drop(server);
        // The end of the stream is read before the next call is made.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(network.connects(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_cannot_be_reached_is_left_alone_for_a_while() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve("10.0.0.2:1", service.server()).await;
    let probe: ProbeStub = network.client("10.0.0.1:1,10.0.0.2:1").build().unwrap().stub().unwrap();
    let mut connects = Vec::new();
    for _ in 0..100 {
        probe.echo("hello".into()).await.unwrap();
        connects.push(network.connects() - 1);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // At 0 ms, and after pauses of 100, 200 and 400 ms.
    assert_eq!(connects.last(), Some(&4));
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_left_alone_is_tried_if_there_is_no_other() {
    let (network, service) = (Network::default(), Counting::default());
    let probe: ProbeStub = network.client(ADDRESS).build().unwrap().stub().unwrap();
    probe.echo("nobody there".into()).await.unwrap_err();
    let _server = network.serve(ADDRESS, service.server()).await;
    probe.echo("at once".into()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn only_the_first_call_waits_for_an_instance_that_does_not_say_hello() {
    let (network, service) = (Network::default(), Counting::default());
    // It accepts, and is silent: each connect takes the whole timeout.
    let _mute = network.listen("10.0.0.1:1".parse().unwrap());
    let _server = network.serve("10.0.0.2:1", service.server()).await;
    let probe: ProbeStub = network.client("10.0.0.1:1,10.0.0.2:1").build().unwrap().stub().unwrap();
    let started = Instant::now();
    probe.echo("hello".into()).await.unwrap();
    assert_took(started, Duration::from_millis(500));
    for _ in 0..1_000 {
        let started = Instant::now();
        probe.echo("hello".into()).await.unwrap();
        assert_took(started, Duration::ZERO);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // In the background it is tried all the while, after pauses that grow.
    let tries = network.connects() - 1;
    assert!((5..=8).contains(&tries), "{tries}");
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_comes_back_is_found_without_a_call_having_to_wait() {
    let (network, services) = (Network::default(), [Counting::default(), Counting::default()]);
    let _server = network.serve("10.0.0.2:1", services[1].server()).await;
    let probe: ProbeStub = network.client("10.0.0.1:1,10.0.0.2:1").build().unwrap().stub().unwrap();
    probe.echo("hello".into()).await.unwrap();
    let _back = network.serve("10.0.0.1:1", services[0].server()).await;
    while services[0].started() == 0 {
        let started = Instant::now();
        probe.echo("hello".into()).await.unwrap();
        assert_took(started, Duration::ZERO);
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert!(services[1].started() < 20, "the first pause is 100 ms");
    }
}
