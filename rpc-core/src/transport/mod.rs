//! Byte streams, and what client and server connections have in common.

mod busy_poll;
pub(crate) mod connect;
pub(crate) mod connection;
pub(crate) mod greeting;
pub(crate) mod input;
mod liveness;
pub(crate) mod outgoing;
pub(crate) mod output;
pub(crate) mod pending;
mod sink;

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

/// How often deadlines are looked at while calls wait: a call ends at most this much, and a millisecond, after its deadline, and never
/// before it. One timer a connection instead of one a call.
pub(crate) const TICK: Duration = Duration::from_millis(5);

pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// A byte stream in both directions: TCP, or the in-memory network of the tests.
pub(crate) struct Io {
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
    pub(crate) peer: Option<SocketAddr>,
}

impl From<tokio::net::TcpStream> for Io {
    fn from(stream: tokio::net::TcpStream) -> Self {
        let peer = stream.peer_addr().ok();
        let (reader, writer) = stream.into_split();
        Self { reader: Box::new(reader), writer: Box::new(writer), peer }
    }
}
