//! What the tests with hostile bodies share: an allocator that counts, and values of every kind.

#![allow(unsafe_code, reason = "a global allocator that counts cannot be written without")]
#![allow(dead_code, reason = "no test needs all of it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// What is a large allocation, in bytes.
const LARGE: usize = 64 << 10;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The system's allocator; counts what each thread holds.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    /// Allocations of at least [`LARGE`] bytes.
    static LARGE_ONES: Cell<usize> = const { Cell::new(0) };
}

fn count(change: isize) {
    let held = HELD.get() + change;
    HELD.set(held);
    PEAK.set(PEAK.get().max(held));
}

// SAFETY: every call is passed on unchanged; counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        LARGE_ONES.set(LARGE_ONES.get() + usize::from(layout.size() >= LARGE));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What `run` held at most.
pub(crate) fn peak<R>(run: impl FnOnce() -> R) -> (R, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = run();
    (result, (PEAK.get() - before) as usize)
}

/// How many large allocations `run` made; growing is one.
pub(crate) fn large_ones<R>(run: impl FnOnce() -> R) -> (R, usize) {
    let before = LARGE_ONES.get();
    let result = run();
    (result, LARGE_ONES.get() - before)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Tree {
    Leaf,
    Value(i64),
    Pair(Box<Tree>, Box<Tree>),
    Node { children: Vec<Tree>, name: Option<String> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rich<K: Ord> {
    flag: bool,
    letter: char,
    small: (u8, i8, u16, i16),
    large: (u64, i64, u128, i128),
    real: (f32, f64),
    text: String,
    blob: Vec<u8>,
    buffer: ByteBuf,
    numbers: Vec<u64>,
    nothings: Vec<()>,
    words: HashMap<String, Vec<Option<i16>>>,
    sorted: BTreeMap<K, BTreeSet<u32>>,
    array: [u32; 5],
    tree: Tree,
    address: SocketAddr,
    time: SystemTime,
    elapsed: Duration,
    result: Result<u8, String>,
}

/// A value of every kind, with a map that has this key.
pub(crate) fn rich<K: Ord>(key: K) -> Rich<K> {
    Rich {
        flag: true,
        letter: '🦀',
        small: (1, -1, 300, -300),
        large: (u64::MAX, i64::MIN, 1 << 100, -5),
        real: (1.5, -0.0),
        text: "grün".into(),
        blob: vec![1, 2, 3],
        buffer: ByteBuf::from([4, 5]),
        numbers: vec![1, 1 << 20, 1 << 40],
        nothings: vec![(); 7],
        words: HashMap::from([("a".into(), vec![None, Some(-3)])]),
        sorted: BTreeMap::from([(key, BTreeSet::from([70_000, 3]))]),
        array: [1, 2, 3, 4, 500],
        tree: Tree::Pair(
            Box::new(Tree::Node { children: vec![Tree::Leaf, Tree::Value(-1)], name: Some("n".into()) }),
            Box::new(Tree::Leaf),
        ),
        address: SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 443)),
        time: SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 5),
        elapsed: Duration::from_millis(1_500),
        result: Err("no".into()),
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Link(pub(crate) Option<Box<Link>>);
