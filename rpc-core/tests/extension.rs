//! A configuration mistake is reported with what was asked, what exists, and what to do.
//!
//! Each kind of plugin stands for one state of affairs here: load balancers are registered properly, one registry is
//! registered twice, and no fault strategy is registered at all.

use std::{error::Error, sync::Arc};

use rpc_core::{
    BoxError, BoxFuture, Settings,
    extension::{self, ExtensionError},
    fault::FaultStrategy,
    loadbalancer::{Endpoints, LoadBalancer, PickContext, Picker},
    register,
    registry::{Discovery, InstanceList},
};

#[derive(Debug)]
struct Never;

impl LoadBalancer for Never {
    fn prepare(&self, _: &Arc<Endpoints>) -> Box<dyn Picker> {
        Box::new(Never)
    }

    fn uses_key(&self) -> bool {
        true
    }
}

impl Picker for Never {
    fn pick(&self, _: &PickContext<'_>) -> Option<usize> {
        None
    }
}

impl Discovery for Never {
    fn lookup<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<InstanceList, BoxError>> {
        Box::pin(async { Ok(InstanceList::default()) })
    }
}

fn build(_: &Settings) -> Result<Arc<Never>, BoxError> {
    Ok(Arc::new(Never))
}

fn build_dyn(_: &Settings) -> Result<Arc<dyn LoadBalancer>, BoxError> {
    Ok(Arc::new(Never))
}

fn refuse(settings: &Settings) -> Result<Arc<Never>, BoxError> {
    Err(format!("no use for {:?}", settings.url()).into())
}

register!(dyn LoadBalancer, "roundRobin", build);
register!(dyn LoadBalancer, "random", build_dyn);
register!(dyn LoadBalancer, "picky", refuse);
register!(dyn Discovery, "memory", build);
const FIRST: u32 = line!() - 1;
register!(dyn Discovery, "direct", build);
register!(dyn Discovery, "memory", build);
const SECOND: u32 = line!() - 1;

fn balancer(key: &str) -> Result<Arc<dyn LoadBalancer>, ExtensionError> {
    extension::build::<dyn LoadBalancer>(key, &Settings::default())
}

#[test]
fn a_plugin_is_found_by_its_key() {
    assert!(balancer("roundRobin").unwrap().uses_key());
    assert!(balancer("random").unwrap().uses_key());
}

#[test]
fn keys_are_listed_in_order() {
    assert_eq!(extension::keys::<dyn LoadBalancer>(), ["picky", "random", "roundRobin"]);
    assert_eq!(extension::keys::<dyn FaultStrategy>(), [""; 0]);
}

#[test]
fn an_unknown_key_is_answered_with_the_nearest_and_all_registered() {
    assert_eq!(
        balancer("roundrobin").unwrap_err().to_string(),
        "unknown load balancer `roundrobin`; did you mean `roundRobin`? registered: picky, random, roundRobin"
    );
}

#[test]
fn an_unknown_key_near_to_none_is_answered_with_all_registered() {
    assert_eq!(
        balancer("leastActive").unwrap_err().to_string(),
        "unknown load balancer `leastActive`; registered: picky, random, roundRobin; \
         is the crate that brings it named in the program (`use the_crate as _;`), and the cargo feature on that it may need?"
    );
}

#[test]
fn a_kind_without_plugins_asks_for_the_crate_and_its_feature() {
    let error = extension::build::<dyn FaultStrategy>("failFast", &Settings::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown fault strategy `failFast`; no fault strategy is registered at all: \
         is the plugin crate linked (`use rpc_fault as _;`), is its feature on?"
    );
}

#[test]
fn a_key_registered_twice_is_found_by_any_lookup_of_its_kind() {
    for key in ["memory", "direct", "etcd"] {
        let error = extension::build::<dyn Discovery>(key, &Settings::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "registry `memory` is registered twice, at {file}:{FIRST} and at {file}:{SECOND}; rename or remove one",
                file = file!()
            )
        );
    }
}

#[test]
fn refused_settings_name_the_plugin_and_keep_its_reason_as_the_source() {
    let (_, settings) = Settings::from_url("picky:x").unwrap();
    let error = extension::build::<dyn LoadBalancer>("picky", &settings).unwrap_err();
    assert_eq!(error.to_string(), "load balancer `picky` refuses its settings");
    assert_eq!(error.source().unwrap().to_string(), r#"no use for Some("picky:x")"#);
}
