//! Whoever depends on `rpc` has all built-in plugins at hand, by these keys.

use rpc as _;
use rpc_core::extension::keys;
use rpc_core::fault::FaultStrategy;
use rpc_core::loadbalancer::LoadBalancer;
use rpc_core::registry::{Discovery, Registrar};

#[test]
fn every_built_in_plugin_is_registered() {
    // The feature is off by default, as it needs `protoc`.
    if cfg!(feature = "etcd") {
        assert_eq!(keys::<dyn Discovery>(), ["direct", "etcd", "memory"]);
        assert_eq!(keys::<dyn Registrar>(), ["etcd", "memory"]);
    } else {
        assert_eq!(keys::<dyn Discovery>(), ["direct", "memory"]);
        assert_eq!(keys::<dyn Registrar>(), ["memory"]);
    }
    assert_eq!(keys::<dyn LoadBalancer>(), ["consistentHash", "random", "roundRobin"]);
    assert_eq!(keys::<dyn FaultStrategy>(), ["failBack", "failFast", "failOver", "failSafe"]);
}
