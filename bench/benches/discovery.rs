//! A change in a registry, until a subscriber of the client has it: the list is read, compared and published, and pickers are made.

#![allow(missing_docs, reason = "criterion's macros")]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rpc::registry::{Registrar, Registration};
use rpc::{Changes, Client, RpcError, ServiceInstance, Settings, extension, rpc_service};
use tokio::runtime::Runtime;

const SERVICE: &str = "bench.Discovered";

/// Looked up, and never called.
#[rpc_service(name = "bench.Discovered")]
trait Discovered {
    async fn nothing(&self) -> Result<(), RpcError>;
}

/// A client that follows a registry of so many instances.
struct Followed {
    registrations: Vec<Box<dyn Registration>>,
    changes: Changes,
    _client: Client,
}

impl Followed {
    async fn begin(size: usize) -> Self {
        let url = format!("memory:bench-{size}");
        let (key, settings) = Settings::from_url(&url).expect("the url is good");
        let registry = extension::build::<dyn Registrar>(key, &settings).expect("the registry is linked");
        let mut registrations = Vec::new();
        for host in 0..size {
            registrations.push(registry.register(instance(host)).await.expect("a table takes everything"));
        }
        let client = Client::builder().registry(url).build().expect("all plugins are linked");
        let mut changes = client.changes::<DiscoveredStub>().expect("the service can travel");
        changes.next().await.expect("the client is there");
        Self { registrations, changes, _client: client }
    }

    /// Changes one instance and waits until the client tells.
    async fn change(&mut self, weight: u32) {
        let changed = instance(0).with_weight(weight);
        self.registrations[0].update(changed).await.expect("it is registered");
        self.changes.next().await.expect("the client is there");
    }
}

fn instance(host: usize) -> ServiceInstance {
    ServiceInstance::new(SERVICE, format!("127.0.0.1:{}", host + 1))
}

fn update(c: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime can be built");
    let mut group = c.benchmark_group("update");
    for size in [3, 100, 1_000] {
        let mut followed = runtime.block_on(Followed::begin(size));
        let mut weight = 100;
        group.bench_function(BenchmarkId::new("memory", size), |b| {
            b.iter(|| {
                weight = if weight == 100 { 50 } else { 100 };
                runtime.block_on(followed.change(weight));
            });
        });
    }
}

criterion_group!(benches, update);
criterion_main!(benches);
