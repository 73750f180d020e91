//! The ring: the points of all endpoints, in order.

use rpc_core::loadbalancer::{Endpoint, Endpoints};
use xxhash_rust::xxh3::xxh3_64;

/// The weight that stands for `virtualNodes` points.
const DEFAULT_WEIGHT: u64 = 100;

/// 16 MiB. Room for 6,500 instances of default weight.
const MAX_POINTS: u64 = 1 << 20;

/// The points of all endpoints of one list, in order.
pub(super) struct Ring {
    points: Vec<Point>,
    endpoints: usize,
}

struct Point {
    hash: u64,
    position: u32,
    /// How many points of other endpoints lie between this one and the one before it, around the end too, of the same
    /// endpoint. It tells a walk whether it has met this endpoint already, so that it need not remember.
    others: u32,
}

impl Ring {
    /// The ring of `endpoints`; `virtual_nodes` is what one of default weight gets.
    pub(super) fn new(endpoints: &Endpoints, virtual_nodes: u32) -> Self {
        let shares = (0..).zip(endpoints.iter()).zip(shares(endpoints, virtual_nodes));
        let points = shares.flat_map(|((position, endpoint), share)| {
            let id = &endpoint.instance().id;
            (0..share).map(move |index| (xxh3_64(format!("{id}#{index}").as_bytes()), position))
        });
        Self::from_points(points, endpoints.len())
    }

    /// The ring of these points, each a hash and the position of its endpoint, in any order.
    fn from_points(points: impl Iterator<Item = (u64, u32)>, endpoints: usize) -> Self {
        let mut points: Vec<_> = points.map(|(hash, position)| Point { hash, position, others: 0 }).collect();
        // Positions are in the order of the ids, so the smaller id comes first among equal hashes.
        points.sort_unstable_by_key(|point| (point.hash, point.position));
        let len = u32::try_from(points.len()).expect("the number of points is limited");
        let mut latest = vec![0; endpoints];
        for (index, point) in (0..len).zip(&points) {
            latest[point.position as usize] = index;
        }
        for (index, point) in (0..len).zip(&mut points) {
            let latest = &mut latest[point.position as usize];
            point.others = (index + len - *latest - 1) % len;
            *latest = index;
        }
        Self { points, endpoints }
    }

    /// How many points it has.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// The positions in the order in which they take the keys of this hash, each once.
    pub(super) fn walk(&self, hash: u64) -> impl Iterator<Item = usize> {
        let start = self.points.partition_point(|point| point.hash < hash);
        let (before, from) = self.points.split_at(start);
        let passed = (0..).zip(from.iter().chain(before));
        let new = passed.filter(|(steps, point)| point.others >= *steps);
        // The rest of the ring has nobody new.
        new.map(|(_, point)| point.position as usize).take(self.endpoints)
    }
}

/// How many points each endpoint gets.
fn shares(endpoints: &[Endpoint], virtual_nodes: u32) -> impl Iterator<Item = u64> {
    let wanted = move |endpoint: &Endpoint| {
        let weight = u64::from(endpoint.instance().weight);
        (u64::from(virtual_nodes) * weight / DEFAULT_WEIGHT).max(1)
    };
    let total: u64 = endpoints.iter().map(wanted).sum();
    let granted = total.min(MAX_POINTS);
    // 59 bits at most: 14 of the virtual nodes and 32 of the weight, less 7 by the division, and 20 of the limit.
    endpoints.iter().map(move |endpoint| (wanted(endpoint) * granted / total).max(1))
}

#[cfg(test)]
mod tests {
    use rpc_core::ServiceInstance;

    use super::*;

    /// Two points each of 127.0.0.1:90 to :95, by xxHash64: the ring of a test of Envoy's (`ring_hash_lb_test`, Basic).
    const ENVOY: [(u64, u32); 12] = [
        (833437586790550860, 4),
        (928266305478181108, 2),
        (1033482794131418490, 0),
        (3551244743356806947, 5),
        (3851675632748031481, 3),
        (5583722120771150861, 1),
        (6311230543546372928, 1),
        (7700377290971790572, 3),
        (13144177310400110813, 5),
        (13444792449719432967, 2),
        (15516499411664133160, 4),
        (16117243373044804889, 0),
    ];

