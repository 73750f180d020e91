//! A peer that speaks the protocol word by word, so that it can also say what no honest peer would.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::codec::Decoder;

use super::probe::ProbeStub;
use crate::context::Metadata;
use crate::generated::Stub;
use crate::protocol::frame::{Frame, FrameDecoder, Header, Kind};
use crate::protocol::hello::{ClientHello, ServerHello, TableEntry, Welcome};
use crate::transport::connection::Connection;
use crate::transport::outgoing::{Outgoing, Refusal};
use crate::transport::pending::Settled;
use crate::transport::{Io, Reader};

/// A client's connection, and the server at its other end.
pub(crate) async fn connected(near: Io, far: Io) -> (Arc<Connection>, Fake) {
    let (sender, mut clients) = mpsc::channel(1);
    sender.send(far).await.unwrap();
    let (connection, server) = tokio::join!(Connection::open(near, 1_000_000), Fake::server(&mut clients));
    (Arc::new(connection.unwrap()), server)
}

/// Sends a request without arguments, and waits for what ends the wait.
pub(crate) async fn call(connection: &Connection, time_left: Duration) -> Result<Settled, Refusal> {
    let (metadata, body) = (Metadata::default(), Bytes::new().into());
    let outgoing = Outgoing::Request { method: 0, codec: 1, time_left, metadata: &metadata, body: &body };
    connection.call(outgoing, Instant::now() + time_left).await
}

/// One side of a connection, by hand.
pub(crate) struct Fake {
    io: Io,
    decoder: FrameDecoder,
    buffer: BytesMut,
}

impl Fake {
    pub(crate) fn new(io: Io) -> Self {
        Self { io, decoder: FrameDecoder::new(u32::MAX), buffer: BytesMut::new() }
    }

    /// A server that was greeted and has answered with the probe's table.
    pub(crate) async fn server(clients: &mut mpsc::Receiver<Io>) -> Self {
        let mut fake = Self::new(clients.recv().await.unwrap());
        assert_eq!(fake.read().await.unwrap().header.kind, Kind::Hello);
        fake.send(Header::plain(Kind::Hello, 0), &ServerHello::Welcome(welcome()).encode()).await;
        fake
    }

    /// Says hello as a client, and reads the server's.
    pub(crate) async fn greet(&mut self) {
        self.send(Header::plain(Kind::Hello, 0), &ClientHello::new(1_000_000).encode()).await;
        assert_eq!(self.read().await.unwrap().header.kind, Kind::Hello);
    }

    /// Sends a request in bincode; `payload` begins with the method.
    pub(crate) async fn request_with(&mut self, flags: u8, id: u64, payload: &[u8]) {
        self.send(Header { kind: Kind::Request, flags, codec: 1, id }, payload).await;
    }

    /// The next frame; `None` at the end of the stream.
    pub(crate) async fn read(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.decoder.decode(&mut self.buffer).unwrap() {
                return Some(frame);
            }
            if self.io.reader.read_buf(&mut self.buffer).await.unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    /// The id of the next request.
    pub(crate) async fn request(&mut self) -> u64 {
        loop {
            match self.read().await.unwrap().header {
                Header { kind: Kind::Request, id, .. } => return id,
                Header { kind: Kind::Ping | Kind::Cancel, .. } => {}
                header => panic!("{header:?} instead of a request"),
            }
        }
    }

    pub(crate) async fn send(&mut self, header: Header, payload: &[u8]) {
        self.write(&header.to_bytes(payload.len() as u32)).await;
        self.write(payload).await;
    }

    /// Answers a request with a text.
    pub(crate) async fn answer(&mut self, id: u64, text: &str) {
        let body = [&[text.len() as u8], text.as_bytes()].concat();
        self.send(Header { codec: 1, ..Header::plain(Kind::Response, id) }, &body).await;
    }

    /// The stream itself, past what was read of it.
    pub(crate) fn stream(&mut self) -> &mut Reader {
        assert!(self.buffer.is_empty(), "something was read beyond the last frame");
        &mut self.io.reader
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.io.writer.write_all(bytes).await.unwrap();
    }
}

/// The welcome of a server with the probe's methods.
pub(crate) fn welcome() -> Welcome {
    let service = ProbeStub::SERVICE;
    let entry = |method: &crate::Method| TableEntry {
        service: service.name().to_owned(),
        method: method.name().to_owned(),
        arguments: method.arguments_shape().unwrap().fingerprint(),
        outcome: method.outcome_shape().unwrap().fingerprint(),
    };
    Welcome {
        leaving: false,
        max_frame: 1_000_000,
        max_in_flight: 100,
        incarnation: 1,
        instance: "fake".into(),
        methods: service.methods().iter().map(entry).collect(),
    }
}

/// The payload of a request to method 0 with a text as argument.
pub(crate) fn echo_request(text: &str) -> Bytes {
    [&[0, 0, 0, 0, text.len() as u8], text.as_bytes()].concat().into()
}
