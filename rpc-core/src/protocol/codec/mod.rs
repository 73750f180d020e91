//! Values to bytes and back.
//!
//! A body is one value, or the arguments of a method: one after another without separators in bincode, as a tuple of them would be; an array in
//! JSON. Whatever bytes arrive, decoding neither panics nor allocates by a number that is merely claimed: a body nests at most 128 levels,
//! and the elements of all its sequences and maps together are at most its bytes and 4,096 more.
//!
//! In bincode `Vec<u8>` as a whole value moves in one copy. Within another type serde hands it over byte by byte; `bytes::Bytes` and
//! `serde_bytes` are fast there too, and their encoding is the same.
//!
//! `bytes::Bytes` of at least 16 KiB as a whole value moves without a copy. Encoding shares it if it is the last value, as the second piece of
//! the [`Body`](crate::body::Body). Decoding gives a part of the body, unless it is less than half of it: whoever keeps the part keeps the whole.

mod decoder;
mod encoder;
mod error;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod golden_json;

use serde::{Deserialize, Serialize};

pub use decoder::Decoder;
pub(crate) use decoder::decode;
pub use encoder::Encoder;
pub(crate) use encoder::encode;
pub use error::{DecodeError, EncodeError};
pub(in crate::protocol) use error::{DecodeFailure, DecodeReason, EncodeFailure, EncodeReason};

/// The encodings a body can have. A closed set: open codecs would put erased serde into every signature.
///
/// A client chooses one for what it sends ([`ClientBuilder::codec`](crate::ClientBuilder::codec)); a server takes all, and answers in that of
/// the request. In configuration they are `bincode` and `json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Codec {
    /// bincode 2, `standard()` configuration: compact, without a schema. Both sides compare their types before the first call.
    #[default]
    Bincode,
    /// JSON, for people and scripts. Types are not compared: what does not fit is found when it is read, and an error then.
    ///
    /// A call fails rather than let a value arrive as another: `NaN` and infinities, which JSON does not have; `Some(None)`, `Some(())` and the
    /// like, which would arrive as `None`; maps whose keys are neither text, numbers nor booleans. Bytes are arrays of numbers.
    ///
    /// What is nested too deeply is refused when it is read. That does not hold for what is within `#[serde(untagged)]`, `#[serde(flatten)]` and
    /// the like: serde keeps that and reads it again from memory, where nobody counts. There a type that needs no character for a level, such
    /// as `struct Chain(Option<Box<Chain>>)`, can overflow the stack. Servers offer no such types; a client that has one trusts its server.
    Json,
}

impl Codec {
    /// The byte that names this codec in a frame.
    #[must_use]
    pub const fn id(self) -> u8 {
        match self {
            Codec::Bincode => 1,
            Codec::Json => 2,
        }
    }

    /// The codec that `id` names, if there is one.
    #[must_use]
    pub const fn from_id(id: u8) -> Option<Codec> {
        match id {
            1 => Some(Codec::Bincode),
            2 => Some(Codec::Json),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_names_the_codec() {
        assert_eq!((Codec::Bincode.id(), Codec::Json.id()), (1, 2));
        assert_eq!((Codec::from_id(1), Codec::from_id(2)), (Some(Codec::Bincode), Some(Codec::Json)));
        assert_eq!((Codec::from_id(0), Codec::from_id(3)), (None, None));
    }

    #[test]
    fn a_configuration_names_the_codec_in_small_letters() {
        let named = serde_json::from_str::<[Codec; 2]>(r#"["bincode", "json"]"#);
        assert_eq!(named.unwrap(), [Codec::Bincode, Codec::Json]);
        assert!(serde_json::from_str::<Codec>(r#""JSON""#).is_err());
    }
}
