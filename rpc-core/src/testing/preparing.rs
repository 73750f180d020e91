//! A long list is prepared beside the calls, not before them. In real time: a thread that is kept busy stops no paused clock.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::Network;
use super::probe::{Counting, Probe, ProbeStub};
use super::script::{Script, State};
use crate::loadbalancer::{Endpoints, LoadBalancer, PickContext, Picker};
use crate::{BoxError, Client, Settings, register};

const INSTANCES: usize = 300;
const CALLERS: usize = 64;
const CHANGES: usize = 2;
/// How long preparing keeps a thread busy.
const PREPARING: Duration = Duration::from_secs(1);
/// Much longer than a call takes, be the machine busy; half of what it takes to wait for a list.
const WAITS_AT_MOST: Duration = Duration::from_millis(500);

/// How many lists were prepared; one test uses it.
static PREPARED: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
struct Slow;

impl LoadBalancer for Slow {
    fn prepare(&self, _: &Arc<Endpoints>) -> Box<dyn Picker> {
        std::thread::sleep(PREPARING);
        PREPARED.fetch_add(1, Ordering::Relaxed);
        Box::new(Slow)
    }
}

impl Picker for Slow {
    fn pick(&self, _: &PickContext<'_>) -> Option<usize> {
        Some(0)
    }
}

register!(dyn LoadBalancer, "slow", |_: &Settings| Ok::<_, BoxError>(Arc::new(Slow)));

/// Calls without a pause until it is told to stop; gives the longest time that a call took.
async fn call_on(probe: ProbeStub, stop: Arc<AtomicBool>) -> Duration {
    let mut longest = Duration::ZERO;
    while !stop.load(Ordering::Relaxed) {
        let started = Instant::now();
        probe.echo("x".into()).await.unwrap();
        longest = longest.max(started.elapsed());
    }
    longest
}

/// One worker: if it is kept busy, every call waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_call_waits_while_a_long_list_is_prepared_and_each_is_prepared_once() {
    // The first one is served, and sorts first.
    let mut addresses = vec!["10.0.0.1:1"];
    for host in 1..INSTANCES {
        let address = SocketAddr::from(([10, 0, 1 + (host / 200) as u8, (host % 200) as u8], 1));
        addresses.push(address.to_string().leak());
    }
    let script = Script::new("long", State { addresses: addresses.clone(), pushes: true, ..State::default() });
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve(addresses[0], service.server()).await;
    let client = Client::builder().registry("script:long").connect(network.clone()).load_balancer("slow");
    let client = client.build().unwrap();
    let (probe, mut changes): (ProbeStub, _) = (client.stub().unwrap(), client.changes::<ProbeStub>().unwrap());
    probe.echo("x".into()).await.unwrap();
    changes.next().await.unwrap();

    let stop = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..CALLERS).map(|_| tokio::spawn(call_on(probe.clone(), Arc::clone(&stop)))).collect();
    for change in 1..=CHANGES {
        script.change(|state| state.addresses.truncate(INSTANCES - change));
        assert_eq!(changes.next().await.unwrap().removed.len(), 1);
    }
    stop.store(true, Ordering::Relaxed);
    let mut longest = Duration::ZERO;
    for caller in callers {
        longest = longest.max(caller.await.unwrap());
    }
    println!("{} calls, the longest took {longest:?}", service.started());
    assert!(longest <= WAITS_AT_MOST, "{longest:?}");
    assert_eq!(PREPARED.load(Ordering::Relaxed), 1 + CHANGES);
}
