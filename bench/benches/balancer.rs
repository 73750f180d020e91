//! Load balancers alone: what a pick costs a call, and what preparing costs when the list changes.

#![allow(missing_docs, reason = "criterion's macros")]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rpc::loadbalancer::{Endpoints, LoadBalancer, PickContext};
use rpc::{ServiceInstance, Settings, extension};

const SIZES: [usize; 3] = [3, 100, 1_000];

fn endpoints(size: usize) -> Arc<Endpoints> {
    let instances = (0..size).map(|host| ServiceInstance::new("users", format!("host{host}:9000")));
    Arc::new(Endpoints::from_instances(instances))
}

fn balancers() -> impl Iterator<Item = (&'static str, Arc<dyn LoadBalancer>)> {
    extension::keys::<dyn LoadBalancer>().into_iter().map(|key| {
        let balancer = extension::build::<dyn LoadBalancer>(key, &Settings::default());
        (key, balancer.expect("no balancer needs settings"))
    })
}

/// Of all endpoints, and with keys that differ as those of users do.
fn pick(c: &mut Criterion) {
    let keys: Vec<_> = (0..1_024).map(|user| format!("user:{user}")).collect();
    let mut group = c.benchmark_group("pick");
    for (name, balancer) in balancers() {
        for size in SIZES {
            let picker = balancer.prepare(&endpoints(size));
            let mut keys = keys.iter().cycle();
            group.bench_function(BenchmarkId::new(name, size), |b| {
                b.iter(|| {
                    let key = keys.next().map(|key| key.as_bytes());
                    picker.pick(&PickContext::new(black_box(key), &|_| true))
                });
            });
        }
    }
}

/// `consistentHash` builds its ring here; for the others it is nothing.
fn prepare(c: &mut Criterion) {
    let mut group = c.benchmark_group("prepare");
    for (name, balancer) in balancers() {
        for size in SIZES {
            let endpoints = endpoints(size);
            group.bench_function(BenchmarkId::new(name, size), |b| b.iter(|| balancer.prepare(black_box(&endpoints))));
        }
    }
}

criterion_group!(benches, pick, prepare);
criterion_main!(benches);
