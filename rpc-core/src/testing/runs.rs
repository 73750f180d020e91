//! The runs of one call know of each other.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::probe::{Counting, Probe, ProbeStub};
use super::{Network, assert_took};
use crate::fault::{FaultStrategy, Next, Reply};
use crate::{BoxError, BoxFuture, Invocation, RpcError, Settings, register};

const SILENT: &str = "10.0.0.1:1";
const ALIVE: &str = "10.0.0.2:1";
const LIMIT: Duration = Duration::from_millis(100);

/// A second run after a first that failed, each within the limit.
#[derive(Debug)]
struct Twice;

impl FaultStrategy for Twice {
    fn call<'a>(&'a self, call: &'a Invocation, next: Next<'a>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        Box::pin(async move {
            match next.run_within(call, LIMIT).await {
                Err(_) => next.run_within(call, LIMIT).await,
                result => result,
            }
        })
    }
}

register!(dyn FaultStrategy, "twice", |_: &Settings| Ok::<_, BoxError>(Arc::new(Twice)));

#[tokio::test(start_paused = true)]
async fn a_run_after_one_that_did_not_connect_in_time_goes_elsewhere() {
    let (network, service) = (Network::default(), Counting::default());
    let _clients = network.listen(SILENT.parse().unwrap());
    let _server = network.serve(ALIVE, service.server()).await;
    let client = network.client(&format!("{SILENT},{ALIVE}")).fault("twice").build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    let started = Instant::now();
    assert_eq!(probe.echo("hello".into()).await.unwrap(), "hello");
    assert_took(started, LIMIT);
}
