//! The time that a server is told is what is left when the request leaves, whatever was waited for before.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::Network;
use super::fake::Fake;
use super::probe::{Counting, Probe, ProbeStub};
use crate::fault::{FaultStrategy, Next, Reply};
use crate::protocol::frame::{Header, Kind};
use crate::protocol::message::STATUS;
use crate::{BoxError, BoxFuture, Invocation, RpcError, Settings, register};

const SLOW: &str = "10.0.0.1:1";
const ALIVE: &str = "10.0.0.2:1";
const PAUSE: Duration = Duration::from_millis(200);

/// The time left of the next request, in milliseconds.
async fn told(server: &mut Fake) -> u64 {
    let frame = server.read().await.unwrap();
    assert_eq!(frame.header.kind, Kind::Request);
    u64::from_le_bytes(frame.payload[4..12].try_into().unwrap()) / 1_000
}

#[tokio::test(start_paused = true)]
async fn time_spent_connecting_is_not_left() {
    let network = Network::default();
    let mut clients = network.listen(SLOW.parse().unwrap());
    let probe: ProbeStub = network.client(SLOW).build().unwrap().stub().unwrap();
    tokio::spawn(async move { probe.echo("hello".into()).await });
    let io = clients.recv().await.unwrap();
    sleep(PAUSE).await;
    let (sender, mut late) = mpsc::channel(1);
    sender.send(io).await.unwrap();
    assert_eq!(told(&mut Fake::server(&mut late).await).await, 2_800);
}

#[tokio::test(start_paused = true)]
async fn time_spent_waiting_for_room_is_not_left() {
    let network = Network::default();
    let mut clients = network.listen(SLOW.parse().unwrap());
    let probe: ProbeStub = network.client(SLOW).build().unwrap().stub().unwrap();
    let call = |text: String| {
        let probe = probe.clone();
        tokio::spawn(async move { probe.echo(text).await })
    };
    let _large = [call("x".repeat(900_000)), call("x".repeat(900_000))];
    let mut server = Fake::server(&mut clients).await;
    // Paused time passes when nothing else is left to do: both are queued then.
    sleep(Duration::from_millis(1)).await;
    let _small = call("small".into());
    sleep(PAUSE).await;
    let mut times = Vec::new();
    for _ in 0..3 {
        times.push(told(&mut server).await);
    }
    assert_eq!(times, [3_000, 3_000, 2_800]);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_refuses_is_asked_once_in_a_run_and_its_time_is_gone() {
    let (network, service) = (Network::default(), Counting::default());
    let mut clients = network.listen(SLOW.parse().unwrap());
    let _alive = network.serve(ALIVE, service.server()).await;
    tokio::spawn(async move {
        let mut full = Fake::server(&mut clients).await;
        loop {
            let id = full.request().await;
            sleep(PAUSE).await;
            full.send(Header { flags: STATUS, ..Header::plain(Kind::Response, id) }, b"\x04full").await;
        }
    });
    let client = network.client(&format!("{SLOW},{ALIVE}")).load_balancer("lookAhead").build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    // From the second on, over a connection that is open.
    for _ in 0..3 {
        let started = Instant::now();
        assert_eq!(probe.time_left(String::new()).await.unwrap().0, 2_800);
        super::assert_took(started, PAUSE);
    }
}

/// One run with a limit of its own: 100 ms, or longer than any clock goes.
#[derive(Debug)]
struct Limited(Duration);

impl FaultStrategy for Limited {
    fn call<'a>(&'a self, call: &'a Invocation, next: Next<'a>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(next.run_within(call, self.0))
    }
}

register!(dyn FaultStrategy, "aTenth", |_: &Settings| Ok::<_, BoxError>(Arc::new(Limited(PAUSE / 2))));
register!(dyn FaultStrategy, "endless", |_: &Settings| Ok::<_, BoxError>(Arc::new(Limited(Duration::MAX))));

#[tokio::test(start_paused = true)]
async fn a_server_is_told_the_time_of_the_run() {
    for (fault, time) in [("aTenth", 100), ("endless", 3_000)] {
        let (network, service) = (Network::default(), Counting::default());
        let _server = network.serve(ALIVE, service.server()).await;
        let client = network.client(ALIVE).fault(fault).build().unwrap();
        assert_eq!(client.stub::<ProbeStub>().unwrap().time_left(String::new()).await.unwrap().0, time);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_has_no_more_done_for_it_than_there_is_room() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve(ALIVE, service.server()).await;
    let mut client = Fake::new(network.dial(ALIVE).await);
    client.greet().await;
    let request = super::fake::echo_request(&"x".repeat(200));
    let mut sent = 0;
    while tokio::time::timeout(PAUSE, client.request_with(0, sent, &request)).await.is_ok() {
        sent += 1;
        assert!(sent < 20_000, "answers are queued without end");
    }
    assert!(sent > 1_000, "{sent}");
}
