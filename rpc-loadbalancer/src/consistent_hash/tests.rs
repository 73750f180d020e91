use std::{collections::HashMap, time::Instant};

use rpc_core::{ServiceInstance, extension};

use super::*;

const TEN: [u32; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/// The instance 192.168.1.`host`:8080.
fn instance(host: u32) -> ServiceInstance {
    ServiceInstance::new("users", format!("192.168.1.{host}:8080"))
}

fn users() -> impl Iterator<Item = String> {
    (0..100_000).map(|user| format!("user:{user}"))
}

/// The endpoint that each key goes to.
struct Mapping {
    endpoints: Arc<Endpoints>,
    positions: Vec<usize>,
}

impl Mapping {
    fn new(
        instances: impl IntoIterator<Item = ServiceInstance>,
        virtual_nodes: u32,
        keys: impl Iterator<Item = String>,
    ) -> Self {
        let endpoints = Arc::new(Endpoints::from_instances(instances));
        let picker = ConsistentHash { virtual_nodes }.prepare(&endpoints);
        let position = |key: String| picker.pick(&PickContext::new(Some(key.as_bytes()), &|_| true)).unwrap();
        Self { positions: keys.map(position).collect(), endpoints }
    }

    /// Where the keys `user:0` to `user:99999` go by default.
    fn of_users(instances: impl IntoIterator<Item = ServiceInstance>) -> Self {
        Self::new(instances, DEFAULT_VIRTUAL_NODES, users())
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        self.positions.iter().map(|position| self.endpoints[*position].instance().id.as_str())
    }

    /// How many keys each endpoint gets, in the order of the ids.
    fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.endpoints.len()];
        self.positions.iter().for_each(|position| counts[*position] += 1);
        counts
    }

    /// The keys that `other` sends elsewhere, each as the ids here and there.
    fn moves<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.ids().zip(other.ids()).filter(|(here, there)| here != there)
    }
}

/// 100,000 random keys with the look of version 4 UUIDs.
fn uuids() -> impl Iterator<Item = String> {
    let mut random = fastrand::Rng::with_seed(7);
    (0..100_000).map(move |_| {
        let (node, low, mid) = (random.u64(..1 << 48), random.u32(..), random.u16(..));
        let (high, clock) = (random.u16(..1 << 12), random.u16(..1 << 12));
        format!("{low:08x}-{mid:04x}-4{high:03x}-a{clock:03x}-{node:012x}")
    })
}

#[test]
fn the_shares_of_real_addresses_are_nearly_equal() {
    for (virtual_nodes, least, most) in [(100, 0.60, 1.40), (160, 0.70, 1.30), (1_024, 0.88, 1.12)] {
        let numbers = (1_000_000..1_100_000).map(|number: u32| number.to_string());
        for keys in [Vec::from_iter(users()), Vec::from_iter(numbers), Vec::from_iter(uuids())] {
            let local = (8081..8084).map(|port| ServiceInstance::new("users", format!("127.0.0.1:{port}")));
            for instances in [Vec::from_iter(TEN.map(instance)), Vec::from_iter(local)] {
                let mean = keys.len() as f64 / instances.len() as f64;
                let counts = Mapping::new(instances, virtual_nodes, keys.iter().cloned()).counts();
                let within = counts.iter().all(|count| (least * mean..=most * mean).contains(&(*count as f64)));
                assert!(within, "{virtual_nodes} virtual nodes: {counts:?}");
            }
        }
    }
}

/// Computed with another implementation of XXH3 (Python's xxhash), which every process and platform must agree with.
#[test]
fn the_mapping_is_as_pinned() {
    let mapping = Mapping::of_users(TEN.map(instance));
    assert_eq!(mapping.endpoints[0].instance().id, "192.168.1.10:8080");
    assert_eq!(mapping.counts(), [10313, 10474, 10532, 11116, 9445, 10144, 10107, 9256, 8700, 9913]);
    let positions = Vec::from_iter(mapping.positions.iter().map(|position| *position as u8));
    assert_eq!(xxh3_64(&positions), 0xaa77_d029_7499_7747);
}

#[test]
fn an_instance_that_leaves_moves_only_its_own_keys() {
    let before = Mapping::of_users(TEN.map(instance));
    let mut moved = 0;
    for left in TEN {
        let after = Mapping::of_users(TEN.into_iter().filter(|host| *host != left).map(instance));
        let id = instance(left).id;
        let own = before.ids().filter(|owner| *owner == id).count();
        let moves = Vec::from_iter(before.moves(&after));
        assert!(moves.iter().all(|(owner, _)| *owner == id));
        assert_eq!(moves.len(), own);
        moved += own;
    }
    assert_eq!(moved, 100_000);
}

