//! A server leaves without losing a call.

use std::time::Duration;

use tokio::time::Instant;

use super::fake::{Fake, echo_request};
use super::probe::{Counting, Probe, ProbeStub};
use super::{Network, assert_took, until};
use crate::protocol::frame::{Header, Kind};
use crate::{CallOptions, Code};

const LEAVING: &str = "10.0.0.1:1";
const STAYING: &str = "10.0.0.2:1";

#[tokio::test(start_paused = true)]
async fn a_call_in_flight_is_answered_and_new_ones_go_elsewhere() {
    let (network, leaving, staying) = (Network::default(), Counting::default(), Counting::default());
    let server = network.serve(LEAVING, leaving.server()).await;
    let _staying = network.serve(STAYING, staying.server()).await;
    let probe: ProbeStub = network.client(&format!("{LEAVING},{STAYING}")).build().unwrap().stub().unwrap();
    let nap = tokio::spawn({
        let probe = probe.clone();
        async move { probe.with(CallOptions::new().timeout(Duration::from_secs(20))).nap(15_000).await }
    });
    until(|| leaving.running() == 1).await;
    let shutdown = tokio::spawn(server.shutdown());
    for _ in 0..100 {
        probe.echo("hello".into()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(nap.await.unwrap().unwrap(), 15_000);
    assert_eq!(shutdown.await.unwrap(), 0);
    // What was sent before the client heard of it was still answered there.
    assert_eq!(leaving.started() + staying.started(), 101);
    assert!(staying.started() >= 99, "{staying:?}");
}

#[tokio::test(start_paused = true)]
async fn requests_before_the_echo_are_answered_and_the_stream_then_ends() {
    let (network, service) = (Network::default(), Counting::default());
    let server = network.serve(LEAVING, service.server()).await;
    let mut client = Fake::new(network.dial(LEAVING).await);
    client.greet().await;
    let shutdown = tokio::spawn(server.shutdown());
    assert_eq!(client.read().await.unwrap().header.kind, Kind::GoAway);
    client.request_with(0, 1, &echo_request("before")).await;
    client.send(Header::plain(Kind::GoAwayEcho, 0), &[]).await;
    assert_eq!(client.read().await.unwrap().payload, &b"\x06before"[..]);
    assert!(client.read().await.is_none());
    drop(client);
    assert_eq!(shutdown.await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_idle_client_does_not_delay_the_end() {
    let (network, service) = (Network::default(), Counting::default());
    let server = network.serve(LEAVING, service.server()).await;
    let probe: ProbeStub = network.client(LEAVING).build().unwrap().stub().unwrap();
    probe.echo("hello".into()).await.unwrap();
    let started = Instant::now();
    assert_eq!(server.shutdown().await, 0);
    assert!(started.elapsed() <= Duration::from_millis(1_010), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_ends_is_cut_at_the_drain_limit() {
    let (network, service) = (Network::default(), Counting::default());
    let server = network.serve(LEAVING, service.server()).await;
    let probe: ProbeStub = network.client(LEAVING).build().unwrap().stub().unwrap();
    let endless = probe.with(CallOptions::new().timeout(Duration::from_secs(3_600)));
    let call = tokio::spawn(async move { endless.nap(3_600_000).await });
    until(|| service.running() == 1).await;
    let started = Instant::now();
    assert_eq!(server.shutdown().await, 1);
    assert_took(started, Duration::from_secs(25));
    assert_eq!(call.await.unwrap().unwrap_err().code(), Code::ConnectionLost);
    until(|| service.running() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_comes_while_the_server_drains_is_told_so() {
    let (network, service, other) = (Network::default(), Counting::default(), Counting::default());
    let server = network.serve(LEAVING, service.server()).await;
    let _other = network.serve(STAYING, other.server()).await;
    let first: ProbeStub = network.client(LEAVING).build().unwrap().stub().unwrap();
    let nap = tokio::spawn(async move { first.nap(1_000).await });
    until(|| service.running() == 1).await;
    let shutdown = tokio::spawn(server.shutdown());
    tokio::time::sleep(Duration::from_millis(10)).await;
    let both: ProbeStub = network.client(&format!("{LEAVING},{STAYING}")).build().unwrap().stub().unwrap();
    both.echo("hello".into()).await.unwrap();
    assert_eq!((service.started(), other.started()), (1, 1));
    let only: ProbeStub = network.client(LEAVING).build().unwrap().stub().unwrap();
    let error = only.echo("hello".into()).await.unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    assert!(error.message().contains("leaving"), "{error}");
    nap.await.unwrap().unwrap();
    shutdown.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn dropping_a_server_stops_it_at_once() {
    let (network, service) = (Network::default(), Counting::default());
    let server = network.serve(LEAVING, service.server()).await;
    let probe: ProbeStub = network.client(LEAVING).build().unwrap().stub().unwrap();
    let call = tokio::spawn(async move { probe.nap(1_000).await });
    until(|| service.running() == 1).await;
    drop(server);
    assert_eq!(call.await.unwrap().unwrap_err().code(), Code::ConnectionLost);
    until(|| service.running() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_mute_delays_the_end_by_three_seconds_at_most() {
    let (network, service) = (Network::default(), Counting::default());
    let server = network.serve(LEAVING, service.server()).await;
    // One has said hello and reads nothing more, one has not said anything.
    let mut greeted = Fake::new(network.dial(LEAVING).await);
    greeted.greet().await;
    let _silent = network.dial(LEAVING).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let started = Instant::now();
    assert_eq!(server.shutdown().await, 0);
    assert!(started.elapsed() <= Duration::from_millis(3_010), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_echo_is_answered_all_the_same() {
    let (network, service) = (Network::default(), Counting::default());
    let server = network.serve(LEAVING, service.server()).await;
    let mut client = Fake::new(network.dial(LEAVING).await);
    client.greet().await;
    client.request_with(0, 1, &[&1_u32.to_le_bytes()[..], &[251, 0x88, 0x13]].concat()).await;
    until(|| service.running() == 1).await;
    let shutdown = tokio::spawn(server.shutdown());
    assert_eq!(client.read().await.unwrap().header.kind, Kind::GoAway);
    // A nap of 5 s, with the default of 3 s to answer it in.
    let answer = client.read().await.unwrap();
    assert_eq!((answer.header.id, answer.payload[0]), (1, 5));
    assert!(client.read().await.is_none());
    assert_eq!(shutdown.await.unwrap(), 0);
}
