//! The frame: a fixed header, then the payload.

use std::fmt;

use bytes::{Buf, Bytes, BytesMut};
use tokio_util::codec::Decoder;

use crate::body::SHARED_FROM;

/// What every frame begins with. The first byte is no ASCII, so that no text protocol passes for it.
pub(crate) const MAGIC: [u8; 4] = [0xF1, b'R', b'P', b'C'];

/// The only version so far.
pub(crate) const VERSION: u8 = 1;

/// Bytes of a header.
pub(crate) const HEADER: usize = 20;

/// The longest payload either side accepts unless it is told otherwise: 8 MiB.
pub(crate) const DEFAULT_MAX_FRAME: u32 = 8 * 1024 * 1024;

/// Kinds from here on are later additions that a reader skips.
const FIRST_SKIPPED_KIND: u8 = 0x80;

/// Room that a reader makes ahead of the bytes of a frame, at most: memory follows what arrives, not what is claimed.
const READ_AHEAD: usize = 64 * 1024;

/// What a frame is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Hello = 0x01,
    Request = 0x02,
    Response = 0x03,
    Cancel = 0x04,
    Ping = 0x05,
    Pong = 0x06,
    GoAway = 0x07,
    GoAwayEcho = 0x08,
    Describe = 0x09,
}

impl Kind {
    const fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0x01 => Self::Hello,
            0x02 => Self::Request,
            0x03 => Self::Response,
            0x04 => Self::Cancel,
            0x05 => Self::Ping,
            0x06 => Self::Pong,
            0x07 => Self::GoAway,
            0x08 => Self::GoAwayEcho,
            0x09 => Self::Describe,
            _ => return None,
        })
    }

    /// The flags that this kind defines.
    const fn flags(self) -> u8 {
        match self {
            Self::Request | Self::Response => 0b11,
            Self::Describe => 0b10,
            _ => 0,
        }
    }

    /// Whether frames of this kind are a header and nothing else.
    const fn is_bare(self) -> bool {
        matches!(self, Self::Cancel | Self::Ping | Self::Pong | Self::GoAway | Self::GoAwayEcho)
    }
}

/// Everything of a frame but its payload; the length is the payload's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) flags: u8,
    pub(crate) codec: u8,
    pub(crate) id: u64,
}

impl Header {
    /// A header without flags and codec.
    pub(crate) const fn plain(kind: Kind, id: u64) -> Self {
        Self { kind, flags: 0, codec: 0, id }
    }

    /// The header's bytes, for a payload of `length` bytes.
    pub(crate) fn to_bytes(self, length: u32) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = VERSION;
        bytes[5] = self.kind as u8;
        bytes[6] = self.flags;
        bytes[7] = self.codec;
        bytes[8..16].copy_from_slice(&self.id.to_le_bytes());
        bytes[16..].copy_from_slice(&length.to_le_bytes());
        bytes
    }
}

/// A frame as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) header: Header,
    pub(crate) payload: Bytes,
}

/// Bytes that are no frame of this protocol. The connection cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("not this protocol: a frame begins with F1 \"RPC\", these bytes with {}", Start(*.0))]
    Magic([u8; 4]),
    #[error("a frame of protocol version {0}; this side speaks version {VERSION}")]
    Version(u8),
    #[error("a frame of unknown kind {0:#04x}")]
    Kind(u8),
    #[error("a {kind:?} frame with undefined flags {flags:#04x}")]
    Flags { kind: Kind, flags: u8 },
    #[error("a {kind:?} frame of {length} bytes; at most {limit} are accepted")]
    TooLarge { kind: Kind, length: u32, limit: u32 },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The first bytes of a foreign protocol, with a guess at its name.
struct Start([u8; 4]);

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guess = match &self.0 {
            b"GET " | b"POST" | b"PUT " | b"HEAD" | b"HTTP" | b"OPTI" => " (HTTP?)",
            b"PRI " => " (HTTP/2?)",
            b"SSH-" => " (SSH?)",
            [0x16, 3, ..] => " (TLS?)",
            _ => "",
        };
        write!(f, "\"{}\"{guess}", self.0.escape_ascii())
    }
}

/// Reads frames, checking each header before any memory is made for its payload.
#[derive(Debug)]
pub(crate) struct FrameDecoder {
    max_frame: u32,
    /// What is left of a frame of a later kind.
    skip: usize,
    /// See [`missing`](Self::missing).
    missing: usize,
}

/// What a header announces, with the length of the payload.
enum Announced {
    Frame(Header, usize),
    /// A frame of a later kind, to be skipped.
    Later(usize),
}

impl FrameDecoder {
    /// A decoder that accepts payloads of at most `max_frame` bytes.
    pub(crate) const fn new(max_frame: u32) -> Self {
        Self { max_frame, skip: 0, missing: 0 }
    }

    /// How many bytes are missing of the long frame that has begun; 0 if none has. Parts of long payloads are kept as they are, so nothing
    /// should be read behind one into its memory.
    pub(crate) const fn missing(&self) -> usize {
        self.missing
    }

