//! Whether a call may have run is known, and an instance that cannot have seen it is passed over.

use std::sync::{Arc, Mutex};

use super::Network;
use super::fake::Fake;
use super::probe::{Counting, Probe, ProbeStub};
use crate::lock::lock;
use crate::protocol::frame::{Header, Kind};
use crate::{CallReport, Code, Executed};

const DEAD: &str = "10.0.0.1:1";
const ALIVE: &str = "10.0.0.2:1";

#[tokio::test(start_paused = true)]
async fn a_request_that_was_sent_whole_may_have_run() {
    let network = Network::default();
    let mut clients = network.listen(DEAD.parse().unwrap());
    let probe: ProbeStub = network.client(DEAD).build().unwrap().stub().unwrap();
    let call = tokio::spawn(async move { probe.echo("once".into()).await });
    let mut server = Fake::server(&mut clients).await;
    server.request().await;
    drop(server);
    let error = call.await.unwrap().unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::ConnectionLost, Executed::Maybe));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_sent_in_part_goes_to_another_instance() {
    let (network, service) = (Network::default(), Counting::default());
    let mut clients = network.listen(DEAD.parse().unwrap());
    let _server = network.serve(ALIVE, service.server()).await;
    let probe: ProbeStub = network.client(&format!("{DEAD},{ALIVE}")).build().unwrap().stub().unwrap();
    // More than the stream holds: the peer leaves before it can have read all of it.
    let text = "x".repeat(100_000);
    let call = tokio::spawn({
        let text = text.clone();
        async move { probe.echo(text).await }
    });
    drop(Fake::server(&mut clients).await);
    assert_eq!(call.await.unwrap().unwrap(), text);
    assert_eq!(service.started(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_refuses_connections_is_passed_over_unseen() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve(ALIVE, service.server()).await;
    let reports: Arc<Mutex<Vec<CallReport>>> = Arc::default();
    let observed = Arc::clone(&reports);
    let client = network.client(&format!("{DEAD},{ALIVE}"));
    let client = client.observe(move |report| lock(&observed).push(report.clone())).build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    assert_eq!(probe.echo("hello".into()).await.unwrap(), "hello");
    let report = lock(&reports).pop().unwrap();
    assert_eq!((report.service, report.method, report.error), ("Probe", "echo", None));
    let steps: Vec<_> = report.steps.iter().map(|step| (&*step.instance, step.executed)).collect();
    assert_eq!(steps, [(DEAD, Executed::No), (ALIVE, Executed::Yes)]);
    assert!(report.steps[0].error.as_ref().unwrap().contains("cannot connect"), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn when_no_instance_can_take_a_call_each_is_named_with_its_cause() {
    let network = Network::default();
    let mut clients = network.listen(ALIVE.parse().unwrap());
    let probe: ProbeStub = network.client(&format!("{DEAD},{ALIVE}")).build().unwrap().stub().unwrap();
    let call = tokio::spawn(async move { probe.echo("hello".into()).await });
    let mut odd = Fake::new(clients.recv().await.unwrap());
    odd.read().await.unwrap();
    odd.write(b"HTTP/1.1 400 Bad Request\r\n").await;
    let error = call.await.unwrap().unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::Unavailable, Executed::No));
    for part in ["`Probe.echo`", DEAD, "connection refused", ALIVE, "not this protocol", "HTTP?"] {
        assert!(error.message().contains(part), "`{part}` is not in: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_at_its_limit_answers_overloaded_and_another_takes_the_call() {
    let (network, busy, free) = (Network::default(), Counting::default(), Counting::default());
    let _busy = network.serve(DEAD, busy.server().max_in_flight(2)).await;
    let probe: ProbeStub = network.client(DEAD).build().unwrap().stub().unwrap();
    let naps: Vec<_> = (0..2)
        .map(|_| {
            let probe = probe.clone();
            tokio::spawn(async move { probe.nap(1_000).await })
        })
        .collect();
    super::until(|| busy.running() == 2).await;
    let error = probe.echo("one too many".into()).await.unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::Overloaded, Executed::No));

    let _free = network.serve(ALIVE, free.server()).await;
    let both: ProbeStub = network.client(&format!("{DEAD},{ALIVE}")).build().unwrap().stub().unwrap();
    assert_eq!(both.echo("elsewhere".into()).await.unwrap(), "elsewhere");
    for nap in naps {
        nap.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_keep_to_its_own_limit_is_not_believed() {
    let network = Network::default();
    let service = Counting::default();
    let _server = network.serve(ALIVE, service.server().max_in_flight(1)).await;
    let mut client = Fake::new(network.dial(ALIVE).await);
    client.greet().await;
    let nap = [&1_u32.to_le_bytes()[..], &[251, 0xFF, 0xFF]].concat();
    client.request_with(0, 1, &nap).await;
    client.request_with(0, 2, &nap).await;
    let answer = client.read().await.unwrap();
    assert_eq!((answer.header.id, answer.header.flags, answer.payload[0]), (2, 0b10, 4));
    client.send(Header::plain(Kind::Cancel, 1), &[]).await;
    super::until(|| service.running() == 0).await;
    client.request_with(0, 3, &super::fake::echo_request("again")).await;
    assert_eq!(client.read().await.unwrap().payload, &b"\x05again"[..]);
}
