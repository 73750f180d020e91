use std::error::Error;

use rpc_core::extension;

use super::*;

fn registry(name: &str) -> Memory {
    Memory::from_url(&format!("memory:{name}")).unwrap()
}

fn instance(address: &str) -> ServiceInstance {
    ServiceInstance::new("users", address)
}

async fn users(registry: &Memory) -> Vec<ServiceInstance> {
    registry.lookup("users").await.unwrap().instances
}

async fn watch(registry: &Memory) -> Box<dyn InstanceWatch> {
    registry.watch("users").await.unwrap().unwrap()
}

/// The ids in the next list that a watch brings.
async fn next(watch: &mut Box<dyn InstanceWatch>) -> Vec<String> {
    let list = watch.next().await.unwrap().unwrap();
    list.instances.into_iter().map(|instance| instance.id).collect()
}

/// Whether a watch has nothing to say now. Asking takes nothing away.
async fn is_quiet(watch: &mut Box<dyn InstanceWatch>) -> bool {
    tokio::select! {
        biased;
        _ = watch.next() => false,
        () = future::ready(()) => true,
    }
}

#[tokio::test]
async fn an_announced_instance_is_found_by_its_service_alone() {
    let registry = registry("found");
    let mut kept = Vec::new();
    for service in ["users", "users2", "user", "users-admin"] {
        kept.push(registry.register(ServiceInstance::new(service, "a:1")).await.unwrap());
    }
    assert_eq!(users(&registry).await, [instance("a:1")]);
}

#[tokio::test]
async fn all_of_one_name_are_the_same_and_others_are_not() {
    let _kept = registry("same").register(instance("a:1")).await.unwrap();
    let (key, settings) = Settings::from_url("memory:same").unwrap();
    let same = extension::build::<dyn Discovery>(key, &settings).unwrap();
    assert_eq!(same.lookup("users").await.unwrap().instances, [instance("a:1")]);
    assert_eq!(users(&registry("other")).await, []);
}

#[tokio::test]
async fn an_update_takes_the_place_of_what_was_announced() {
    let registry = registry("update");
    let registration = registry.register(instance("a:1")).await.unwrap();
    let drained = instance("a:1").with_weight(0);
    registration.update(drained.clone()).await.unwrap();
    assert_eq!(users(&registry).await, [drained]);
}

#[tokio::test]
async fn an_update_changes_neither_service_nor_id() {
    let registry = registry("update-other");
    let registration = registry.register(instance("a:1")).await.unwrap();
    for other in [instance("b:1"), ServiceInstance::new("orders", "a:1")] {
        registration.update(other).await.unwrap_err();
    }
    assert_eq!(users(&registry).await, [instance("a:1")]);
}

#[tokio::test]
async fn releasing_twice_is_no_error() {
    let registry = registry("release");
    let registration = registry.register(instance("a:1")).await.unwrap();
    registration.release().await.unwrap();
    registration.release().await.unwrap();
    assert_eq!(users(&registry).await, []);
    let error = registration.update(instance("a:1")).await.unwrap_err();
    assert!(error.to_string().contains("instance `a:1` of service `users` is not announced"), "{error}");
}

#[tokio::test]
async fn a_registration_that_is_dropped_takes_its_instance_along() {
    let registry = registry("drop");
    drop(registry.register(instance("a:1")).await.unwrap());
    assert_eq!(users(&registry).await, []);
}

#[tokio::test]
async fn what_another_provider_announced_in_its_place_stays() {
    let registry = registry("another");
    let first = registry.register(instance("a:1")).await.unwrap();
    let _second = registry.register(instance("a:1").with_weight(7)).await.unwrap();
    first.update(instance("a:1").with_weight(0)).await.unwrap_err();
    first.release().await.unwrap();
    drop(first);
    assert_eq!(users(&registry).await, [instance("a:1").with_weight(7)]);
}

#[tokio::test]
async fn a_watch_begins_with_what_is_there_and_goes_on_with_every_change() {
    let registry = registry("watch");
    let a = registry.register(instance("a:1")).await.unwrap();
    let mut watch = watch(&registry).await;
    assert_eq!(next(&mut watch).await, ["a:1"]);
    assert!(is_quiet(&mut watch).await);
    let b = registry.register(instance("b:1")).await.unwrap();
    assert_eq!(next(&mut watch).await, ["a:1", "b:1"]);
    a.release().await.unwrap();
    assert_eq!(next(&mut watch).await, ["b:1"]);
    drop(b);
    assert_eq!(next(&mut watch).await, [""; 0]);
    assert!(is_quiet(&mut watch).await);
}

#[tokio::test]
async fn a_watch_of_nothing_begins_with_an_empty_list() {
    let mut watch = watch(&registry("empty")).await;
    assert_eq!(next(&mut watch).await, [""; 0]);
}

#[tokio::test]
async fn a_watch_is_not_woken_by_other_services() {
    let registry = registry("others");
    let mut watch = watch(&registry).await;
    next(&mut watch).await;
    let _other = registry.register(ServiceInstance::new("users2", "a:1")).await.unwrap();
    assert!(is_quiet(&mut watch).await);
}

#[tokio::test]
async fn changes_before_the_first_question_are_not_lost() {
    let registry = registry("early");
    let x = registry.register(instance("x:1")).await.unwrap();
    let mut watch = watch(&registry).await;
    let _y = registry.register(instance("y:1")).await.unwrap();
    drop(x);
    assert_eq!(next(&mut watch).await, ["y:1"]);
}

#[tokio::test]
async fn a_question_that_was_not_waited_for_loses_nothing() {
    let registry = registry("cancel");
    let mut watch = watch(&registry).await;
    next(&mut watch).await;
    for address in ["a:1", "b:1"] {
        assert!(is_quiet(&mut watch).await);
        std::mem::forget(registry.register(instance(address)).await.unwrap());
        drop(watch.next());
        assert!(next(&mut watch).await.contains(&address.to_owned()));
    }
}

#[tokio::test]
async fn a_name_that_is_empty_or_has_a_slash_is_refused() {
    let registry = registry("names");
    for (instance, message) in [
        (ServiceInstance::new("", "a:1"), "the service name `` is empty or contains `/`; give it another one"),
        (ServiceInstance::new("a/b", "a:1"), "the service name `a/b` is empty or contains `/`; give it another one"),
        (instance("a:1").with_id(""), "the instance id `` is empty or contains `/`; give it another one"),
        (instance("a:1").with_id("/"), "the instance id `/` is empty or contains `/`; give it another one"),
    ] {
        assert_eq!(registry.register(instance).await.unwrap_err().to_string(), message);
    }
    let kept = registry.register(ServiceInstance::new("grüße an alle", "a:1")).await;
    kept.unwrap();
}

#[test]
fn a_url_without_a_proper_name_is_refused_with_the_form_expected() {
    for url in ["memory:", "memory://", "memory:a/b", "memory:a b", "memory:ä"] {
        let (key, settings) = Settings::from_url(url).unwrap();
        let error = extension::build::<dyn Registrar>(key, &settings).unwrap_err();
        let expected = "has no valid name; write `memory:NAME`, with letters, digits, `.`, `_` and `-`";
        assert_eq!(error.source().unwrap().to_string(), format!("registry url `{url}` {expected}"));
    }
    registry("A-z_0.9");
}

#[test]
fn a_password_is_not_repeated() {
    let error = Memory::from_url("memory://ann:secret@a").unwrap_err();
    assert!(error.to_string().starts_with("registry url `memory://***@a` has no valid name"), "{error}");
    assert!(!format!("{error:?}").contains("secret"));
}
