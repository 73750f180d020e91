//! A network in memory, and plugins that need no crate: what the tests of this crate stand on.
//!
//! Time can be paused on it, which does not work over real sockets. One file for each promise that is kept on it.

mod acts;
mod batches;
mod building;
mod connect;
mod context;
mod deadline;
mod discovery;
mod executed;
mod fake;
mod frames;
mod late;
mod leaving;
mod liveness;
mod load;
mod piling;
mod preparing;
pub(crate) mod probe;
mod registering;
mod runs;
mod script;
mod time_left;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::fault::{Acts, FaultStrategy, Next, Reply};
use crate::loadbalancer::{Endpoints, LoadBalancer, PickContext, Picker};
use crate::lock::lock;
use crate::registry::{Discovery, InstanceList};
use crate::transport::Io;
use crate::transport::connect::Connect;
use crate::{
    BoxError, BoxFuture, Client, ClientBuilder, Invocation, RpcError, ServerBuilder, ServiceInstance, Settings,
    register,
};

/// Bytes that a stream holds before its writer waits; small, so that frames are cut.
const STREAM_CAPACITY: usize = 1_000;

/// A network in memory: addresses, and who listens there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Network {
    listeners: Arc<Mutex<HashMap<String, mpsc::Sender<Io>>>>,
    connects: Arc<AtomicUsize>,
    /// Whether streams deliver their bytes in small pieces, with pauses.
    stutters: bool,
}

impl Network {
    /// A network whose streams deliver their bytes in small pieces, with pauses.
    pub(crate) fn stuttering() -> Self {
        Self { stutters: true, ..Self::default() }
    }

    /// Who connects to `address` from now on comes out of the receiver.
    pub(crate) fn listen(&self, address: SocketAddr) -> mpsc::Receiver<Io> {
        let (sender, receiver) = mpsc::channel(16);
        lock(&self.listeners).insert(address.to_string(), sender);
        receiver
    }

    /// Serves at `address`.
    pub(crate) async fn serve(&self, address: &str, server: ServerBuilder) -> crate::Server {
        let address = address.parse().unwrap();
        server.serve_clients(self.listen(address), address).await.unwrap()
    }

    /// A stream to `address`, for a client that is made by hand.
    pub(crate) async fn dial(&self, address: &str) -> Io {
        self.connect(address).await.unwrap()
    }

    /// How often somebody connected, or tried to.
    pub(crate) fn connects(&self) -> usize {
        self.connects.load(Ordering::Relaxed)
    }

    /// A client of the instances at these addresses.
    pub(crate) fn client(&self, addresses: &str) -> ClientBuilder {
        Client::builder().registry(format!("fixed:{addresses}")).connect(self.clone())
    }
}

impl Connect for Network {
    fn connect<'a>(&'a self, address: &'a str) -> BoxFuture<'a, io::Result<Io>> {
        Box::pin(async move {
            self.connects.fetch_add(1, Ordering::Relaxed);
            let listener = lock(&self.listeners).get(address).cloned().ok_or(io::ErrorKind::ConnectionRefused)?;
            let (near, far) = duplex(STREAM_CAPACITY);
            let (near, far): (Io, Io) =
                if self.stutters { (stutter(near), stutter(far)) } else { (near.into(), far.into()) };
            listener.send(far).await.map_err(|_| io::ErrorKind::ConnectionRefused)?;
            Ok(near)
        })
    }
}

impl From<DuplexStream> for Io {
    fn from(stream: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self { reader: Box::new(reader), writer: Box::new(writer), peer: None }
    }
}

/// A stream whose reader gets seeded pieces of seeded sizes, at seeded times.
fn stutter(stream: DuplexStream) -> Io {
    let (mut reader, writer) = tokio::io::split(stream);
    let (piece_reader, mut pieces) = duplex(STREAM_CAPACITY);
    tokio::spawn(async move {
        let mut random = fastrand::Rng::with_seed(11);
        let mut buffer = [0; 700];
        loop {
            let piece = random.usize(1..buffer.len());
            match reader.read(&mut buffer[..piece]).await {
                Ok(count) if count > 0 && pieces.write_all(&buffer[..count]).await.is_ok() => {}
                _ => return,
            }
            if random.u8(0..20) == 0 {
                tokio::time::sleep(Duration::from_millis(random.u64(0..400))).await;
            }
        }
    });
    Io { reader: Box::new(piece_reader), writer: Box::new(writer), peer: None }
}

/// Asserts that `started` was `promised` ago: never sooner, and at most one tick of 10 ms later.
#[track_caller]
pub(crate) fn assert_took(started: Instant, promised: Duration) {
    let took = started.elapsed();
    assert!(took >= promised, "{took:?} is too early, {promised:?} was promised");
    assert!(took <= promised + Duration::from_millis(10), "{took:?} is too late, {promised:?} was promised");
}

/// Lets all tasks that are ready run until `condition` holds. Paused time stands still meanwhile.
pub(crate) async fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}

/// `fixed:a:1,b:2`: these addresses.
#[derive(Debug)]
struct Fixed(Vec<String>);

impl Discovery for Fixed {
    fn lookup<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<InstanceList, BoxError>> {
        let instances = self.0.iter().map(|address| ServiceInstance::new(service, address)).collect();
        Box::pin(async { Ok(InstanceList::new(instances)) })
    }
}

fn fixed(settings: &Settings) -> Result<Arc<Fixed>, BoxError> {
    let addresses = settings.url().and_then(|url| url.strip_prefix("fixed:")).ok_or("no addresses")?;
    Ok(Arc::new(Fixed(addresses.split(',').map(str::to_owned).collect())))
}

register!(dyn Discovery, "fixed", fixed);

/// The default balancer's key, kept simple: the first endpoint that admits the call.
#[derive(Debug)]
struct First;

impl LoadBalancer for First {
    fn prepare(&self, endpoints: &Arc<Endpoints>) -> Box<dyn Picker> {
        Box::new(FirstOf(endpoints.len()))
    }
}

struct FirstOf(usize);

impl Picker for FirstOf {
    fn pick(&self, cx: &PickContext<'_>) -> Option<usize> {
        (0..self.0).find(|position| cx.admits(*position))
    }
}

register!(dyn LoadBalancer, "roundRobin", |_: &Settings| Ok::<_, BoxError>(Arc::new(First)));

#[derive(Debug)]
struct PassThrough;

impl FaultStrategy for PassThrough {
    fn call<'a>(&'a self, call: &'a Invocation, next: Next<'a>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        next.run(call)
    }

    fn acts(&self) -> Acts {
        Acts::Never
    }
}

register!(dyn FaultStrategy, "failFast", |_: &Settings| Ok::<_, BoxError>(Arc::new(PassThrough)));
