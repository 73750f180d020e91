//! What every registry to which providers announce themselves promises, kept by each of ours.

#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

#[cfg(feature = "etcd")]
#[allow(dead_code, reason = "the tests of etcd alone need more of it")]
#[path = "common/etcd.rs"]
mod etcd_server;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rpc_core::registry::{Discovery, InstanceWatch, Registrar, Registration};
use rpc_core::{ServiceInstance, Settings, extension};
use rpc_registry as _;
use tokio::time::timeout;

/// How long a registry may take for anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// A registry of the test's own.
struct Stage {
    url: String,
    /// What it needs, until the test ends.
    _kept: Box<dyn Any>,
}

impl Stage {
    async fn memory() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        Self { url: format!("memory:contract-{}", COUNT.fetch_add(1, Ordering::Relaxed)), _kept: Box::new(()) }
    }

    #[cfg(feature = "file")]
    async fn file() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { url: format!("file://{}", dir.path().display()), _kept: Box::new(dir) }
    }

    #[cfg(feature = "etcd")]
    async fn etcd() -> Self {
        let server = etcd_server::Server::start().await;
        Self { url: format!("etcd://{}/contract?leaseTtl=2", server.address()), _kept: Box::new(server) }
    }

    /// Another consumer.
    fn discovery(&self) -> Arc<dyn Discovery> {
        let (key, settings) = Settings::from_url(&self.url).unwrap();
        extension::build(key, &settings).unwrap()
    }

    /// Another provider.
    fn registrar(&self) -> Arc<dyn Registrar> {
        let (key, settings) = Settings::from_url(&self.url).unwrap();
        extension::build(key, &settings).unwrap()
    }

    async fn register(&self, instance: ServiceInstance) -> Box<dyn Registration> {
        self.registrar().register(instance).await.unwrap()
    }

    async fn lookup(&self, service: &str) -> Vec<ServiceInstance> {
        let mut list = self.discovery().lookup(service).await.unwrap().instances;
        list.sort_by(|one, other| one.id.cmp(&other.id));
        list
    }

    async fn watch(&self) -> Box<dyn InstanceWatch> {
        self.discovery().watch("users").await.unwrap().unwrap()
    }
}

fn instance(address: &str) -> ServiceInstance {
    ServiceInstance::new("users", address)
}

/// The ids in the next list.
async fn next(watch: &mut Box<dyn InstanceWatch>) -> Vec<String> {
    let list = timeout(PATIENCE, watch.next()).await.expect("no list").unwrap().unwrap();
    let mut ids: Vec<_> = list.instances.into_iter().map(|instance| instance.id).collect();
    ids.sort();
    ids
}

/// Waits for the list with these ids: changes may be told one by one, or together.
async fn sees(watch: &mut Box<dyn InstanceWatch>, ids: &[&str]) {
    while next(watch).await != ids {}
}

async fn an_instance_is_found_by_its_service_alone_with_all_that_is_known_of_it(stage: Stage) {
    assert_eq!(stage.lookup("users").await, []);
    let full = instance("a:1").with_id("a").with_weight(0).with_metadata("zone", "west");
    let mut kept = vec![stage.register(full.clone()).await];
    for service in ["users2", "user", "users-admin", "Users.v1_x"] {
        kept.push(stage.register(ServiceInstance::new(service, "a:1")).await);
    }
    assert_eq!(stage.lookup("users").await, [full]);
    assert_eq!(stage.lookup("use").await, []);
}

async fn an_update_takes_the_place_of_what_was_announced(stage: Stage) {
    let registration = stage.register(instance("a:1")).await;
    for weight in [0, 7] {
        registration.update(instance("a:1").with_weight(weight)).await.unwrap();
        assert_eq!(stage.lookup("users").await, [instance("a:1").with_weight(weight)]);
    }
}

async fn an_update_changes_neither_service_nor_id(stage: Stage) {
    let registration = stage.register(instance("a:1")).await;
    for other in [instance("b:1"), ServiceInstance::new("orders", "a:1")] {
        let error = registration.update(other).await.unwrap_err().to_string();
        assert!(error.contains("instance `a:1` of service `users` is not announced by this registration"), "{error}");
    }
    assert_eq!(stage.lookup("users").await, [instance("a:1")]);
    assert_eq!(stage.lookup("orders").await, []);
}

async fn releasing_twice_is_no_error_and_an_update_afterwards_is_one(stage: Stage) {
    let registration = stage.register(instance("a:1")).await;
    for _ in 0..2 {
        registration.release().await.unwrap();
        assert_eq!(stage.lookup("users").await, []);
    }
    let error = registration.update(instance("a:1")).await.unwrap_err().to_string();
    assert!(error.contains("instance `a:1` of service `users` is not announced by this registration"), "{error}");
    assert_eq!(stage.lookup("users").await, []);
}

