//! The payloads of requests, responses and descriptions.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};

use super::Malformed;
use super::wire::{Fields, put_text16, put_text32};
use crate::body::SHARED_FROM;
use crate::context::Metadata;
use crate::status::Status;

/// Request flag: the time left follows.
const TIME_LEFT: u8 = 0b01;
/// Request flag: metadata follow.
const METADATA: u8 = 0b10;

/// Response flag: the service's own error.
const ERROR: u8 = 0b01;
/// Response and description flag: a status.
pub(crate) const STATUS: u8 = 0b10;

/// What is kept of a status' message, in bytes: it is for people, and a hostile server sends megabytes.
const LONGEST_MESSAGE: usize = 4_096;

/// A request up to its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestHead {
    /// The method's position in the server's table.
    pub(crate) method: u32,
    /// Until the caller's deadline.
    pub(crate) time_left: Option<Duration>,
    pub(crate) metadata: Metadata,
}

impl RequestHead {
    /// The flags of the frame's header.
    pub(crate) fn flags(&self) -> u8 {
        let time_left = if self.time_left.is_some() { TIME_LEFT } else { 0 };
        let metadata = if self.metadata.is_empty() { 0 } else { METADATA };
        time_left | metadata
    }

    /// Bytes that [`encode`](Self::encode) appends.
    pub(crate) fn len(&self) -> usize {
        let time_left = if self.time_left.is_some() { 8 } else { 0 };
        4 + time_left + self.metadata.wire_len()
    }

    /// Appends the head. A time below a microsecond is sent as one: 0 is never sent.
    pub(crate) fn encode(&self, out: &mut impl BufMut) {
        out.put_u32_le(self.method);
        if let Some(time_left) = self.time_left {
            out.put_u64_le(u64::try_from(time_left.as_micros()).unwrap_or(u64::MAX).max(1));
        }
        if !self.metadata.is_empty() {
            out.put_u16_le(self.metadata.len().try_into().expect("metadata are checked where they enter"));
            for (key, value) in self.metadata.iter() {
                put_text16(out, key);
                put_text16(out, value);
            }
        }
    }

    /// Splits a request's payload into head and arguments.
    pub(crate) fn decode(flags: u8, payload: Bytes) -> Result<(Self, Bytes), Malformed> {
        let length = payload.len();
        let mut fields = Fields::new(payload);
        let method = fields.u32("the method of a request")?;
        let time_left = match flags & TIME_LEFT {
            0 => None,
            _ => Some(Duration::from_micros(fields.u64("the time left of a request")?)),
        };
        let mut metadata = Metadata::default();
        if flags & METADATA != 0 {
            for _ in 0..fields.u16("the number of metadata")? {
                let key = fields.text16("a key of the metadata")?;
                metadata.push(key, fields.text16("a value of the metadata")?);
            }
        }
        let mut arguments = fields.rest();
        // Whoever keeps a part of them keeps the head, too: no more of it than of them.
        if arguments.len() >= SHARED_FROM && arguments.len() < length / 2 {
            arguments = Bytes::copy_from_slice(&arguments);
        }
        Ok((Self { method, time_left, metadata }, arguments))
    }
}

/// What a server answers to a request; the body is coded as the request was. A server's own has a [`Body`](crate::body::Body) of which a part may
/// be shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Response<B = Bytes> {
    /// The method's result.
    Ok(B),
    /// The service's own error.
    Err(B),
    /// The method gave no answer, or none that could be sent.
    Status(Status),
}

impl<B: From<Bytes>> Response<B> {
    /// The flags of the frame's header, and the payload.
    pub(crate) fn encode(self) -> (u8, B) {
        match self {
            Self::Ok(body) => (0, body),
            Self::Err(body) => (ERROR, body),
            Self::Status(status) => (STATUS, encode_status(&status).into()),
        }
    }
}

impl Response {
    pub(crate) fn decode(flags: u8, payload: Bytes) -> Result<Self, Malformed> {
        match flags {
            0 => Ok(Self::Ok(payload)),
            ERROR => Ok(Self::Err(payload)),
            STATUS => decode_status(payload).map(Self::Status),
            _ => Err(Malformed("a response is both an error and a status")),
        }
    }
}

fn encode_status(status: &Status) -> Bytes {
    let mut out = BytesMut::with_capacity(1 + status.message().len());
    out.put_u8(status.code().byte());
    out.put_slice(status.message().as_bytes());
    out.freeze()
}

fn decode_status(payload: Bytes) -> Result<Status, Malformed> {
    let mut fields = Fields::new(payload);
    let code = fields.u8("the code of a status")?;
    let message = fields.rest();
    let message = String::from_utf8_lossy(&message[..message.len().min(LONGEST_MESSAGE)]).into_owned();
    Ok(Status::from_wire(code, message))
}

