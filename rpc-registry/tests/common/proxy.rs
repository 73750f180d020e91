//! The network between a registry and its etcd, for tests that disturb it.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// A TCP proxy. Dropped, it cuts everything.
pub(crate) struct Proxy {
    pub(crate) address: String,
    shared: Arc<Shared>,
    task: AbortHandle,
}

struct Shared {
    target: String,
    /// Connections are cut, and new ones closed at once.
    is_cut: watch::Sender<bool>,
    /// Nothing passes from the client to the server.
    is_held: watch::Sender<bool>,
    /// What the server says that shall hold the client.
    cue: Mutex<Option<Vec<u8>>>,
}

impl Proxy {
    pub(crate) async fn to(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (is_cut, is_held) = (watch::Sender::new(false), watch::Sender::new(false));
        let shared = Arc::new(Shared { target, is_cut, is_held, cue: Mutex::default() });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared))).abort_handle();
        Self { address, shared, task }
    }

    /// Cuts all connections, and does not let new ones through until [`heal`](Self::heal).
    pub(crate) fn cut(&self) {
        self.shared.is_cut.send_replace(true);
    }

    pub(crate) fn heal(&self) {
        self.shared.is_cut.send_replace(false);
    }

    /// Lets nothing pass from clients to the server any more once the server has said `cue`, which still passes.
    pub(crate) fn hold_after(&self, cue: &str) {
        *self.shared.cue.lock().unwrap() = Some(cue.as_bytes().to_vec());
    }

    /// Waits until it was said.
    pub(crate) async fn held(&self) {
        self.shared.is_held.subscribe().wait_for(|held| *held).await.unwrap();
    }

    pub(crate) fn release(&self) {
        self.shared.is_held.send_replace(false);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        if *shared.is_cut.borrow() {
            continue;
        }
        connections.spawn(carry(client, Arc::clone(&shared)));
    }
}

async fn carry(client: TcpStream, shared: Arc<Shared>) {
    let Ok(server) = TcpStream::connect(&shared.target).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mut is_cut = shared.is_cut.subscribe();
    tokio::select! {
        _ = up(from_client, to_server, &shared) => {}
        _ = down(from_server, to_client, &shared) => {}
        _ = is_cut.wait_for(|cut| *cut) => {}
    }
}

async fn up(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Shared) -> std::io::Result<()> {
    let mut is_held = shared.is_held.subscribe();
    let mut bytes = vec![0; 64 << 10];
    loop {
        let length = from.read(&mut bytes).await?;
        if length == 0 {
            return Ok(());
        }
        is_held.wait_for(|held| !*held).await.map_err(std::io::Error::other)?;
        to.write_all(&bytes[..length]).await?;
    }
}

async fn down(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Shared) -> std::io::Result<()> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let length = from.read(&mut bytes).await?;
        if length == 0 {
            return Ok(());
        }
        let is_cue = |cue: &mut Vec<u8>| bytes[..length].windows(cue.len()).any(|window| window == cue);
        if shared.cue.lock().unwrap().take_if(is_cue).is_some() {
            shared.is_held.send_replace(true);
        }
        to.write_all(&bytes[..length]).await?;
    }
}