    fn walk(points: &[(u64, u32)], endpoints: usize, hash: u64) -> Vec<usize> {
        Ring::from_points(points.iter().copied(), endpoints).walk(hash).collect()
    }

    fn shares_of(weights: &[u32], virtual_nodes: u32) -> Vec<u64> {
        let instance = |(host, weight): (usize, &u32)| {
            ServiceInstance::new("users", format!("host{host:04}:1")).with_weight(*weight)
        };
        let endpoints = Endpoints::from_instances(weights.iter().enumerate().map(instance));
        shares(&endpoints, virtual_nodes).collect()
    }

    #[test]
    fn a_hash_belongs_to_the_first_point_not_below_it_or_else_to_the_first() {
        for (hash, owner) in [
            (0, 4),
            (833437586790550860, 4),
            (833437586790550861, 2),
            (3551244743356806947, 5),
            (3551244743356806948, 3),
            (16117243373044804880, 0),
            (16117243373044804889, 0),
            (16117243373044804890, 4),
            (u64::MAX, 4),
        ] {
            assert_eq!(walk(&ENVOY, 6, hash)[0], owner, "{hash}");
        }
    }

    #[test]
    fn a_walk_meets_each_endpoint_once_in_the_order_of_the_ring() {
        assert_eq!(walk(&ENVOY, 6, 0), [4, 2, 0, 5, 3, 1]);
        assert_eq!(walk(&ENVOY, 6, 5583722120771150862), [1, 3, 5, 2, 4, 0]);
        assert_eq!(walk(&ENVOY, 6, u64::MAX), [4, 2, 0, 5, 3, 1]);
        assert_eq!(walk(&[(7, 0)], 1, 8), [0]);
        assert_eq!(walk(&[], 0, 8), [0; 0]);
    }

    #[test]
    fn walks_agree_with_one_that_remembers() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..1_000 {
            let endpoints = random.u32(1..8);
            let one_each = Vec::from_iter((0..endpoints).map(|position| (random.u64(..30), position)));
            let more = Vec::from_iter((0..random.usize(..20)).map(|_| (random.u64(..30), random.u32(..endpoints))));
            let mut points = [one_each, more].concat();
            points.sort_unstable();
            let hash = random.u64(..32);
            let start = points.iter().position(|point| point.0 >= hash).unwrap_or(0);
            let mut expected = Vec::new();
            for (_, position) in points[start..].iter().chain(&points[..start]) {
                if !expected.contains(&(*position as usize)) {
                    expected.push(*position as usize);
                }
            }
            random.shuffle(&mut points);
            assert_eq!(walk(&points, endpoints as usize, hash), expected, "{points:?} from {hash}");
        }
    }

    #[test]
    fn of_equal_points_the_smaller_id_counts() {
        for points in [[(5, 0), (5, 1), (9, 2)], [(9, 2), (5, 1), (5, 0)]] {
            assert_eq!(walk(&points, 3, 5), [0, 1, 2]);
            assert_eq!(walk(&points, 3, 6), [2, 0, 1]);
        }
    }

    #[test]
    fn the_weight_scales_the_points_and_leaves_at_least_one() {
        assert_eq!(shares_of(&[100, 50, 200, 1, 10_000], 160), [160, 80, 320, 1, 16_000]);
        assert_eq!(shares_of(&[100, 1], 1), [1, 1]);
        assert_eq!(shares_of(&[], 160), [0; 0]);
    }

    #[test]
    fn a_ring_that_would_be_too_large_shrinks_in_proportion() {
        assert_eq!(shares_of(&[u32::MAX; 4], 10_000), [1 << 18; 4]);
        assert_eq!(shares_of(&[200, 100, u32::MAX], 160), [1, 1, (1 << 20) - 1]);
        assert_eq!(shares_of(&[100; 6_553], 160), [160; 6_553]);
        assert_eq!(shares_of(&[100; 8_192], 160), [128; 8_192]);
    }
}
