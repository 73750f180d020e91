//! Encodes the values of one body.

use std::any::{Any, type_name};
use std::cell::Cell;

use bytes::Bytes;
use serde::Serialize;

use super::{Codec, EncodeError, EncodeFailure};
use crate::protocol::{guard, json};

/// Longer bodies leave as they are; others are copied, so that what they were written into serves the next one.
const COPIED_BELOW: usize = 4 * 1024;

thread_local! {
    /// What this thread's next body is written into.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Encodes one value as a body.
///
/// # Errors
///
/// If the codec cannot carry the value.
pub(crate) fn encode<T: Serialize + 'static>(codec: Codec, value: &T) -> Result<Bytes, EncodeError> {
    let mut body = SPARE.take();
    let written = match codec {
        Codec::Bincode => bincode(value, &mut body),
        Codec::Json => json::encode(value, &mut body),
    };
    match written {
        Ok(()) => Ok(finished(body)),
        Err(failure) => Err(EncodeError::new(type_name::<T>(), failure)),
    }
}

/// Writes the arguments of a method into one body.
#[derive(Debug)]
pub struct Encoder {
    codec: Codec,
    body: Vec<u8>,
    values: usize,
}

impl Encoder {
    /// Starts an empty body.
    #[must_use]
    pub fn new(codec: Codec) -> Self {
        Encoder { codec, body: SPARE.take(), values: 0 }
    }

    /// Appends `value`.
    ///
    /// # Errors
    ///
    /// If the codec cannot carry the value; the body is then as it was before.
    pub fn push<T: Serialize + 'static>(&mut self, value: &T) -> Result<(), EncodeError> {
        let start = self.body.len();
        self.values += 1;
        let written = match self.codec {
            Codec::Bincode => bincode(value, &mut self.body),
            Codec::Json => {
                self.body.push(if start == 0 { b'[' } else { b',' });
                json::encode(value, &mut self.body)
            }
        };
        written.map_err(|failure| {
            self.body.truncate(start);
            EncodeError::new(type_name::<T>(), failure)
        })
    }

    /// How many values were pushed, the last one included if it failed.
    pub(crate) fn values(&self) -> usize {
        self.values
    }

    /// The body.
    #[must_use]
    pub fn finish(mut self) -> Bytes {
        match self.codec {
            Codec::Bincode => {}
            Codec::Json if self.body.is_empty() => self.body.extend_from_slice(b"[]"),
            Codec::Json => self.body.push(b']'),
        }
        finished(self.body)
    }
}

/// The body, and what it was written into for the next one.
fn finished(mut written: Vec<u8>) -> Bytes {
    if written.len() >= COPIED_BELOW {
        return written.into();
    }
    let body = Bytes::copy_from_slice(&written);
    written.clear();
    SPARE.set(written);
    body
}

fn bincode<T: Serialize + 'static>(value: &T, body: &mut Vec<u8>) -> Result<(), EncodeFailure> {
    match (value as &dyn Any).downcast_ref::<Vec<u8>>() {
        Some(bytes) => guard::encode_bytes(bytes, body),
        None => guard::encode(value, body),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::ser::{SerializeSeq, SerializeStruct};
    use serde::{Serialize, Serializer};

    use super::*;

    fn refusal<T: Serialize + 'static>(value: &T) -> String {
        let mut encoder = Encoder::new(Codec::Bincode);
        encoder.push(&7u8).unwrap();
        let error = encoder.push(value).unwrap_err();
        assert_eq!(encoder.finish(), [7u8][..], "a failed push leaves no bytes");
        error.to_string()
    }

    #[derive(Serialize, Default)]
    struct Skipping {
        id: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        nick: Option<String>,
    }

    #[derive(Serialize)]
    struct Flattening {
        id: u32,
        #[serde(flatten)]
        rest: BTreeMap<String, u32>,
    }

    struct Streaming;
    impl Serialize for Streaming {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_seq(None)?.end()
        }
    }

    struct Miscounted;
    impl Serialize for Miscounted {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut fields = serializer.serialize_struct("Miscounted", 2)?;
            fields.serialize_field("one", &1u8)?;
            fields.end()
        }
    }

    struct Deep(usize);
    impl Serialize for Deep {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self.0 {
                0 => serializer.serialize_unit(),
                rest => serializer.serialize_some(&Deep(rest - 1)),
            }
        }
    }

    #[test]
    fn refuses_a_skipped_field_and_names_it() {
        let message = refusal(&Skipping::default());
        assert!(message.contains("Skipping") && message.contains("`nick`"), "{message}");
        assert!(message.contains("skip_serializing_if"), "{message}");
        let whole = Skipping { id: 1, nick: Some("n".into()) };
        assert!(Encoder::new(Codec::Bincode).push(&whole).is_ok());
    }

    #[test]
    fn refuses_flattened_fields() {
        let message = refusal(&Flattening { id: 1, rest: BTreeMap::new() });
        assert!(message.contains("Flattening") && message.contains("flatten"), "{message}");
    }

    #[test]
    fn refuses_a_sequence_of_unknown_length() {
        let message = refusal(&Streaming);
        assert!(message.contains("Streaming") && message.contains("length"), "{message}");
    }

    #[test]
    fn refuses_a_struct_that_writes_fewer_fields_than_it_declares() {
        let message = refusal(&Miscounted);
        assert!(message.contains("declares 2") && message.contains("writes 1"), "{message}");
    }

    #[test]
    fn refuses_what_no_peer_would_decode_for_its_depth() {
        assert!(Encoder::new(Codec::Bincode).push(&Deep(128)).is_ok());
        assert!(refusal(&Deep(129)).contains("128"));
    }

    #[test]
    fn writes_a_byte_vector_as_bincode_does_through_aliases_too() {
        type Blob = Vec<u8>;
        for length in [0usize, 1, 250, 251, 65_536] {
            let blob: Blob = vec![9; length];
            let mut encoder = Encoder::new(Codec::Bincode);
            encoder.push(&blob).unwrap();
            let expected = bincode::serde::encode_to_vec(&blob, bincode::config::standard()).unwrap();
            assert_eq!(encoder.finish(), expected);
        }
    }

    #[test]
    fn several_values_are_encoded_as_their_tuple() {
        let value = (1u32, "two".to_owned(), vec![3u64], vec![4u8]);
        let mut encoder = Encoder::new(Codec::Bincode);
        encoder.push(&value.0).unwrap();
        encoder.push(&value.1).unwrap();
        encoder.push(&value.2).unwrap();
        encoder.push(&value.3).unwrap();
        let expected = bincode::serde::encode_to_vec(&value, bincode::config::standard()).unwrap();
        assert_eq!(encoder.finish(), expected);
    }
}