/// A description question's payload.
pub(crate) fn encode_question(method: u32) -> Bytes {
    Bytes::copy_from_slice(&method.to_le_bytes())
}

/// The method that a description question asks for.
pub(crate) fn decode_question(payload: Bytes) -> Result<u32, Malformed> {
    Fields::new(payload).u32("the method of a question")
}

/// The types of a method, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) arguments: String,
    pub(crate) outcome: String,
}

impl Description {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(8 + self.arguments.len() + self.outcome.len());
        put_text32(&mut out, &self.arguments);
        put_text32(&mut out, &self.outcome);
        out.freeze()
    }

    pub(crate) fn decode(payload: Bytes) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        Ok(Self {
            arguments: fields.text32("the description of the arguments")?,
            outcome: fields.text32("the description of the result")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::StatusCode;

    fn encoded(head: &RequestHead) -> Vec<u8> {
        let mut out = BytesMut::new();
        head.encode(&mut out);
        out.to_vec()
    }

    #[test]
    fn request_bytes_are_pinned() {
        let plain = RequestHead { method: 3, time_left: None, metadata: Metadata::default() };
        assert_eq!((plain.flags(), encoded(&plain)), (0, vec![3, 0, 0, 0]));

        let mut metadata = Metadata::default();
        metadata.insert("k".into(), "v1".into());
        let full = RequestHead { method: 3, time_left: Some(Duration::from_millis(3_000)), metadata };
        let golden = [
            3, 0, 0, 0, // method
            0xC0, 0xC6, 0x2D, 0, 0, 0, 0, 0, // 3,000,000 us
            1, 0, 1, 0, b'k', 2, 0, b'v', b'1', // one pair
        ];
        assert_eq!((full.flags(), encoded(&full)), (3, golden.to_vec()));
        assert_eq!(full.len(), golden.len());

        let payload = Bytes::from([&golden[..], b"args"].concat());
        assert_eq!(RequestHead::decode(3, payload), Ok((full, Bytes::from_static(b"args"))));
    }

    #[test]
    fn arguments_do_not_keep_a_head_that_is_longer() {
        let kept = |metadata: usize| {
            let mut head = RequestHead { method: 3, time_left: None, metadata: Metadata::default() };
            head.metadata.insert("k".into(), "v".repeat(metadata));
            let payload = Bytes::from([&encoded(&head)[..], &[7; SHARED_FROM]].concat());
            let range = payload.as_ptr_range();
            let (_, arguments) = RequestHead::decode(head.flags(), payload.clone()).unwrap();
            assert!(arguments == [7; SHARED_FROM][..]);
            range.contains(&arguments.as_ptr())
        };
        assert!(kept(SHARED_FROM - 100));
        assert!(!kept(SHARED_FROM + 100));
    }

    #[test]
    fn no_time_left_is_never_sent() {
        let head = RequestHead { method: 0, time_left: Some(Duration::ZERO), metadata: Metadata::default() };
        assert_eq!(encoded(&head)[4..], [1, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn response_bytes_are_pinned() {
        let body = Bytes::from_static(b"body");
        assert_eq!(Response::Ok(body.clone()).encode(), (0, body.clone()));
        assert_eq!(Response::Err(body.clone()).encode(), (1, body.clone()));
        let status = Response::Status(Status::new(StatusCode::DeadlineExceeded, "late"));
        assert_eq!(status.clone().encode(), (2, Bytes::from_static(b"\x05late")));
        assert_eq!(Response::decode(2, Bytes::from_static(b"\x05late")), Ok(status));
        assert!(Response::decode(3, body).is_err());
        assert!(Response::decode(2, Bytes::new()).is_err());
    }

    #[test]
    fn a_status_of_megabytes_is_cut_short() {
        let payload = vec![7; 1 << 20];
        let Ok(Response::Status(status)) = Response::decode(2, payload.into()) else { panic!("a status") };
        assert_eq!(status.message().len(), LONGEST_MESSAGE);
    }

    #[test]
    fn description_bytes_are_pinned() {
        assert_eq!(encode_question(258), &[2, 1, 0, 0][..]);
        let description = Description { arguments: "u64".into(), outcome: "?".into() };
        assert_eq!(description.encode(), &[3, 0, 0, 0, b'u', b'6', b'4', 1, 0, 0, 0, b'?'][..]);
        assert_eq!(Description::decode(description.encode()), Ok(description));
    }

    #[test]
    fn a_cut_request_is_an_error_wherever_it_is_cut() {
        let mut metadata = Metadata::default();
        metadata.insert("key".into(), "value".into());
        let head = RequestHead { method: 3, time_left: Some(Duration::from_secs(1)), metadata };
        let bytes = encoded(&head);
        for length in 0..bytes.len() {
            assert!(RequestHead::decode(3, Bytes::copy_from_slice(&bytes[..length])).is_err(), "{length}");
        }
    }
}
