//! No balancer allocates to pick.

#![allow(unsafe_code, reason = "a global allocator that counts cannot be written without")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::Arc,
};

use rpc_core::{
    ServiceInstance, Settings, extension,
    loadbalancer::{Endpoints, LoadBalancer, PickContext},
};
use rpc_loadbalancer as _;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The system's allocator; counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on unchanged; counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[test]
fn picking_allocates_nothing() {
    let instances = (0..300).map(|host| ServiceInstance::new("users", format!("host{host}:1")));
    let endpoints = Arc::new(Endpoints::from_instances(instances));
    for name in extension::keys::<dyn LoadBalancer>() {
        let balancer = extension::build::<dyn LoadBalancer>(name, &Settings::default()).unwrap();
        let picker = balancer.prepare(&endpoints);
        let before = ALLOCATIONS.get();
        for key in [None, Some(&b"user:7"[..])] {
            assert!(picker.pick(&PickContext::new(key, &|_| true)).is_some());
            assert!(picker.pick(&PickContext::new(key, &|position| position == 7)).is_some());
            assert!(picker.pick(&PickContext::new(key, &|_| false)).is_none());
        }
        assert_eq!(ALLOCATIONS.get() - before, 0, "`{name}`");
    }
}
