//! The reading side of a connection: frames, read without a buffer for each connection that waits.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::{BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::task::yield_now;
use tokio_util::codec::Decoder;

use super::Reader;
use super::busy_poll::{BUSY_TURN, BusyPoll, LONGEST};
use crate::protocol::frame::{Frame, FrameDecoder, FrameError};

/// What one read takes at most; also the size of the buffer that all connections of a thread share.
const READ: usize = 16 * 1024;

/// A buffer without content that is larger than this is given back to the allocator before it waits.
const KEPT_BUFFER: usize = 4 * 1024;

/// A thread that busy polls lets the system run others on its processor so often: where all processors do nothing but wait, the system
/// would let others wait for milliseconds.
const YIELD_EVERY: Duration = Duration::from_micros(500);

thread_local! {
    static THREAD: RefCell<Thread> = RefCell::new(Thread { buffer: vec![0; READ].into(), last: 0, yielded: Instant::now() });
}

/// What the inputs that are read on a thread share.
struct Thread {
    buffer: Box<[u8]>,
    /// The input that last read into the buffer; 0 for none.
    last: u64,
    /// When the thread last let others have its processor.
    yielded: Instant,
}

impl Thread {
    /// Whether it is time to let others have the processor.
    fn yields(&mut self, now: Instant) -> bool {
        let yields = now - self.yielded >= YIELD_EVERY;
        if yields {
            self.yielded = now;
        }
        yields
    }
}

/// The reading side of a connection.
pub(crate) struct Input {
    /// Unique in the process, and not 0.
    id: u64,
    reader: Reader,
    decoder: FrameDecoder,
    /// What was read and is not decoded yet.
    buffer: BytesMut,
    /// See [`shares_thread`](Self::shares_thread).
    shares_thread: bool,
    busy_poll: BusyPoll,
}

impl Input {
    /// An input that accepts payloads of at most `max_frame` bytes.
    pub(crate) fn new(reader: Reader, max_frame: u32) -> Self {
        static LAST_ID: AtomicU64 = AtomicU64::new(0);
        Self {
            id: LAST_ID.fetch_add(1, Ordering::Relaxed) + 1,
            reader,
            decoder: FrameDecoder::new(max_frame),
            buffer: BytesMut::new(),
            shares_thread: true,
            busy_poll: BusyPoll::new(),
        }
    }

    /// From now on accepts payloads of at most `max_frame` bytes.
    pub(crate) fn set_max_frame(&mut self, max_frame: u32) {
        self.decoder.set_max_frame(max_frame);
    }

    /// The next frame of what was read.
    ///
    /// # Errors
    ///
    /// When what was read is no frame, or one that is not accepted. No other follows then.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        self.decoder.decode(&mut self.buffer)
    }

    /// Whether another input had read on the thread before this one last did.
    pub(crate) fn shares_thread(&self) -> bool {
        self.shares_thread
    }

    /// Whether the last wait was ended by a busy poll: the peer sends at once.
    pub(crate) fn peer_is_quick(&self) -> bool {
        self.busy_poll.has_found()
    }

    /// Whether a part of the next frame was read.
    pub(crate) fn has_begun(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Reads more, once there is some. The count of bytes; 0 if the stream has ended. Cancel safe.
    ///
    /// A connection may wait long for its next bytes, and there are many of them: so what waits holds no room. The bytes are read into the
    /// thread's buffer and copied. Only what is missing of a long frame is read where it belongs, and nothing behind it: parts of the frame
    /// may be kept, and its memory with them.
    pub(crate) async fn read(&mut self) -> io::Result<usize> {
        let missing = self.decoder.missing();
        if missing > 0 {
            return self.reader.read_buf(&mut (&mut self.buffer).limit(missing)).await;
        }
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT_BUFFER {
            self.buffer = BytesMut::new();
        }
        if let Poll::Ready(read) = self.try_read().await {
            return read;
        }
        let since = Instant::now();
        let read = match self.busy_poll().await {
            Poll::Ready(read) => read,
            Poll::Pending => poll_fn(|cx| self.poll_read(cx)).await,
        };
        self.busy_poll.waited(since.elapsed());
        read
    }

    /// Tries to read again and again for a while, if that promises anything. Everything else that is ready on the thread has its turn
    /// before each try.
    async fn busy_poll(&mut self) -> Poll<io::Result<usize>> {
        if !self.busy_poll.begin() || self.shares_thread {
            return Poll::Pending;
        }
        // Those whom the last read has woken may need longer for their turn.
        yield_now().await;
        let begun = Instant::now();
        let mut before = begun;
        loop {
            let read = self.try_read().await;
            // After the try: what ends a long turn may be that something came.
            let now = Instant::now();
            let is_over = now - begun >= LONGEST || now - before >= BUSY_TURN;
            if read.is_ready() || is_over || THREAD.with_borrow(|thread| thread.last != self.id) {
                self.busy_poll.end(now - begun, read.is_ready());
                return read;
            }
            before = now;
            if THREAD.with_borrow_mut(|thread| thread.yields(now)) {
                std::thread::yield_now();
                before = Instant::now();
            }
            yield_now().await;
        }
    }

    /// Reads what there is right now.
    async fn try_read(&mut self) -> Poll<io::Result<usize>> {
        poll_fn(|cx| Poll::Ready(self.poll_read(cx))).await
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        THREAD.with_borrow_mut(|thread| {
            let mut read = ReadBuf::new(&mut thread.buffer);
            ready!(Pin::new(&mut self.reader).poll_read(cx, &mut read))?;
            self.buffer.extend_from_slice(read.filled());
            let length = read.filled().len();
            self.shares_thread = std::mem::replace(&mut thread.last, self.id) != self.id;
            Poll::Ready(Ok(length))
        })
    }
}

#[cfg(test)]
mod tests;
