//! Whoever depends on `rpc` has all built-in plugins at hand, by these keys.

use rpc as _;
use rpc_core::extension::keys;
use rpc_core::fault::FaultStrategy;
use rpc_core::loadbalancer::LoadBalancer;
use rpc_core::registry::{Discovery, Registrar};

#[test]
fn every_built_in_plugin_is_registered() {
    // Two of the registries are behind features, and the others are always there.
    let is_in = |key: &&str| match *key {
        "etcd" => cfg!(feature = "etcd"),
        "file" => cfg!(feature = "file"),
        _ => true,
    };
    assert_eq!(keys::<dyn Discovery>(), Vec::from_iter(["direct", "etcd", "file", "memory"].into_iter().filter(is_in)));
    assert_eq!(keys::<dyn Registrar>(), Vec::from_iter(["etcd", "file", "memory"].into_iter().filter(is_in)));
    assert_eq!(keys::<dyn LoadBalancer>(), ["consistentHash", "random", "roundRobin"]);
    assert_eq!(keys::<dyn FaultStrategy>(), ["failBack", "failFast", "failOver", "failSafe"]);
}
