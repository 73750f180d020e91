//! The runs of one call know of each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::probe::{Counting, Probe, ProbeStub};
use super::{Network, assert_took};
use crate::fault::{FaultStrategy, Next, Reply};
use crate::loadbalancer::{Endpoints, LoadBalancer, PickContext, Picker};
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

/// Looks at all instances before it chooses the first that may be asked; the shy one chooses none when it is asked for the first time.
#[derive(Debug, Clone, Copy)]
struct LookAhead {
    is_shy: bool,
}

struct Looking {
    count: usize,
    is_shy: AtomicBool,
}

impl LoadBalancer for LookAhead {
    fn prepare(&self, endpoints: &Arc<Endpoints>) -> Box<dyn Picker> {
        Box::new(Looking { count: endpoints.len(), is_shy: self.is_shy.into() })
    }
}

impl Picker for Looking {
    fn pick(&self, cx: &PickContext<'_>) -> Option<usize> {
        let admitted: Vec<_> = (0..self.count).filter(|position| cx.admits(*position)).collect();
        let is_shy = self.is_shy.swap(false, Ordering::Relaxed);
        if is_shy { None } else { admitted.first().copied() }
    }
}

register!(dyn LoadBalancer, "lookAhead", |_: &Settings| Ok::<_, BoxError>(Arc::new(LookAhead { is_shy: false })));
register!(dyn LoadBalancer, "shy", |_: &Settings| Ok::<_, BoxError>(Arc::new(LookAhead { is_shy: true })));

#[tokio::test(start_paused = true)]
async fn a_picker_may_look_further_before_it_chooses() {
    let (network, [first, second]) = (Network::default(), [Counting::default(), Counting::default()]);
    let _first = network.serve(SILENT, first.server()).await;
    let _second = network.serve(ALIVE, second.server()).await;
    let client = network.client(&format!("{SILENT},{ALIVE}")).load_balancer("lookAhead").build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    for _ in 0..3 {
        probe.echo("hello".into()).await.unwrap();
    }
    assert_eq!((first.started(), second.started()), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn a_run_asks_once_more_where_none_was_chosen_and_one_could_be() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve(ALIVE, service.server()).await;
    let client = network.client(ALIVE).load_balancer("shy").build().unwrap();
    assert_eq!(client.stub::<ProbeStub>().unwrap().echo("hello".into()).await.unwrap(), "hello");
}
