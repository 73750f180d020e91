//! Values to bytes and back.
//!
//! A body holds values one after another, without separators: several values are encoded as a tuple of them would be.
//! Whatever bytes arrive, decoding neither panics nor allocates by a number that is merely claimed: nesting is limited to 128
//! levels, and the elements of all sequences and maps of a body together to the body's bytes and 4,096 more.
//!
//! `Vec<u8>` as a whole value moves in one copy. Within another type serde hands it over byte by byte; `bytes::Bytes` and
//! `serde_bytes` are fast there too, and their encoding is the same.

mod decoder;
mod encoder;
mod error;
#[cfg(test)]
mod golden;

pub use decoder::Decoder;
pub use encoder::Encoder;
pub use error::{DecodeError, EncodeError};
pub(in crate::protocol) use error::{DecodeFailure, DecodeReason, EncodeFailure, EncodeReason};

/// The encodings a body can have. A closed set: open codecs would put erased serde into every signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Codec {
    /// bincode 2, `standard()` configuration: compact, without a schema.
    Bincode,
}

impl Codec {
    /// The byte that names this codec in a frame.
    #[must_use]
    pub const fn id(self) -> u8 {
        match self {
            Codec::Bincode => 1,
        }
    }

    /// The codec that `id` names, if there is one.
    #[must_use]
    pub const fn from_id(id: u8) -> Option<Codec> {
        match id {
            1 => Some(Codec::Bincode),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_names_the_codec() {
        assert_eq!(Codec::Bincode.id(), 1);
        assert_eq!(Codec::from_id(1), Some(Codec::Bincode));
        assert_eq!((Codec::from_id(0), Codec::from_id(2)), (None, None));
    }
}
