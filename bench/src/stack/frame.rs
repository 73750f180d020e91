//! The frames of the stacks without calls: the length of a payload in four bytes, and the payload.

use anyhow::ensure;
use bytes::{BufMut as _, Bytes, BytesMut};

/// The bytes before a payload.
pub(super) const HEADER: usize = 4;

/// The longest payload that is believed.
const LONGEST: usize = 16 << 20;

/// A payload in its frame.
pub(super) fn of(payload: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(HEADER + payload.len());
    frame.put_u32_le(payload.len() as u32);
    frame.put_slice(payload);
    frame.freeze()
}

/// The bytes of the first frame, if all of it is there.
pub(super) fn first(bytes: &[u8]) -> anyhow::Result<Option<usize>> {
    let Some(header) = bytes.first_chunk() else { return Ok(None) };
    let payload = u32::from_le_bytes(*header) as usize;
    ensure!(payload <= LONGEST, "a frame claims a payload of {payload} bytes; {LONGEST} are allowed");
    let frame = HEADER + payload;
    Ok((bytes.len() >= frame).then_some(frame))
}

/// The bytes of all frames that are there whole.
pub(super) fn whole(bytes: &[u8]) -> anyhow::Result<usize> {
    let mut whole = 0;
    while let Some(frame) = first(&bytes[whole..])? {
        whole += frame;
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_frames_are_taken() {
        let frames = [of(b"one"), of(b""), of(b"three")].concat();
        assert_eq!(whole(&frames).unwrap(), frames.len());
        assert_eq!(whole(&frames[..frames.len() - 1]).unwrap(), 11);
        assert_eq!(whole(&frames[..3]).unwrap(), 0);
        whole(&[0xff; 4]).unwrap_err();
    }
}
