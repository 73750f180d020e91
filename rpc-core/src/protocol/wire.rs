//! The fields that payloads are made of.

use bytes::{BufMut, Bytes};

/// A payload that does not have the layout of its kind: what was missing or wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a malformed payload: {0}")]
pub(crate) struct Malformed(pub(crate) &'static str);

/// Takes fields off the front of a payload.
#[derive(Debug)]
pub(crate) struct Fields(Bytes);

impl Fields {
    pub(crate) const fn new(payload: Bytes) -> Self {
        Self(payload)
    }

    /// What is left.
    pub(crate) fn rest(self) -> Bytes {
        self.0
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, Malformed> {
        Ok(self.array::<1>(what)?[0])
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, Malformed> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, Malformed> {
        self.array(what).map(u64::from_le_bytes)
    }

    pub(crate) fn text16(&mut self, what: &'static str) -> Result<String, Malformed> {
        let length = self.u16(what)?;
        self.text(length.into(), what)
    }

    pub(crate) fn text32(&mut self, what: &'static str) -> Result<String, Malformed> {
        let length = self.u32(what)?;
        self.text(length as usize, what)
    }

    fn text(&mut self, length: usize, what: &'static str) -> Result<String, Malformed> {
        let bytes = self.bytes(length, what)?;
        std::str::from_utf8(&bytes).map(str::to_owned).map_err(|_| Malformed(what))
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        let field = self.0.first_chunk::<N>().copied().ok_or(Malformed(what))?;
        bytes::Buf::advance(&mut self.0, N);
        Ok(field)
    }

    fn bytes(&mut self, length: usize, what: &'static str) -> Result<Bytes, Malformed> {
        if length > self.0.len() {
            return Err(Malformed(what));
        }
        Ok(self.0.split_to(length))
    }
}

/// Appends `text16`. Names, keys and ids are checked for their length where they enter the program.
///
/// # Panics
///
/// If `text` is longer than 65,535 bytes.
pub(crate) fn put_text16(out: &mut impl BufMut, text: &str) {
    out.put_u16_le(text.len().try_into().expect("a name is shorter than 64 KiB"));
    out.put_slice(text.as_bytes());
}

/// Appends `text32`.
///
/// # Panics
///
/// If `text` is longer than 4 GiB.
pub(crate) fn put_text32(out: &mut impl BufMut, text: &str) {
    out.put_u32_le(text.len().try_into().expect("the text of a type is shorter than 4 GiB"));
    out.put_slice(text.as_bytes());
}