    /// From now on accepts payloads of at most `max_frame` bytes.
    pub(crate) const fn set_max_frame(&mut self, max_frame: u32) {
        self.max_frame = max_frame;
    }

    /// The header at the start of `bytes`, as soon as it is complete; what is wrong, even sooner.
    fn header(&self, bytes: &[u8]) -> Result<Option<Announced>, FrameError> {
        let start = &bytes[..bytes.len().min(4)];
        if !MAGIC.starts_with(start) {
            // A foreign protocol may wait for an answer after one short line, so a prefix is enough to tell.
            let mut found = [0; 4];
            found[..start.len()].copy_from_slice(start);
            return Err(FrameError::Magic(found));
        }
        if let Some(&version) = bytes.get(4)
            && version != VERSION
        {
            return Err(FrameError::Version(version));
        }
        let Some(mut fields) = bytes.get(5..HEADER) else {
            return Ok(None);
        };
        let (kind, flags, codec) = (fields.get_u8(), fields.get_u8(), fields.get_u8());
        let (id, length) = (fields.get_u64_le(), fields.get_u32_le());
        let Some(kind) = Kind::from_byte(kind) else {
            return match kind {
                FIRST_SKIPPED_KIND.. => Ok(Some(Announced::Later(length as usize))),
                _ => Err(FrameError::Kind(kind)),
            };
        };
        if flags & !kind.flags() != 0 {
            return Err(FrameError::Flags { kind, flags });
        }
        let limit = if kind.is_bare() { 0 } else { self.max_frame };
        if length > limit {
            return Err(FrameError::TooLarge { kind, length, limit });
        }
        Ok(Some(Announced::Frame(Header { kind, flags, codec, id }, length as usize)))
    }
}

