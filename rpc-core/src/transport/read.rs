//! Reading without a buffer for each connection that waits.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::ready;

use bytes::{BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

use super::Reader;

/// What one read takes at most; also the size of the buffer that all connections of a thread share.
const READ: usize = 16 * 1024;

/// A buffer without content that is larger than this is given back to the allocator before it waits.
const KEPT_BUFFER: usize = 4 * 1024;

thread_local! {
    static SHARED: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ].into());
}

/// Appends what one read brings to `buffer`; 0 if the stream has ended. Cancel safe.
///
/// A connection may wait long for its next bytes, and there are many of them: so what waits holds no room. The bytes are read into the
/// thread's buffer and copied. Only what is `missing` of a long frame is read where it belongs, and nothing behind it: parts of the frame may
/// be kept, and its memory with them.
pub(crate) async fn read(reader: &mut Reader, buffer: &mut BytesMut, missing: usize) -> io::Result<usize> {
    if missing > 0 {
        return reader.read_buf(&mut buffer.limit(missing)).await;
    }
    if buffer.is_empty() && buffer.capacity() > KEPT_BUFFER {
        *buffer = BytesMut::new();
    }
    poll_fn(|cx| {
        SHARED.with_borrow_mut(|shared| {
            let mut read = ReadBuf::new(shared);
            ready!(Pin::new(&mut *reader).poll_read(cx, &mut read))?;
            buffer.extend_from_slice(read.filled());
            Ok(read.filled().len()).into()
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn reads_append_and_then_say_that_the_stream_ended() {
        let (near, mut far) = tokio::io::duplex(READ);
        let (mut reader, mut buffer): (Reader, _) = (Box::new(near), BytesMut::from("a"));
        far.write_all(b"bc").await.unwrap();
        assert_eq!(read(&mut reader, &mut buffer, 0).await.unwrap(), 2);
        drop(far);
        assert_eq!(read(&mut reader, &mut buffer, 0).await.unwrap(), 0);
        assert_eq!(buffer, "abc");
    }

    #[tokio::test]
    async fn long_frames_are_read_where_they_belong() {
        let (near, mut far) = tokio::io::duplex(2 * READ);
        let (mut reader, mut buffer): (Reader, _) = (Box::new(near), BytesMut::with_capacity(2 * READ));
        let place = buffer.as_ptr();
        far.write_all(&[7; 2 * READ]).await.unwrap();
        assert_eq!(
            read(&mut reader, &mut buffer, 2 * READ - 1).await.unwrap(),
            2 * READ - 1,
            "and nothing behind them"
        );
        assert_eq!((buffer.as_ptr(), buffer.len()), (place, 2 * READ - 1));
    }

    #[tokio::test]
    async fn a_buffer_that_waits_holds_little_room() {
        for room in [KEPT_BUFFER + 1, 100 * READ] {
            let (near, mut far) = tokio::io::duplex(READ);
            let (mut reader, mut buffer): (Reader, _) = (Box::new(near), BytesMut::with_capacity(room));
            far.write_all(b"x").await.unwrap();
            read(&mut reader, &mut buffer, 0).await.unwrap();
            assert!(buffer.capacity() <= 64, "{}", buffer.capacity());
        }
    }
}