async fn releasing_leaves_what_another_provider_announced_under_the_same_id(stage: Stage) {
    let first = stage.register(instance("a:1")).await;
    let _second = stage.register(instance("a:1").with_weight(7)).await;
    assert_eq!(stage.lookup("users").await, [instance("a:1").with_weight(7)]);
    first.release().await.unwrap();
    drop(first);
    assert_eq!(stage.lookup("users").await, [instance("a:1").with_weight(7)]);
}

async fn what_is_dropped_without_release_goes(stage: Stage) {
    let registration = stage.register(instance("a:1")).await;
    let mut watch = stage.watch().await;
    assert_eq!(next(&mut watch).await, ["a:1"]);
    drop(registration);
    sees(&mut watch, &[]).await;
    assert_eq!(stage.lookup("users").await, []);
}

async fn a_watch_begins_with_what_is_there_and_goes_on_with_every_change(stage: Stage) {
    let a = stage.register(instance("a:1")).await;
    let mut watch = stage.watch().await;
    assert_eq!(next(&mut watch).await, ["a:1"]);
    let b = stage.register(instance("b:1")).await;
    assert_eq!(next(&mut watch).await, ["a:1", "b:1"]);
    b.update(instance("b:1").with_weight(0)).await.unwrap();
    let list = timeout(PATIENCE, watch.next()).await.expect("no list").unwrap().unwrap();
    assert!(list.instances.contains(&instance("b:1").with_weight(0)), "{list:?}");
    a.release().await.unwrap();
    assert_eq!(next(&mut watch).await, ["b:1"]);
    b.release().await.unwrap();
    assert_eq!(next(&mut watch).await, [""; 0]);
}

async fn a_watch_of_nothing_begins_with_an_empty_list_and_is_not_woken_by_other_services(stage: Stage) {
    let mut watch = stage.watch().await;
    assert_eq!(next(&mut watch).await, [""; 0]);
    let _other = stage.register(ServiceInstance::new("users2", "a:1")).await;
    assert!(timeout(Duration::from_millis(200), watch.next()).await.is_err());
    let _kept = stage.register(instance("a:1")).await;
    assert_eq!(next(&mut watch).await, ["a:1"]);
}

async fn changes_before_the_first_question_are_not_lost(stage: Stage) {
    let x = stage.register(instance("x:1")).await;
    let mut watch = stage.watch().await;
    let _y = stage.register(instance("y:1")).await;
    x.release().await.unwrap();
    sees(&mut watch, &["y:1"]).await;
}

async fn a_question_that_is_given_up_at_any_moment_loses_nothing(stage: Stage) {
    let mut watch = stage.watch().await;
    assert_eq!(next(&mut watch).await, [""; 0]);
    let mut expected = Vec::new();
    let mut kept = Vec::new();
    for number in 0..5 {
        let address = format!("{number}:1");
        kept.push(stage.register(instance(&address)).await);
        expected.push(address);
        let mut given_up = 0;
        loop {
            match timeout(Duration::from_millis(1), watch.next()).await {
                Ok(list) => {
                    let mut ids: Vec<_> = list.unwrap().unwrap().instances.into_iter().map(|found| found.id).collect();
                    ids.sort();
                    assert_eq!(ids, expected);
                    break;
                }
                Err(_) => given_up += 1,
            }
            assert!(given_up < PATIENCE.as_millis(), "no list");
        }
    }
}

async fn an_empty_name_is_refused(stage: Stage) {
    for instance in [ServiceInstance::new("", "a:1"), instance("a:1").with_id("")] {
        let error = stage.registrar().register(instance).await.unwrap_err().to_string();
        assert!(error.contains("empty"), "{error}");
    }
}

/// Each promise as a test of the registry that this stage is of.
macro_rules! promises {
    ($registry:ident: $($promise:ident)*) => {
        mod $registry {
            $(
                #[tokio::test]
                async fn $promise() {
                    super::$promise(super::Stage::$registry().await).await;
                }
            )*
        }
    };
}

/// The whole contract for a registry.
macro_rules! contract {
    ($registry:ident) => {
        promises! {
            $registry:
            an_instance_is_found_by_its_service_alone_with_all_that_is_known_of_it
            an_update_takes_the_place_of_what_was_announced
            an_update_changes_neither_service_nor_id
            releasing_twice_is_no_error_and_an_update_afterwards_is_one
            releasing_leaves_what_another_provider_announced_under_the_same_id
            what_is_dropped_without_release_goes
            a_watch_begins_with_what_is_there_and_goes_on_with_every_change
            a_watch_of_nothing_begins_with_an_empty_list_and_is_not_woken_by_other_services
            changes_before_the_first_question_are_not_lost
            a_question_that_is_given_up_at_any_moment_loses_nothing
            an_empty_name_is_refused
        }
    };
}

contract!(memory);
#[cfg(feature = "file")]
contract!(file);
#[cfg(feature = "etcd")]
contract!(etcd);
