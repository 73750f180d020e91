//! The connections of a client: one a address, shared by all its channels.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::lock::lock;
use crate::transport::connect::Connect;
use crate::transport::connection::Connection;
use crate::transport::greeting::OpenError;

/// Pause after the first failure to connect; it doubles with each further one.
const FIRST_BACK_OFF: Duration = Duration::from_millis(100);
/// The longest pause.
const LAST_BACK_OFF: Duration = Duration::from_secs(5);

/// All peers of a client.
#[derive(Debug)]
pub(super) struct Pool {
    dialer: Arc<Dialer>,
    peers: Mutex<HashMap<String, Weak<Peer>>>,
}

/// How to connect.
#[derive(Debug)]
struct Dialer {
    connect: Arc<dyn Connect>,
    timeout: Duration,
    max_frame: u32,
}

/// One address, and the connection to it.
#[derive(Debug)]
pub(super) struct Peer {
    address: String,
    dialer: Arc<Dialer>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    /// Failures to connect in a row.
    failures: u32,
    /// The server that was there has said that it leaves: no wonder if it cannot be connected to.
    has_left: bool,
    /// Until when connecting is better left alone, and why.
    back_off: Option<(Instant, ConnectError)>,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    /// One connect for all that wait; the task is owned here.
    Connecting(
        watch::Receiver<Option<Connected>>,
        #[allow(dead_code, reason = "held so that the task ends with its peer")] AbortOnDropHandle<()>,
    ),
    Open(Arc<Connection>),
}

impl State {
    /// Whether a connect is under way. A closed channel without a result is none: the runtime dropped the task.
    fn is_connecting(&self) -> bool {
        matches!(&self.phase, Phase::Connecting(connected, _) if connected.has_changed().is_ok())
    }
}

type Connected = Result<Arc<Connection>, ConnectError>;

/// Why an address could not be connected to; shared by all that waited.
#[derive(Debug, Clone)]
pub(super) struct ConnectError {
    what: Arc<str>,
    /// The server said that it leaves.
    is_leaving: bool,
}

impl ConnectError {
    fn new(what: impl Into<Arc<str>>) -> Self {
        Self { what: what.into(), is_leaving: false }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Pool {
    pub(super) fn new(connect: Arc<dyn Connect>, timeout: Duration, max_frame: u32) -> Self {
        let dialer = Arc::new(Dialer { connect, timeout, max_frame });
        Self { dialer, peers: Mutex::default() }
    }

    /// The peer at `address`, the same for everyone.
    pub(super) fn peer(&self, address: &str) -> Arc<Peer> {
        let mut peers = lock(&self.peers);
        if let Some(peer) = peers.get(address).and_then(Weak::upgrade) {
            return peer;
        }
        peers.retain(|_, peer| peer.strong_count() > 0);
        let peer =
            Arc::new(Peer { address: address.to_owned(), dialer: Arc::clone(&self.dialer), state: Mutex::default() });
        peers.insert(address.to_owned(), Arc::downgrade(&peer));
        peer
    }
}

impl Peer {
    /// Why no call should be sent here unless nobody else is left: the last connect failed. Once its pause is over, another is begun in the
    /// background, so that no call has to wait to find out.
    pub(super) fn failing(self: &Arc<Self>) -> Option<ConnectError> {
        let mut state = lock(&self.state);
        let (until, error) = state.back_off.as_ref()?;
        let (is_over, error) = (Instant::now() >= *until, error.clone());
        if is_over && !state.is_connecting() {
            self.begin(&mut state);
        }
        Some(error)
    }

    /// A connection that takes new calls: the open one, or a new one. Whoever comes while it is being made waits for the same.
    /// Cancel safe.
    pub(super) async fn connection(self: &Arc<Self>) -> Connected {
        let mut connected = {
            let mut state = lock(&self.state);
            match &state.phase {
                Phase::Open(connection) if !connection.is_spent() => return Ok(Arc::clone(connection)),
                Phase::Connecting(connected, _) if state.is_connecting() => connected.clone(),
                _ => self.begin(&mut state),
            }
        };
        match connected.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(result)) => result.clone(),
            _ => Err(ConnectError::new("the task that connects was dropped")),
        }
    }

    fn begin(self: &Arc<Self>, state: &mut State) -> watch::Receiver<Option<Connected>> {
        let (sender, receiver) = watch::channel(None);
        let (peer, address, dialer) = (Arc::downgrade(self), self.address.clone(), Arc::clone(&self.dialer));
        let task = tokio::spawn(async move {
            let result = dialer.open(&address).await.map(Arc::new);
            if let Some(peer) = peer.upgrade() {
                peer.settle(&result);
            }
            sender.send_replace(Some(result));
        });
        if let Phase::Open(connection) = &state.phase {
            state.has_left = connection.has_left();
        }
        state.phase = Phase::Connecting(receiver.clone(), AbortOnDropHandle::new(task));
        receiver
    }

    fn settle(&self, result: &Connected) {
        let mut state = lock(&self.state);
        match result {
            Ok(connection) => {
                let instance = &connection.welcome().instance;
                match state.failures {
                    0 => tracing::debug!(address = self.address, instance, "connected"),
                    failures => tracing::info!(address = self.address, instance, failures, "connected again"),
                }
                *state = State { phase: Phase::Open(Arc::clone(connection)), ..State::default() };
            }
            Err(error) => {
                state.has_left |= error.is_leaving;
                match state.failures {
                    0 if state.has_left => tracing::debug!(address = self.address, %error, "the server has left"),
                    0 => {
                        tracing::warn!(address = self.address, %error, "cannot connect; calls go elsewhere, if they can")
                    }
                    failures => tracing::debug!(address = self.address, %error, failures, "still cannot connect"),
                }
                let pause = FIRST_BACK_OFF.saturating_mul(1 << state.failures.min(16)).min(LAST_BACK_OFF);
                state.failures += 1;
                state.back_off = Some((Instant::now() + pause, error.clone()));
                state.phase = Phase::Idle;
            }
        }
    }
}

impl Dialer {
    async fn open(&self, address: &str) -> Result<Connection, ConnectError> {
        let opening = async { Connection::open(self.connect.connect(address).await?, self.max_frame).await };
        match tokio::time::timeout(self.timeout, opening).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(OpenError::Io(error))) => Err(ConnectError::new(format!("cannot connect: {error}"))),
            Ok(Err(error)) => {
                let is_leaving = matches!(error, OpenError::Leaving);
                Err(ConnectError { is_leaving, ..ConnectError::new(error.to_string()) })
            }
            Err(_) => Err(ConnectError::new(format!("no connection within {:?}", self.timeout))),
        }
    }
}
