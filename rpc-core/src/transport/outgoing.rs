//! What a call sends.

use std::time::Duration;

use bytes::Bytes;

use super::output::Queue;
use crate::body::Body;
use crate::context::Metadata;
use crate::protocol::frame::{Header, Kind};
use crate::protocol::message::{self, RequestHead};

/// Why a request was not taken; nothing of it was sent.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the server is leaving")]
    Leaving,
    #[error("all {0} calls that the server allows are in flight")]
    Full(u32),
    #[error("the connection has no room for another request")]
    NoRoom,
    #[error("the connection was lost before the request was sent")]
    Lost,
    #[error("the request has {length} bytes, the server accepts at most {limit} in a frame")]
    TooLarge { length: usize, limit: u32 },
}

/// What a call sends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outgoing<'a> {
    /// A request for the method at this position.
    Request { method: u32, codec: u8, time_left: Duration, metadata: &'a Metadata, body: &'a Body },
    /// The question for the types of the method at this position.
    Describe { method: u32 },
}

/// The frame of an outgoing call, but for its id.
pub(super) enum OutgoingFrame<'a> {
    Request { head: RequestHead, codec: u8, body: &'a Body },
    Describe { question: Bytes },
}

impl<'a> OutgoingFrame<'a> {
    pub(super) fn new(outgoing: Outgoing<'a>) -> Self {
        match outgoing {
            Outgoing::Request { method, codec, time_left, metadata, body } => {
                let head = RequestHead { method, time_left: Some(time_left), metadata: metadata.clone() };
                Self::Request { head, codec, body }
            }
            Outgoing::Describe { method } => Self::Describe { question: message::encode_question(method) },
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Request { head, body, .. } => head.len() + body.len(),
            Self::Describe { question } => question.len(),
        }
    }

    pub(super) fn push(self, id: u64, queue: &mut Queue<'_>) {
        match self {
            Self::Request { head, codec, body } => {
                let header = Header { kind: Kind::Request, flags: head.flags(), codec, id };
                queue.push_with(header, head.len(), |out| head.encode(out), body.pieces());
            }
            Self::Describe { question } => queue.push(Header::plain(Kind::Describe, id), &[question]),
        }
    }
}
