//! Frames survive any cut of the stream, and answers reach those who asked.

use std::sync::Arc;
use std::time::Duration;

use super::Network;
use super::fake::{Fake, echo_request};
use super::probe::{Counting, Probe, ProbeStub};
use crate::protocol::frame::{Header, Kind};
use crate::{CallOptions, Code};

#[tokio::test(start_paused = true)]
async fn late_unknown_and_repeated_answers_reach_nobody() {
    let network = Network::default();
    let mut clients = network.listen("10.0.0.1:1".parse().unwrap());
    let probe: ProbeStub = network.client("10.0.0.1:1").build().unwrap().stub().unwrap();
    let late = probe.with(CallOptions::new().timeout(Duration::from_millis(10)));
    let late = tokio::spawn(async move { late.echo("late".into()).await });
    let mut server = Fake::server(&mut clients).await;
    let late_id = server.request().await;
    assert_eq!(late.await.unwrap().unwrap_err().code(), Code::DeadlineExceeded);

    let call = tokio::spawn(async move { probe.echo("mine".into()).await.map(|answer| (answer, probe)) });
    let id = server.request().await;
    server.answer(late_id, "late").await;
    server.answer(u64::MAX, "unknown").await;
    server.answer(id + 1, "not yours").await;
    server.answer(id, "mine").await;
    server.answer(id, "again").await;
    let (answer, probe) = call.await.unwrap().unwrap();
    assert_eq!(answer, "mine");

    let call = tokio::spawn(async move { probe.echo("next".into()).await });
    let id = server.request().await;
    server.answer(id, "next").await;
    assert_eq!(call.await.unwrap().unwrap(), "next");
}

/// A seeded choice, so that a failure can be seen again.
fn random() -> fastrand::Rng {
    fastrand::Rng::with_seed(7)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_pauses_in_the_middle_of_frames_is_understood() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve("10.0.0.1:1", service.server()).await;
    let mut client = Fake::new(network.dial("10.0.0.1:1").await);
    client.greet().await;
    let mut random = random();
    for round in 0..10_000_u64 {
        let text = "t".repeat(random.usize(0..120));
        let payload = echo_request(&text);
        let header = Header { codec: 1, ..Header::plain(Kind::Request, round) }.to_bytes(payload.len() as u32);
        let mut bytes = [&header[..], &payload].concat();
        if random.bool() {
            bytes.extend_from_slice(&Header::plain(Kind::Ping, round).to_bytes(0));
        }
        let cut = random.usize(0..bytes.len());
        client.write(&bytes[..cut]).await;
        // Longer than every timer of the connection but the one that ends silent ones.
        tokio::time::sleep(Duration::from_secs(random.u64(0..29))).await;
        client.write(&bytes[cut..]).await;
        loop {
            let frame = client.read().await.unwrap();
            if frame.header.kind == Kind::Response {
                assert_eq!((frame.header.id, frame.header.flags), (round, 0));
                assert_eq!(&frame.payload[1..], text.as_bytes());
                break;
            }
        }
    }
    assert_eq!(service.started(), 10_000);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_over_a_stream_that_stutters_get_their_own_answers() {
    let (network, service) = (Network::stuttering(), Counting::default());
    let _server = network.serve("10.0.0.1:1", service.server()).await;
    let client = network.client("10.0.0.1:1").timeout(Duration::from_secs(3_600)).build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    let random = Arc::new(std::sync::Mutex::new(random()));
    let callers: Vec<_> = (0..20)
        .map(|caller| {
            let (probe, random) = (probe.clone(), Arc::clone(&random));
            tokio::spawn(async move {
                for round in 0..500 {
                    let (length, dropped) = {
                        let mut random = crate::lock::lock(&random);
                        (random.usize(0..3_000), random.u8(0..10) == 0)
                    };
                    let text = format!("{caller}/{round}/{}", "x".repeat(length));
                    let call = probe.echo(text.clone());
                    if dropped {
                        // Cancels cross answers and requests.
                        let _ = tokio::time::timeout(Duration::from_millis(1), call).await;
                    } else {
                        assert_eq!(call.await.unwrap(), text);
                    }
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    super::until(|| service.running() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_used_twice_at_a_time_ends_the_connection() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve("10.0.0.1:1", service.server()).await;
    let mut client = Fake::new(network.dial("10.0.0.1:1").await);
    client.greet().await;
    // A nap of 65,535 ms.
    let nap = [&1_u32.to_le_bytes()[..], &[251, 0xFF, 0xFF]].concat();
    client.request_with(0, 1, &nap).await;
    client.request_with(0, 2, &echo_request("another")).await;
    assert_eq!(client.read().await.unwrap().header.id, 2);
    client.request_with(0, 1, &echo_request("the same")).await;
    assert!(client.read().await.is_none());
    assert_eq!(service.started(), 2);
}
