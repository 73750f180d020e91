//! What every balancer promises: each that is registered runs all of these.

use std::{cell::RefCell, collections::HashMap, error::Error, sync::Arc};

use rpc_core::{
    ServiceInstance, Settings, extension,
    loadbalancer::{Endpoints, LoadBalancer, PickContext},
};
use rpc_loadbalancer as _;

const KEYS: [Option<&[u8]>; 4] = [None, Some(b""), Some(b"user:7"), Some(&[0xff; 300])];

/// Runs `check` with a fresh balancer of each kind, and says which it was if it fails.
fn each(check: impl Fn(&dyn LoadBalancer)) {
    fastrand::seed(7);
    for key in extension::keys::<dyn LoadBalancer>() {
        println!("checking `{key}`");
        let balancer = extension::build::<dyn LoadBalancer>(key, &Settings::default());
        check(&*balancer.expect("no setting is required"));
    }
}

/// Hosts by number, of different weights.
fn endpoints(hosts: impl IntoIterator<Item = u32>) -> Arc<Endpoints> {
    let instances = hosts
        .into_iter()
        .map(|host| ServiceInstance::new("users", format!("host{host:03}:1")).with_weight(50 + host * 97 % 250));
    Arc::new(Endpoints::from_instances(instances))
}

#[test]
fn an_empty_list_gives_nothing_and_a_single_endpoint_is_always_chosen() {
    each(|balancer| {
        for len in [0, 1, 0] {
            let picker = balancer.prepare(&endpoints(0..len));
            for key in KEYS.into_iter().cycle().take(100) {
                assert_eq!(picker.pick(&PickContext::new(key, &|_| true)), (len == 1).then_some(0));
                assert_eq!(picker.pick(&PickContext::new(key, &|_| false)), None);
            }
        }
    });
}

#[test]
fn chooses_an_endpoint_that_admits_the_call_and_asks_each_at_most_once() {
    each(|balancer| {
        for len in 1..=7 {
            let picker = balancer.prepare(&endpoints(0..len));
            for admitted in 0..1_u32 << len {
                for key in KEYS {
                    let asked = RefCell::new(Vec::new());
                    let admits = |position| {
                        asked.borrow_mut().push(position);
                        admitted >> position & 1 == 1
                    };
                    let pick = picker.pick(&PickContext::new(key, &admits));
                    let mut asked = asked.take();
                    asked.sort_unstable();
                    assert!(asked.is_sorted_by(|a, b| a < b), "one was asked twice: {asked:?}");
                    match pick {
                        Some(position) => assert!(admitted >> position & 1 == 1 && asked.contains(&position)),
                        None => assert_eq!((admitted, asked), (0, Vec::from_iter(0..len as usize))),
                    }
                }
            }
        }
    });
}

#[test]
fn every_endpoint_is_chosen_at_times() {
    each(|balancer| {
        let picker = balancer.prepare(&endpoints(0..5));
        let mut counts = [0; 5];
        for user in 0..10_000 {
            let key = format!("user:{user}");
            counts[picker.pick(&PickContext::new(Some(key.as_bytes()), &|_| true)).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    });
}

#[test]
fn where_the_key_counts_it_is_all_that_counts() {
    each(|balancer| {
        if !balancer.uses_key() {
            return;
        }
        let mut hosts = Vec::from_iter(0..20);
        let picker = balancer.prepare(&endpoints(hosts.iter().copied()));
        for user in 0..100 {
            fastrand::shuffle(&mut hosts);
            let other = balancer.prepare(&endpoints(hosts.iter().copied()));
            let key = format!("user:{user}");
            for refused in 0..20 {
                let admits = |position| position > refused;
                let cx = PickContext::new(Some(key.as_bytes()), &admits);
                assert_eq!(picker.pick(&cx), other.pick(&cx));
            }
        }
    });
}

#[test]
fn a_setting_that_it_does_not_know_is_refused() {
    let settings = Settings::from_table(&HashMap::from([("unheardOf", true)])).unwrap();
    for key in extension::keys::<dyn LoadBalancer>() {
        let error = extension::build::<dyn LoadBalancer>(key, &settings).unwrap_err();
        assert_eq!(error.source().unwrap().to_string(), "setting `unheardOf` is not accepted");
    }
}
