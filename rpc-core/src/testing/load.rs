//! What is slow, large or unfair harms nothing but itself.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use super::fake::{Fake, echo_request};
use super::probe::{Counting, Probe, ProbeStub};
use super::script::{Script, State};
use super::{Network, until};
use crate::protocol::frame::{Header, Kind};
use crate::{CallOptions, Client, Code};

const ADDRESS: &str = "10.0.0.1:1";

/// Reads `count` bytes of what comes, a little at a time: 20 kB a second.
async fn read_slowly(fake: &mut Fake, mut count: usize) {
    let mut piece = [0; 1_000];
    while count > 0 {
        let limit = piece.len().min(count);
        count -= fake.stream().read(&mut piece[..limit]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_request_over_a_slow_link_arrives_however_long_it_takes() {
    let network = Network::default();
    let mut clients = network.listen(ADDRESS.parse().unwrap());
    let client = network.client(ADDRESS).timeout(Duration::from_secs(100)).build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    let text = "x".repeat(900_000);
    let length = text.len();
    let call = tokio::spawn(async move { probe.echo(text).await });
    let mut server = Fake::server(&mut clients).await;
    read_slowly(&mut server, 20 + 4 + 8 + 5 + length).await;
    server.answer(0, "arrived").await;
    assert_eq!(call.await.unwrap().unwrap(), "arrived");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_but_steadily_is_not_given_up() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve(ADDRESS, service.server()).await;
    let mut client = Fake::new(network.dial(ADDRESS).await);
    client.greet().await;
    let request = echo_request_of(900_000);
    for id in 0..2 {
        client.request_with(0, id, &request).await;
    }
    let started = Instant::now();
    read_slowly(&mut client, 2 * (20 + 5 + 900_000)).await;
    assert!(started.elapsed() >= Duration::from_secs(60));
    client.request_with(0, 3, &echo_request("still there")).await;
    assert_eq!(&client.read().await.unwrap().payload[1..], b"still there");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_arrives_while_the_client_does_not_read_its_answers() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve(ADDRESS, service.server()).await;
    let mut client = Fake::new(network.dial(ADDRESS).await);
    client.greet().await;
    for id in 0..5 {
        client.request_with(0, id, &echo_request_of(900_000)).await;
    }
    client.request_with(0, 10, &[&1_u32.to_le_bytes()[..], &[251, 0x88, 0x13]].concat()).await;
    let napping = 1;
    until(|| service.running() == napping).await;
    client.send(Header::plain(Kind::Cancel, 10), &[]).await;
    until(|| service.running() == 0).await;
}

/// A request to echo a text of this length.
fn echo_request_of(length: u32) -> Vec<u8> {
    let mut request = [&[0, 0, 0, 0, 252][..], &length.to_le_bytes()].concat();
    request.resize(request.len() + length as usize, b'x');
    request
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_never_stops_sending_does_not_hold_up_deadlines() {
    let network = Network::default();
    let mut clients = network.listen(ADDRESS.parse().unwrap());
    let probe: ProbeStub = network.client(ADDRESS).build().unwrap().stub().unwrap();
    let flood = tokio::spawn(async move {
        let mut server = Fake::server(&mut clients).await;
        let pongs = Header::plain(Kind::Pong, 1).to_bytes(0).repeat(500);
        loop {
            server.write(&pongs).await;
        }
    });
    let started = Instant::now();
    let impatient = probe.with(CallOptions::new().timeout(Duration::from_millis(300)));
    assert_eq!(impatient.echo("x".into()).await.unwrap_err().code(), Code::DeadlineExceeded);
    println!("ended after {:?}", started.elapsed());
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    flood.abort();
}

#[tokio::test(start_paused = true)]
async fn connections_that_never_say_hello_do_not_delay_the_end() {
    let (network, service) = (Network::default(), Counting::default());
    let server = network.serve(ADDRESS, service.server()).await;
    let probing = tokio::spawn({
        let network = network.clone();
        async move {
            let mut silent = Vec::new();
            loop {
                silent.push(network.dial(ADDRESS).await);
                tokio::time::sleep(Duration::from_millis(400)).await;
            }
        }
    });
    let started = Instant::now();
    assert_eq!(server.shutdown().await, 0);
    assert!(started.elapsed() <= Duration::from_millis(2_010), "{:?}", started.elapsed());
    probing.abort();
}

#[test]
fn a_client_that_outlives_the_runtime_of_its_first_call_follows_the_registry_all_the_same() {
    let script = Script::new("outlived", State { addresses: vec!["10.0.0.1:1"], pushes: true, ..State::default() });
    let network = Network::default();
    let client = Client::builder().registry("script:outlived").connect(network.clone()).build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for address in ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"] {
        script.change(|state| state.addresses = vec![address]);
        runtime().block_on(async {
            let service = Counting::default();
            let _server = network.serve(address, service.server()).await;
            // The first call may still go by the old list.
            while probe.echo("x".into()).await.is_err() {
                tokio::task::yield_now().await;
            }
            assert_eq!(service.started(), 1);
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_list_of_dead_instances_makes_no_long_message() {
    let network = Network::default();
    let addresses: Vec<String> = (0..3_000).map(|port| format!("10.0.0.1:{}", port + 1)).collect();
    let probe: ProbeStub = network.client(&addresses.join(",")).build().unwrap().stub().unwrap();
    let error = probe.echo("x".into()).await.unwrap_err();
    assert!(error.message().contains("and 2992 more"), "{error}");
    assert!(error.message().len() < 2_000, "{}", error.message().len());
    let connects = network.connects();
    probe.echo("x".into()).await.unwrap_err();
    assert!(network.connects() - connects <= 16, "{}", network.connects() - connects);
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_takes_no_answer_away() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve(ADDRESS, service.server()).await;
    let client = network.client(ADDRESS).observe(|_| panic!("in the observer")).build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    assert_eq!(probe.echo("x".into()).await.unwrap(), "x");
}
