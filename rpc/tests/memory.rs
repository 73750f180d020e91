//! How often a call asks the allocator, and what a connection that waits holds: pinned, so that more of it is seen.

#![allow(unsafe_code, reason = "an allocator can only be written with it")]
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use bytes::Bytes;
use rpc::{Client, RpcError, Server, rpc_service};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;

/// The system's allocator, which counts for each thread.
struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

fn count(allocations: u64, bytes: usize, freed: usize) {
    COUNT.set(COUNT.get() + allocations);
    LIVE.set(LIVE.get() + bytes as i64 - freed as i64);
}

// SAFETY: everything is passed on to the system's allocator, as it came; the counters are plain cells that need no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size(), 0);
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, 0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[rpc_service]
trait Numbers {
    #[rpc(idempotent)]
    async fn double(&self, number: u64) -> Result<u64, RpcError>;

    /// How often this thread has allocated so far.
    async fn allocations(&self) -> Result<u64, RpcError>;

    /// How many bytes this thread has allocated and not freed.
    async fn live(&self) -> Result<i64, RpcError>;
}

struct Arithmetic;

impl Numbers for Arithmetic {
    async fn double(&self, number: u64) -> Result<u64, RpcError> {
        Ok(number * 2)
    }

    async fn allocations(&self) -> Result<u64, RpcError> {
        Ok(COUNT.get())
    }

    async fn live(&self) -> Result<i64, RpcError> {
        Ok(LIVE.get())
    }
}

#[rpc_service]
trait Vault {
    /// Gives the bytes back once the vault is open.
    async fn keep(&self, bytes: Bytes) -> Result<Bytes, RpcError>;

    /// How many calls have brought bytes.
    async fn brought(&self) -> Result<usize, RpcError>;

    async fn open(&self) -> Result<(), RpcError>;
}

struct Guarded {
    brought: AtomicUsize,
    open: Semaphore,
}

impl Vault for Guarded {
    async fn keep(&self, bytes: Bytes) -> Result<Bytes, RpcError> {
        self.brought.fetch_add(1, Ordering::Relaxed);
        let _open = self.open.acquire().await.unwrap();
        Ok(bytes)
    }

    async fn brought(&self) -> Result<usize, RpcError> {
        Ok(self.brought.load(Ordering::Relaxed))
    }

    async fn open(&self) -> Result<(), RpcError> {
        self.open.add_permits(1);
        Ok(())
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Serves on a thread of its own until the sender is dropped.
fn serve() -> (SocketAddr, oneshot::Sender<()>, std::thread::JoinHandle<()>) {
    let (tell, told) = mpsc::channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let thread = std::thread::spawn(move || {
        runtime().block_on(async move {
            let vault = VaultDispatcher::new(Guarded { brought: AtomicUsize::new(0), open: Semaphore::new(0) });
            let numbers = NumbersDispatcher::new(Arithmetic);
            let server = Server::builder().service(numbers).service(vault).listen("127.0.0.1:0").start().await.unwrap();
            tell.send(server.address()).unwrap();
            let _dropped = stopped.await;
        });
    });
    (told.recv().unwrap(), stop, thread)
}

/// Allocations per call of `calls` one after the other: of the client, and of the server.
async fn per_call(numbers: &NumbersStub, calls: u32) -> (f64, f64) {
    let (server, client) = (numbers.allocations().await.unwrap(), COUNT.get());
    for number in 0..u64::from(calls) {
        assert_eq!(numbers.double(number).await.unwrap(), number * 2);
    }
    let client = COUNT.get() - client;
    let server = numbers.allocations().await.unwrap() - server;
    (client as f64 / f64::from(calls), server as f64 / f64::from(calls))
}

#[test]
fn a_call_allocates_no_more_than_this() {
    let (address, stop, thread) = serve();
    runtime().block_on(async {
        // They act on failure, so that a call that succeeds has nothing of them.
        for fault in ["failFast", "failSafe", "failBack", "failOver"] {
            let consumer = Client::builder().registry(format!("direct://{address}")).fault(fault).build().unwrap();
            let numbers: NumbersStub = consumer.stub().unwrap();
            per_call(&numbers, 1_000).await;
            // Where the machine is busy, `double` may be taken for slow and get tasks for a while.
            let (mut client, mut server) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..5 {
                let measured = per_call(&numbers, 2_000).await;
                (client, server) = (client.min(measured.0), server.min(measured.1));
            }
            println!("{fault}: {client:.2} allocations a call in the client, {server:.2} in the server");
            assert!(client <= 1.1 && server <= 2.1, "{fault}: {client:.2} {server:.2}");
        }
    });
    drop(stop);
    thread.join().unwrap();
}

#[test]
fn a_connection_that_waits_holds_no_more_than_this() {
    const CONNECTIONS: u32 = 200;
    let (address, stop, thread) = serve();
    runtime().block_on(async {
        let connect = async || {
            let client = Client::builder().registry(format!("direct://{address}")).build().unwrap();
            let numbers: NumbersStub = client.stub().unwrap();
            // It has seen work.
            per_call(&numbers, 10).await;
            numbers
        };
        let observer = connect().await;
        let (server_before, client_before) = (observer.live().await.unwrap(), LIVE.get());
        let mut kept = Vec::with_capacity(CONNECTIONS as usize);
        for _ in 0..CONNECTIONS {
            kept.push(connect().await);
        }
        let client = (LIVE.get() - client_before) / i64::from(CONNECTIONS);
        let server = (observer.live().await.unwrap() - server_before) / i64::from(CONNECTIONS);
        println!(
            "a connection that waits: {client} bytes in the client, its own client included, {server} in the server"
        );
        assert!(client <= 16 * 1024 && server <= 4 * 1024, "{client} {server}");
    });
    drop(stop);
    thread.join().unwrap();
}

#[test]
fn a_call_in_flight_holds_no_copy_of_long_bytes_and_an_answer_holds_one() {
    const CALLS: usize = 128;
    let payload = Bytes::from(vec![7; 64 << 10]);
    let (address, stop, thread) = serve();
    runtime().block_on(async {
        let client = Client::builder().registry(format!("direct://{address}")).build().unwrap();
        let vault: VaultStub = client.stub().unwrap();
        vault.brought().await.unwrap();
        let held = |before: i64| (LIVE.get() - before) / CALLS as i64;
        let before = LIVE.get();
        let mut calls = JoinSet::new();
        for _ in 0..CALLS {
            let (vault, bytes) = (vault.clone(), payload.clone());
            calls.spawn(async move { vault.keep(bytes).await });
        }
        let all_brought = async { while vault.brought().await.unwrap() < CALLS {} };
        tokio::time::timeout(Duration::from_secs(30), all_brought).await.unwrap();
        let in_flight = held(before);
        vault.open().await.unwrap();
        let answers = calls.join_all().await;
        let answered = held(before);
        println!("a call with 64 KiB in flight: {in_flight} bytes in the client; its answer: {answered}");
        assert!(answers.into_iter().all(|answer| answer.unwrap() == payload));
        assert!(in_flight <= 4 * 1024 && answered <= 96 * 1024, "{in_flight} {answered}");
    });
    drop(stop);
    thread.join().unwrap();
}
