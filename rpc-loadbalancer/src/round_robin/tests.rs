use std::{cell::RefCell, collections::HashMap, thread};

use rpc_core::ServiceInstance;

use super::*;

fn endpoints(ids: &[usize]) -> Arc<Endpoints> {
    let instances = ids.iter().map(|id| ServiceInstance::new("users", format!("host{id}:1")));
    Arc::new(Endpoints::from_instances(instances))
}

fn first(len: usize) -> Arc<Endpoints> {
    endpoints(&Vec::from_iter(0..len))
}

/// A pick that every endpoint admits.
fn pick(picker: &dyn Picker) -> Option<usize> {
    picker.pick(&PickContext::new(None, &|_| true))
}

#[test]
fn the_sequence_breaks_at_most_once_where_the_counter_wraps() {
    for len in [3, 5, 6, 7, 10] {
        let picker = RoundRobin::starting_at(usize::MAX - 3).prepare(&first(len));
        let picks: Vec<_> = (0..10).map(|_| pick(&*picker).unwrap()).collect();
        assert!(picks.iter().all(|position| *position < len), "{picks:?}");
        let breaks = picks.windows(2).filter(|pair| pair[1] != (pair[0] + 1) % len).count();
        assert!(breaks <= 1, "{len} endpoints: {picks:?}");
    }
}

#[test]
fn threads_share_the_turns_exactly() {
    let balancer = RoundRobin::new();
    let endpoints = first(5);
    let count_in_thread = || {
        let picker = balancer.prepare(&endpoints);
        let mut counts = [0; 5];
        (0..10_000).for_each(|_| counts[pick(&*picker).unwrap()] += 1);
        counts
    };
    let mut total = [0; 5];
    thread::scope(|scope| {
        let threads: Vec<_> = (0..10).map(|_| scope.spawn(count_in_thread)).collect();
        for thread in threads {
            let counts = thread.join().unwrap();
            total.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    });
    assert_eq!(total, [20_000; 5]);
}

#[test]
fn a_list_in_another_order_does_not_disturb_the_turns() {
    let mut random = fastrand::Rng::with_seed(7);
    let balancer = RoundRobin::new();
    let mut ids = [0, 1, 2, 3, 4];
    let mut counts = HashMap::new();
    for _ in 0..10_000 {
        random.shuffle(&mut ids);
        let list = endpoints(&ids);
        let position = pick(&*balancer.prepare(&list)).unwrap();
        *counts.entry(list[position].instance().id.clone()).or_insert(0) += 1;
    }
    assert_eq!(Vec::from_iter(counts.into_values()), [2_000; 5]);
}

#[test]
fn each_balancer_has_its_own_turns() {
    let (one, two) = (RoundRobin::new(), RoundRobin::new());
    let (single, pair) = (one.prepare(&first(1)), two.prepare(&first(2)));
    let mut counts = [0; 2];
    for _ in 0..1_000 {
        assert_eq!(pick(&*single), Some(0));
        counts[pick(&*pair).unwrap()] += 1;
    }
    assert_eq!(counts, [500; 2]);
}

#[test]
fn fresh_balancers_begin_anywhere() {
    fastrand::seed(7);
    let endpoints = first(5);
    let mut counts = [0; 5];
    for _ in 0..1_000 {
        counts[pick(&*RoundRobin::new().prepare(&endpoints)).unwrap()] += 1;
    }
    assert!(counts.iter().all(|count| (137..=263).contains(count)), "{counts:?}");
}

#[test]
fn a_new_list_does_not_restart_the_sequence() {
    let balancer = RoundRobin::starting_at(0);
    let picks: Vec<_> = (0..7).map(|_| pick(&*balancer.prepare(&first(5))).unwrap()).collect();
    assert_eq!(picks, [0, 1, 2, 3, 4, 0, 1]);
}

#[test]
fn walks_on_past_endpoints_that_do_not_admit_the_call() {
    let picker = RoundRobin::starting_at(3).prepare(&first(5));
    let only_one = |position| position == 1;
    assert_eq!(picker.pick(&PickContext::new(None, &only_one)), Some(1));
    assert_eq!(pick(&*picker), Some(4));
}

#[test]
fn asks_each_position_once_when_none_admits_the_call() {
    let picker = RoundRobin::starting_at(3).prepare(&first(5));
    let asked = RefCell::new(Vec::new());
    let refuse = |position| {
        asked.borrow_mut().push(position);
        false
    };
    assert_eq!(picker.pick(&PickContext::new(None, &refuse)), None);
    assert_eq!(asked.take(), [3, 4, 0, 1, 2]);
}