#[test]
fn an_instance_that_joins_takes_its_share_and_moves_nothing_else() {
    let before = Mapping::of_users(TEN.map(instance));
    let after = Mapping::of_users((1..=11).map(instance));
    assert!(before.moves(&after).all(|(_, taker)| taker == "192.168.1.11:8080"));
    // In theory an eleventh; the figure is the other implementation's, too.
    assert_eq!(before.moves(&after).count(), 9_439);
}

#[test]
fn a_greater_weight_takes_keys_and_moves_nothing_else() {
    let before = Mapping::of_users(TEN.map(instance));
    let weighty = |host| instance(host).with_weight(if host == 7 { 200 } else { 100 });
    let after = Mapping::of_users(TEN.map(weighty));
    assert!(before.moves(&after).all(|(_, taker)| taker == instance(7).id));
    let share = after.ids().filter(|owner| *owner == instance(7).id).count() as f64 / 100_000.0;
    assert!((2.0 / 11.0 - share).abs() < 0.03, "{share}");
}

#[test]
fn neither_the_order_of_arrival_nor_anything_but_the_id_matters() {
    let expected = Mapping::of_users(TEN.map(instance));
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..20 {
        let mut instances = TEN.map(|host| {
            let mut again = instance(host).with_metadata("startedAt", format!("{round}"));
            again.address = format!("10.{round}.{}.1:9000", random.u8(..));
            again
        });
        random.shuffle(&mut instances);
        assert_eq!(expected.moves(&Mapping::of_users(instances)).count(), 0);
    }
}

#[test]
fn where_the_owner_is_not_admitted_the_key_goes_where_it_would_go_without_it() {
    let endpoints = Arc::new(Endpoints::from_instances(TEN.map(instance)));
    let picker = ConsistentHash::default().prepare(&endpoints);
    let id = |position: usize| &endpoints[position].instance().id;
    for left in TEN {
        let others = Mapping::of_users(TEN.into_iter().filter(|host| *host != left).map(instance));
        let admits = |position| *id(position) != instance(left).id;
        for (key, expected) in users().zip(others.ids()).step_by(10) {
            let position = picker.pick(&PickContext::new(Some(key.as_bytes()), &admits)).unwrap();
            assert_eq!(id(position), expected);
        }
    }
}

#[test]
fn calls_without_a_key_are_spread_and_an_empty_key_is_a_key() {
    fastrand::seed(7);
    let picker = ConsistentHash::default().prepare(&Arc::new(Endpoints::from_instances(TEN.map(instance))));
    let mut counts = [0; 10];
    for _ in 0..10_000 {
        counts[picker.pick(&PickContext::new(None, &|_| true)).unwrap()] += 1;
    }
    assert!(counts.iter().all(|count| (700..=1_300).contains(count)), "{counts:?}");
    let empty = PickContext::new(Some(b""), &|_| true);
    let owner = picker.pick(&empty).unwrap();
    assert!((0..10_000).all(|_| picker.pick(&empty) == Some(owner)));
}

#[test]
fn a_ring_of_300_instances_has_a_point_per_virtual_node() {
    let endpoints = Endpoints::from_instances((0..300).map(instance));
    let started = Instant::now();
    let ring = Ring::new(&endpoints, DEFAULT_VIRTUAL_NODES);
    println!("ring of {} points built in {:?}", ring.len(), started.elapsed());
    assert_eq!(ring.len(), 48_000);
}

#[test]
fn the_number_of_virtual_nodes_is_a_setting_within_bounds() {
    let build = |value: i64| {
        let settings = Settings::from_table(&HashMap::from([("virtualNodes", value)])).unwrap();
        extension::build::<dyn LoadBalancer>("consistentHash", &settings)
    };
    let shown = |value| format!("{:?}", build(value).unwrap());
    assert_eq!(shown(1), "ConsistentHash { virtual_nodes: 1 }");
    assert_eq!(shown(10_000), "ConsistentHash { virtual_nodes: 10000 }");
    for value in [-1, 0, 10_001] {
        let error = build(value).unwrap_err();
        let refused = std::error::Error::source(&error).unwrap();
        assert_eq!(refused.to_string(), "setting `virtualNodes` is not accepted");
        let expected = format!("invalid value: integer `{value}`, expected a number from 1 to 10000");
        assert_eq!(refused.source().unwrap().to_string(), expected);
    }
}
