//! The protocol written by hand from its description: what peers of other makes, and worse ones, send.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) const HELLO: u8 = 0x01;
pub(crate) const REQUEST: u8 = 0x02;
pub(crate) const RESPONSE: u8 = 0x03;
pub(crate) const CANCEL: u8 = 0x04;
pub(crate) const PING: u8 = 0x05;
pub(crate) const PONG: u8 = 0x06;
pub(crate) const DESCRIBE: u8 = 0x09;

/// The flag of a status in a response.
pub(crate) const STATUS: u8 = 0x02;
/// The status of arguments that cannot be decoded.
pub(crate) const BAD_REQUEST: u8 = 1;
/// The status of a position that is not in the table.
pub(crate) const UNKNOWN_METHOD: u8 = 2;
/// The status of a codec that the server does not know.
pub(crate) const UNSUPPORTED_CODEC: u8 = 3;

/// The status of a deadline that passed.
pub(crate) const DEADLINE_EXCEEDED: u8 = 5;

/// The largest frame that these peers accept.
pub(crate) const MAX_FRAME: u32 = 8 << 20;

/// A frame.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) codec: u8,
    pub(crate) id: u64,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    pub(crate) fn new(kind: u8, flags: u8, id: u64, payload: impl Into<Vec<u8>>) -> Self {
        let codec = u8::from(matches!(kind, REQUEST | RESPONSE));
        Self { kind, flags, codec, id, payload: payload.into() }
    }

    /// A request for the method at a position, without deadline and metadata.
    pub(crate) fn request(id: u64, method: usize, arguments: &[u8]) -> Self {
        Self::new(REQUEST, 0, id, [&(method as u32).to_le_bytes(), arguments].concat())
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let header = header(self.kind, self.flags, self.codec, self.id, self.payload.len() as u32);
        [&header, &self.payload[..]].concat()
    }

    /// Code and message of a status.
    pub(crate) fn status(&self) -> Option<(u8, String)> {
        let (code, message) = self.payload.split_first()?;
        (self.flags == STATUS).then(|| (*code, String::from_utf8(message.to_vec()).unwrap()))
    }
}

/// A header that claims `length` bytes.
pub(crate) fn header(kind: u8, flags: u8, codec: u8, id: u64, length: u32) -> Vec<u8> {
    let start = [0xF1, b'R', b'P', b'C', 1, kind, flags, codec];
    [&start[..], &id.to_le_bytes(), &length.to_le_bytes()].concat()
}

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Welcome {
    pub(crate) max_frame: u32,
    pub(crate) max_in_flight: u32,
    pub(crate) incarnation: u64,
    pub(crate) instance: String,
    /// Service, method, fingerprints of arguments and result.
    pub(crate) methods: Vec<(String, String, u64, u64)>,
}

impl Welcome {
    fn read(mut bytes: &[u8]) -> Self {
        let fields = &mut bytes;
        assert_eq!(take(fields, 5), [0, 1, 1, 1, 0], "welcome, versions 1 to 1, version 1, not leaving");
        let max_frame = number(fields, 4) as u32;
        let max_in_flight = number(fields, 4) as u32;
        let incarnation = number(fields, 8);
        let instance = text(fields);
        let count = number(fields, 4);
        let methods = (0..count).map(|_| (text(fields), text(fields), number(fields, 8), number(fields, 8))).collect();
        Self { max_frame, max_in_flight, incarnation, instance, methods }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = vec![0, 1, 1, 1, 0];
        out.extend(self.max_frame.to_le_bytes());
        out.extend(self.max_in_flight.to_le_bytes());
        out.extend(self.incarnation.to_le_bytes());
        put_text(&mut out, &self.instance);
        out.extend((self.methods.len() as u32).to_le_bytes());
        for (service, method, arguments, result) in &self.methods {
            put_text(&mut out, service);
            put_text(&mut out, method);
            out.extend(arguments.to_le_bytes());
            out.extend(result.to_le_bytes());
        }
        out
    }

    /// Where a method is in the table.
    pub(crate) fn position(&self, method: &str) -> usize {
        self.methods.iter().position(|entry| entry.1 == method).unwrap()
    }
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct Raw {
    stream: TcpStream,
}

impl Raw {
    /// A connection on which nothing is said yet.
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap() }
    }

    /// A connection after the exchange of hellos.
    pub(crate) async fn greet(address: SocketAddr) -> (Self, Welcome) {
        let mut raw = Self::connect(address).await;
        raw.send(&client_hello(MAX_FRAME)).await.unwrap();
        let hello = raw.read().await.unwrap().expect("a hello");
        assert_eq!((hello.kind, hello.flags, hello.codec, hello.id), (HELLO, 0, 0, 0));
        (raw, Welcome::read(&hello.payload))
    }

    /// The next client of a listener, its hello read.
    pub(crate) async fn accept(listener: &TcpListener) -> Self {
        let mut raw = Self { stream: listener.accept().await.unwrap().0 };
        let hello = raw.read().await.unwrap().expect("a hello");
        assert_eq!((hello.kind, hello.payload.len()), (HELLO, 6));
        raw
    }

    /// This end's address, by which the other end's log names it.
    pub(crate) fn address(&self) -> SocketAddr {
        self.stream.local_addr().unwrap()
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// The next frame; `None` at the end.
    pub(crate) async fn read(&mut self) -> io::Result<Option<Frame>> {
        let mut header = [0; 20];
        if self.stream.read(&mut header[..1]).await? == 0 {
            return Ok(None);
        }
        self.stream.read_exact(&mut header[1..]).await?;
        let mut fields = &header[..];
        assert_eq!(take(&mut fields, 5), [0xF1, b'R', b'P', b'C', 1], "magic and version");
        let [kind, flags, codec] = [(); 3].map(|()| number(&mut fields, 1) as u8);
        let id = number(&mut fields, 8);
        let mut payload = vec![0; number(&mut fields, 4) as usize];
        self.stream.read_exact(&mut payload).await?;
        Ok(Some(Frame { kind, flags, codec, id, payload }))
    }

    /// Sends a request; gives its answer, which is the next frame.
    pub(crate) async fn ask(&mut self, request: Frame) -> Frame {
        self.send(&request.bytes()).await.unwrap();
        let answer = self.read().await.unwrap().expect("an answer");
        assert_eq!((answer.kind, answer.id), (RESPONSE, request.id));
        answer
    }

    /// Reads until the other end has closed, or reset, the connection; gives what came before.
    pub(crate) async fn closed(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.stream.read_to_end(&mut bytes).await {
            Err(error) if error.kind() != io::ErrorKind::ConnectionReset => panic!("{error}"),
            _ => bytes,
        }
    }

    /// Resets the connection.
    pub(crate) fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }
}

/// A hello, with the largest frame that the client accepts.
pub(crate) fn client_hello(max_frame: u32) -> Vec<u8> {
    let payload = [&[1, 1][..], &max_frame.to_le_bytes()].concat();
    Frame::new(HELLO, 0, 0, payload).bytes()
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(count);
    *bytes = rest;
    taken
}

/// An integer of `width` bytes.
fn number(bytes: &mut &[u8], width: usize) -> u64 {
    take(bytes, width).iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn text(bytes: &mut &[u8]) -> String {
    let length = number(bytes, 2) as usize;
    String::from_utf8(take(bytes, length).to_vec()).unwrap()
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
}
