//! The far end of an output: pieces in order, written until the socket takes no more.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;

use super::Writer;

/// A drained buffer larger than this is given back to the allocator.
const KEPT_BUFFER: usize = 64 * 1024;

/// Pieces of one vectored write, at most.
const MAX_SLICES: usize = 32;

/// The writer, and what it is writing.
pub(super) struct Sink {
    pub(super) writer: Writer,
    pub(super) segments: VecDeque<Segment>,
    /// Bytes of the first segment that are written.
    offset: usize,
    /// The buffer of a segment that is written.
    pub(super) drained: Option<Vec<u8>>,
}

/// A piece of the queue.
pub(super) enum Segment {
    Copied(Vec<u8>),
    Shared(Bytes),
}

impl Sink {
    pub(super) fn new(writer: Writer) -> Self {
        Self { writer, segments: VecDeque::new(), offset: 0, drained: None }
    }

    /// Writes until nothing is left or the socket takes no more; adds to `written` what it took.
    pub(super) fn poll_write_all(&mut self, cx: &mut Context<'_>, written: &mut u64) -> Poll<io::Result<()>> {
        while let Some(first) = self.segments.front() {
            let first = &first.bytes()[self.offset..];
            let result = if self.segments.len() == 1 {
                Pin::new(&mut self.writer).poll_write(cx, first)
            } else {
                let mut slices = [IoSlice::new(&[]); MAX_SLICES];
                slices[0] = IoSlice::new(first);
                for (slice, segment) in slices[1..].iter_mut().zip(self.segments.range(1..)) {
                    *slice = IoSlice::new(segment.bytes());
                }
                let used = self.segments.len().min(MAX_SLICES);
                Pin::new(&mut self.writer).poll_write_vectored(cx, &slices[..used])
            };
            let accepted = std::task::ready!(result)?;
            if accepted == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *written += accepted as u64;
            self.advance(accepted);
        }
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, mut accepted: usize) {
        while let Some(first) = self.segments.front() {
            let left = first.len() - self.offset;
            if accepted < left {
                self.offset += accepted;
                return;
            }
            accepted -= left;
            self.offset = 0;
            if let Some(Segment::Copied(mut buffer)) = self.segments.pop_front()
                && buffer.capacity() <= KEPT_BUFFER
            {
                buffer.clear();
                self.drained = Some(buffer);
            }
        }
    }
}

impl Segment {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Copied(buffer) => buffer,
            Self::Shared(body) => body,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes().len()
    }
}
