//! Providers come and go under load, and no call is lost.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rpc::{Client, Context, RpcError, Server, rpc_service};
use tokio::task::JoinSet;

/// Calls that are in flight all the time.
const IN_FLIGHT: u64 = 32;
/// How long some of them take.
const NAP: Duration = Duration::from_millis(300);

#[rpc_service(name = "test.Node")]
trait Node {
    /// The instance that answers.
    #[rpc(idempotent)]
    async fn whoami(&self, call: u64) -> Result<String, RpcError>;

    /// The same, after a while.
    async fn nap(&self, call: u64) -> Result<String, RpcError>;
}

/// What all providers together have executed.
#[derive(Debug, Default, Clone)]
struct Executions {
    once: Arc<Mutex<HashSet<u64>>>,
    again: Arc<AtomicUsize>,
}

impl Executions {
    fn note(&self, call: u64) -> String {
        if !self.once.lock().unwrap().insert(call) {
            self.again.fetch_add(1, Ordering::Relaxed);
        }
        Context::current().unwrap().instance().to_owned()
    }

    /// How many calls were executed, and how many executions were too many.
    fn count(&self) -> (u64, usize) {
        (self.once.lock().unwrap().len() as u64, self.again.load(Ordering::Relaxed))
    }
}

impl Node for Executions {
    async fn whoami(&self, call: u64) -> Result<String, RpcError> {
        Ok(self.note(call))
    }

    async fn nap(&self, call: u64) -> Result<String, RpcError> {
        let instance = self.note(call);
        tokio::time::sleep(NAP).await;
        Ok(instance)
    }
}

/// Providers of one service, in a registry of their own.
struct Fleet {
    registry: String,
    executions: Executions,
    servers: Vec<Server>,
}

impl Fleet {
    async fn of_three(registry: &str) -> Self {
        let mut fleet =
            Self { registry: format!("memory:{registry}"), executions: Executions::default(), servers: vec![] };
        for _ in 0..3 {
            let server = fleet.serve("127.0.0.1:0").await;
            fleet.servers.push(server);
        }
        fleet
    }

    async fn serve(&self, address: &str) -> Server {
        let dispatcher = NodeDispatcher::new(self.executions.clone());
        Server::builder().service(dispatcher).listen(address).registry(&self.registry).start().await.unwrap()
    }

    /// Begins to call the fleet as the registry has it.
    fn load(&self, fault: &str, naps: bool) -> Load {
        Load::start(&self.registry, fault, naps)
    }

    /// Begins to call the fleet as it is now; that a provider comes or goes is seen from its connections alone.
    fn load_unregistered(&self, fault: &str, naps: bool) -> Load {
        let addresses: Vec<_> = self.servers.iter().map(|server| server.address().to_string()).collect();
        Load::start(&format!("direct://{}", addresses.join(",")), fault, naps)
    }

    /// Has the first provider leave, and another come in its place.
    async fn restart_one(&mut self) {
        let server = self.servers.remove(0);
        let address = server.address().to_string();
        assert_eq!(server.shutdown().await, 0);
        let again = self.serve(&address).await;
        self.servers.push(again);
    }
}

/// Callers without a pause, each with a call in flight all the time.
struct Load {
    started: Arc<AtomicU64>,
    /// Calls with a greater number are not made.
    last: Arc<AtomicU64>,
    callers: JoinSet<Vec<RpcError>>,
}

impl Load {
    fn start(registry: &str, fault: &str, naps: bool) -> Self {
        let node: NodeStub = Client::builder().registry(registry).fault(fault).build().unwrap().stub().unwrap();
        let (started, last) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(u64::MAX)));
        let mut callers = JoinSet::new();
        for caller in 0..IN_FLIGHT {
            let (node, started, last) = (node.clone(), Arc::clone(&started), Arc::clone(&last));
            callers.spawn(async move {
                let mut failures = Vec::new();
                loop {
                    let call = started.fetch_add(1, Ordering::Relaxed);
                    if call >= last.load(Ordering::Relaxed) {
                        return failures;
                    }
                    let result = if naps && caller % 4 == 0 { node.nap(call).await } else { node.whoami(call).await };
                    failures.extend(result.err());
                }
            });
        }
        Self { started, last, callers }
    }

    /// Waits until so many calls were made.
    async fn reaches(&self, calls: u64) {
        while self.started.load(Ordering::Relaxed) < calls {
            tokio::task::yield_now().await;
        }
    }

    /// Stops after so many calls in all, at once if they were made; gives how many it were. None of them failed.
    async fn ends(self, calls: u64) -> u64 {
        self.last.store(calls, Ordering::Relaxed);
        let failures = self.callers.join_all().await.concat();
        assert!(failures.is_empty(), "{} calls failed, the first: {}", failures.len(), failures[0]);
        // Each caller has drawn one number in vain.
        self.started.load(Ordering::Relaxed) - IN_FLIGHT
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_idempotent_call_is_lost_when_a_provider_is_killed() {
    let mut fleet = Fleet::of_three("killed").await;
    let load = fleet.load("failOver", false);
    load.reaches(1_000).await;
    drop(fleet.servers.remove(0));
    assert_eq!(load.ends(2_000).await, 2_000);
    assert_eq!(fleet.executions.count().0, 2_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_when_a_provider_leaves() {
    for round in 0..20 {
        let mut fleet = Fleet::of_three(&format!("leaves-{round}")).await;
        let load = fleet.load("failFast", true);
        load.reaches(500).await;
        let started = Instant::now();
        assert_eq!(fleet.servers.remove(0).shutdown().await, 0);
        let left = started.elapsed();
        let after = load.started.load(Ordering::Relaxed) + 500;
        load.reaches(after).await;
        let calls = load.ends(0).await;
        println!("round {round}: left within {left:?}, {calls} calls in all");
        assert_eq!(fleet.executions.count(), (calls, 0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_or_runs_twice_while_all_providers_are_restarted_one_by_one() {
    let mut fleet = Fleet::of_three("restarted").await;
    let load = fleet.load("failFast", true);
    restart_all_five_times(&mut fleet, load).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_or_runs_twice_even_if_no_registry_tells_of_the_restarts() {
    let mut fleet = Fleet::of_three("restarted-unseen").await;
    let load = fleet.load_unregistered("failFast", true);
    restart_all_five_times(&mut fleet, load).await;
}

async fn restart_all_five_times(fleet: &mut Fleet, load: Load) {
    load.reaches(500).await;
    for round in 0..5 {
        let started = Instant::now();
        for _ in 0..3 {
            fleet.restart_one().await;
        }
        println!("round {round}: {:?}", started.elapsed());
    }
    let calls = load.ends(0).await;
    println!("{calls} calls in all");
    assert_eq!(fleet.executions.count(), (calls, 0));
}
