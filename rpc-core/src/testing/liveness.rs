//! A dead peer is found out; a slow one is left alone.

use std::time::Duration;

use tokio::time::Instant;

use super::fake::Fake;
use super::probe::{Counting, Probe, ProbeStub};
use super::{Network, assert_took};
use crate::protocol::frame::{Header, Kind};
use crate::{CallOptions, Code, Executed};

const ADDRESS: &str = "10.0.0.1:1";

#[tokio::test(start_paused = true)]
async fn a_peer_that_falls_silent_under_a_call_is_dead_after_two_seconds() {
    let network = Network::default();
    let mut clients = network.listen(ADDRESS.parse().unwrap());
    let probe: ProbeStub = network.client(ADDRESS).build().unwrap().stub().unwrap();
    let patient = probe.with(CallOptions::new().timeout(Duration::from_secs(60)));
    let call = tokio::spawn(async move { patient.echo("hello?".into()).await });
    let mut server = Fake::server(&mut clients).await;
    server.request().await;
    let started = Instant::now();
    let error = call.await.unwrap().unwrap_err();
    let took = started.elapsed();
    // A second until the ping, a second for the pong, each seen at the next tick.
    assert!(took >= Duration::from_secs(2) && took <= Duration::from_millis(2_020), "{took:?}");
    assert_eq!((error.code(), error.executed()), (Code::ConnectionLost, Executed::Maybe));
    assert!(error.message().contains("silent"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_from_a_living_peer_is_waited_for() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve(ADDRESS, service.server()).await;
    let probe: ProbeStub = network.client(ADDRESS).build().unwrap().stub().unwrap();
    let started = Instant::now();
    let patient = probe.with(CallOptions::new().timeout(Duration::from_secs(100)));
    assert_eq!(patient.nap(90_000).await.unwrap(), 90_000);
    assert_took(started, Duration::from_secs(90));
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_kept_for_hours() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve(ADDRESS, service.server()).await;
    let probe: ProbeStub = network.client(ADDRESS).build().unwrap().stub().unwrap();
    probe.echo("hello".into()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(4 * 3_600)).await;
    probe.echo("still there?".into()).await.unwrap();
    assert_eq!(network.connects(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_pinged_every_ten_seconds_and_closed_without_a_pong() {
    let network = Network::default();
    let mut clients = network.listen(ADDRESS.parse().unwrap());
    let probe: ProbeStub = network.client(ADDRESS).build().unwrap().stub().unwrap();
    let call = tokio::spawn(async move { probe.echo("hello".into()).await.map(|_| probe) });
    let mut server = Fake::server(&mut clients).await;
    let opened = Instant::now();
    let id = server.request().await;
    server.answer(id, "hello").await;
    let _probe = call.await.unwrap().unwrap();
    let ping = server.read().await.unwrap();
    assert_eq!(ping.header.kind, Kind::Ping);
    assert_took(opened, Duration::from_secs(10));
    server.send(Header::plain(Kind::Pong, ping.header.id), &[]).await;
    assert_eq!(server.read().await.unwrap().header.kind, Kind::Ping);
    assert_took(opened, Duration::from_secs(20));
    assert!(server.read().await.is_none());
    assert_took(opened, Duration::from_secs(21));
}

#[tokio::test(start_paused = true)]
async fn a_server_closes_a_connection_that_says_nothing_for_thirty_seconds() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve(ADDRESS, service.server()).await;
    let mut client = Fake::new(network.dial(ADDRESS).await);
    client.greet().await;
    let started = Instant::now();
    assert!(client.read().await.is_none());
    assert_took(started, Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn a_server_closes_a_connection_without_a_hello_after_five_seconds() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve(ADDRESS, service.server()).await;
    let mut client = Fake::new(network.dial(ADDRESS).await);
    let started = Instant::now();
    client.write(&Header::plain(Kind::Hello, 0).to_bytes(6)[..3]).await;
    assert!(client.read().await.is_none());
    assert_took(started, Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_ping_is_answered_with_its_own_id() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve(ADDRESS, service.server()).await;
    let mut client = Fake::new(network.dial(ADDRESS).await);
    client.greet().await;
    client.send(Header::plain(Kind::Ping, 0xABCD), &[]).await;
    let pong = client.read().await.unwrap().header;
    assert_eq!((pong.kind, pong.id), (Kind::Pong, 0xABCD));
}

#[tokio::test(start_paused = true)]
async fn a_mute_peer_is_found_out_under_calls_that_are_shorter_than_any_patience() {
    let network = Network::default();
    let mut clients = network.listen(ADDRESS.parse().unwrap());
    let probe: ProbeStub = network.client(ADDRESS).build().unwrap().stub().unwrap();
    let impatient = probe.with(CallOptions::new().timeout(Duration::from_millis(300)));
    let first = tokio::spawn({
        let impatient = impatient.clone();
        async move { impatient.echo("hello?".into()).await }
    });
    let _mute = Fake::server(&mut clients).await;
    let started = Instant::now();
    first.await.unwrap().unwrap_err();
    while impatient.echo("hello?".into()).await.unwrap_err().code() == Code::DeadlineExceeded {
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_request_is_given_signs_of_life_while_it_arrives() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve(ADDRESS, service.server()).await;
    let mut client = Fake::new(network.dial(ADDRESS).await);
    client.greet().await;
    let payload = super::fake::echo_request(&"x".repeat(100));
    let header = Header { codec: 1, ..Header::plain(Kind::Request, 1) }.to_bytes(payload.len() as u32);
    for byte in header.iter().chain(&payload) {
        client.write(&[*byte]).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let mut signs = 0;
    loop {
        match client.read().await.unwrap().header {
            Header { kind: Kind::Pong, id: 0, .. } => signs += 1,
            Header { kind: Kind::Response, id: 1, flags: 0, .. } => break,
            header => panic!("{header:?}"),
        }
    }
    // 125 bytes in 12.5 s.
    assert!((20..=26).contains(&signs), "{signs}");
}
