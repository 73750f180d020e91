//! Whoever depends on `rpc` has all built-in plugins at hand, by these keys.

use rpc as _;
use rpc_core::{extension::keys, fault::FaultStrategy, loadbalancer::LoadBalancer, registry::Discovery};

#[test]
fn every_built_in_plugin_is_registered() {
    assert_eq!(keys::<dyn Discovery>(), ["direct"]);
    assert_eq!(keys::<dyn LoadBalancer>(), ["consistentHash", "random", "roundRobin"]);
    assert_eq!(keys::<dyn FaultStrategy>(), ["failFast"]);
}