impl Decoder for FrameDecoder {
    type Item = Frame;
    type Error = FrameError;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        self.missing = 0;
        loop {
            let skipped = self.skip.min(src.len());
            src.advance(skipped);
            self.skip -= skipped;
            if self.skip > 0 {
                return Ok(None);
            }
            match self.header(src)? {
                None => return Ok(None),
                Some(Announced::Later(length)) => self.skip = HEADER + length,
                Some(Announced::Frame(header, length)) => {
                    let missing = (HEADER + length).saturating_sub(src.len());
                    if missing > 0 {
                        src.reserve(missing.min(READ_AHEAD.max(src.len())));
                        self.missing = if length < SHARED_FROM { 0 } else { missing };
                        return Ok(None);
                    }
                    src.advance(HEADER);
                    let payload = src.split_to(length).freeze();
                    return Ok(Some(Frame { header, payload }));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_all(decoder: &mut FrameDecoder, bytes: &[u8], step: usize) -> Result<Vec<Frame>, FrameError> {
        let mut buffer = BytesMut::new();
        let mut frames = Vec::new();
        for chunk in bytes.chunks(step) {
            buffer.extend_from_slice(chunk);
            while let Some(frame) = decoder.decode(&mut buffer)? {
                frames.push(frame);
            }
        }
        Ok(frames)
    }

    fn frame(kind: Kind, flags: u8, codec: u8, id: u64, payload: &'static [u8]) -> Frame {
        Frame { header: Header { kind, flags, codec, id }, payload: Bytes::from_static(payload) }
    }

    #[test]
    fn header_bytes_are_pinned() {
        let header = Header { kind: Kind::Request, flags: 1, codec: 1, id: 0x0102_0304_0506_0708 };
        let golden = [
            0xF1, 0x52, 0x50, 0x43, 1, 2, 1, 1, 0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0x0D, 0x0C, 0x0B, 0x0A,
        ];
        assert_eq!(header.to_bytes(0x0A0B_0C0D), golden);
    }

    #[test]
    fn every_kind_has_its_pinned_byte() {
        for (byte, kind) in [
            (1, Kind::Hello),
            (2, Kind::Request),
            (3, Kind::Response),
            (4, Kind::Cancel),
            (5, Kind::Ping),
            (6, Kind::Pong),
            (7, Kind::GoAway),
            (8, Kind::GoAwayEcho),
            (9, Kind::Describe),
        ] {
            assert_eq!(Header::plain(kind, 0).to_bytes(0)[5], byte);
            assert_eq!(Kind::from_byte(byte), Some(kind));
        }
        assert_eq!(Kind::from_byte(0), None);
        assert_eq!(Kind::from_byte(10), None);
    }

    #[test]
    fn frames_survive_any_split_of_the_stream() {
        let frames = [
            frame(Kind::Request, 3, 1, u64::MAX, b"some arguments"),
            frame(Kind::Ping, 0, 0, 7, b""),
            frame(Kind::Response, 2, 0, 1, b"\x05late"),
        ];
        let mut bytes = BytesMut::new();
        for frame in &frames {
            bytes.extend_from_slice(&frame.header.to_bytes(frame.payload.len() as u32));
            bytes.extend_from_slice(&frame.payload);
        }
        for step in 1..=bytes.len() {
            let read = decode_all(&mut FrameDecoder::new(64), &bytes, step).unwrap();
            assert_eq!(read, frames, "in steps of {step}");
        }
    }

    #[test]
    fn skips_frames_of_later_kinds() {
        let mut bytes = BytesMut::new();
        let mut later = Header::plain(Kind::Ping, 9).to_bytes(300);
        later[5] = 0x80;
        later[6] = 0xFF;
        bytes.extend_from_slice(&later);
        bytes.extend_from_slice(&[0xAA; 300]);
        bytes.extend_from_slice(&Header::plain(Kind::Pong, 9).to_bytes(0));
        for step in [1, 19, 64, 1000] {
            let read = decode_all(&mut FrameDecoder::new(64), &bytes, step).unwrap();
            assert_eq!(read, [frame(Kind::Pong, 0, 0, 9, b"")]);
        }
    }

    #[test]
    fn names_what_is_wrong_with_a_header() {
        let cases: [(usize, u8, &str); 5] = [
            (0, b'G', "not this protocol: a frame begins with F1 \"RPC\", these bytes with \"GRPC\""),
            (4, 2, "a frame of protocol version 2; this side speaks version 1"),
            (5, 0x0A, "a frame of unknown kind 0x0a"),
            (6, 4, "a Request frame with undefined flags 0x04"),
            (18, 1, "a Request frame of 65546 bytes; at most 10 are accepted"),
        ];
        for (at, byte, message) in cases {
            let mut bytes = Header::plain(Kind::Request, 0).to_bytes(10);
            bytes[at] = byte;
            let error = decode_all(&mut FrameDecoder::new(10), &bytes, 20).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn kinds_without_a_payload_accept_none() {
        for kind in [Kind::Cancel, Kind::Ping, Kind::Pong, Kind::GoAway, Kind::GoAwayEcho] {
            let bytes = [&Header::plain(kind, 0).to_bytes(1)[..], &[0]].concat();
            let error = decode_all(&mut FrameDecoder::new(10), &bytes, 21).unwrap_err();
            assert_eq!(error.to_string(), format!("a {kind:?} frame of 1 bytes; at most 0 are accepted"));
        }
    }

    #[test]
    fn tells_foreign_protocols_from_their_first_bytes() {
        for (bytes, guess) in [
            (&b"GET / HTTP/1.1\r\n"[..], "\"GET \" (HTTP?)"),
            (b"PRI * HTTP/2.0", "\"PRI \" (HTTP/2?)"),
            (b"SSH-2.0-x", "\"SSH-\" (SSH?)"),
            (b"\x16\x03\x01\x02\x00", "\"\\x16\\x03\\x01\\x02\" (TLS?)"),
            (b"\x16", "\"\\x16\\x00\\x00\\x00\""),
        ] {
            let error = decode_all(&mut FrameDecoder::new(10), bytes, 99).unwrap_err();
            assert!(error.to_string().ends_with(guess), "{error}");
        }
    }

    #[test]
    fn a_claimed_length_makes_no_memory() {
        let mut decoder = FrameDecoder::new(u32::MAX);
        let mut buffer = BytesMut::from(&Header::plain(Kind::Request, 0).to_bytes(u32::MAX)[..]);
        assert!(decoder.decode(&mut buffer).unwrap().is_none());
        assert!(buffer.capacity() <= 2 * READ_AHEAD, "{}", buffer.capacity());
    }

    #[test]
    fn tells_what_is_missing_of_a_long_frame() {
        let frame =
            |length: usize| [&Header::plain(Kind::Request, 0).to_bytes(length as u32)[..], &vec![7; length]].concat();
        for (length, missing) in [(SHARED_FROM - 1, 0), (SHARED_FROM, 3), (1_000_000, 3)] {
            let mut decoder = FrameDecoder::new(u32::MAX);
            let frame = frame(length);
            let (begun, rest) = frame.split_at(frame.len() - 3);
            let mut buffer = BytesMut::from(&begun[..HEADER - 1]);
            assert!(decoder.decode(&mut buffer).unwrap().is_none());
            assert_eq!(decoder.missing(), 0);
            buffer.extend_from_slice(&begun[HEADER - 1..]);
            assert!(decoder.decode(&mut buffer).unwrap().is_none());
            assert_eq!(decoder.missing(), missing);
            buffer.extend_from_slice(rest);
            assert_eq!(decoder.decode(&mut buffer).unwrap().unwrap().payload.len(), length);
            assert_eq!(decoder.missing(), 0);
        }
    }

    #[test]
    fn accepts_exactly_the_largest_payload() {
        let bytes = [&Header::plain(Kind::Request, 0).to_bytes(10)[..], &[0; 10]].concat();
        assert_eq!(decode_all(&mut FrameDecoder::new(10), &bytes, 30).unwrap().len(), 1);
        assert!(decode_all(&mut FrameDecoder::new(9), &bytes, 30).is_err());
    }
}
