//! Encodes the values of one body.

use std::any::{Any, type_name};
use std::cell::Cell;

use bytes::Bytes;
use serde::Serialize;

use super::{Codec, EncodeError, EncodeFailure};
use crate::body::{Body, SHARED_FROM};
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
pub(crate) fn encode<T: Serialize + 'static>(codec: Codec, value: &T) -> Result<Body, EncodeError> {
    let mut body = SPARE.take();
    let tail = match codec {
        Codec::Bincode => bincode(value, &mut body),
        Codec::Json => json::encode(value, &mut body).map(|()| None),
    };
    match tail {
        Ok(tail) => Ok(finished(body, tail)),
        Err(failure) => Err(EncodeError::new(type_name::<T>(), failure)),
    }
}

/// Writes the arguments of a method into one body.
#[derive(Debug)]
pub struct Encoder {
    codec: Codec,
    body: Vec<u8>,
    /// The last value, if it is shared instead of written.
    tail: Option<Bytes>,
    values: usize,
}

impl Encoder {
    /// Starts an empty body.
    #[must_use]
    pub fn new(codec: Codec) -> Self {
        Encoder { codec, body: SPARE.take(), tail: None, values: 0 }
    }

    /// Appends `value`.
    ///
    /// # Errors
    ///
    /// If the codec cannot carry the value; the body is then as it was before.
    pub fn push<T: Serialize + 'static>(&mut self, value: &T) -> Result<(), EncodeError> {
        if let Some(tail) = self.tail.take() {
            self.body.extend_from_slice(&tail);
        }
        let start = self.body.len();
        self.values += 1;
        let tail = match self.codec {
            Codec::Bincode => bincode(value, &mut self.body),
            Codec::Json => {
                self.body.push(if start == 0 { b'[' } else { b',' });
                json::encode(value, &mut self.body).map(|()| None)
            }
        };
        match tail {
            Ok(tail) => self.tail = tail,
            Err(failure) => {
                self.body.truncate(start);
                return Err(EncodeError::new(type_name::<T>(), failure));
            }
        }
        Ok(())
    }

    /// How many values were pushed, the last one included if it failed.
    pub(crate) fn values(&self) -> usize {
        self.values
    }

    /// The body.
    #[must_use]
    pub fn finish(mut self) -> Body {
        match self.codec {
            Codec::Bincode => {}
            Codec::Json if self.body.is_empty() => self.body.extend_from_slice(b"[]"),
            Codec::Json => self.body.push(b']'),
        }
        finished(self.body, self.tail)
    }
}

/// The body, and what it was written into for the next one.
fn finished(mut written: Vec<u8>, tail: Option<Bytes>) -> Body {
    if written.len() >= COPIED_BELOW {
        return Body::new(written.into(), tail);
    }
    let body = Body::new(Bytes::copy_from_slice(&written), tail);
    written.clear();
    SPARE.set(written);
    body
}

/// Appends `value`, or what precedes its bytes if they are to follow as the tail.
fn bincode<T: Serialize + 'static>(value: &T, body: &mut Vec<u8>) -> Result<Option<Bytes>, EncodeFailure> {
    let any = value as &dyn Any;
    if let Some(bytes) = any.downcast_ref::<Bytes>()
        && bytes.len() >= SHARED_FROM
    {
        return guard::encode_length(bytes.len(), body).map(|()| Some(bytes.clone()));
    }
    match any.downcast_ref::<Vec<u8>>() {
        Some(bytes) => guard::encode_bytes(bytes, body)?,
        None => guard::encode(value, body)?,
    }
    Ok(None)
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
        assert_eq!(encoder.finish().into_bytes(), [7u8][..], "a failed push leaves no bytes");
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
            assert_eq!(encoder.finish().into_bytes(), expected);
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
        assert_eq!(encoder.finish().into_bytes(), expected);
    }

    #[derive(Serialize)]
    struct Holder {
        id: u32,
        bytes: Bytes,
    }

    fn large(byte: u8) -> Bytes {
        vec![byte; SHARED_FROM].into()
    }

    fn body(push: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>) -> Body {
        let mut encoder = Encoder::new(Codec::Bincode);
        push(&mut encoder).unwrap();
        encoder.finish()
    }

    #[test]
    fn writes_long_bytes_as_bincode_does_wherever_they_stand() {
        fn plain(value: impl Serialize) -> Vec<u8> {
            bincode::serde::encode_to_vec(value, bincode::config::standard()).unwrap()
        }
        let (one, two) = (large(1), Bytes::from(vec![2; 70_000]));
        let holder = Holder { id: 7, bytes: one.clone() };
        let last = body(|encoder| encoder.push(&"a").and_then(|()| encoder.push(&one)));
        let first = body(|encoder| encoder.push(&one).and_then(|()| encoder.push(&"a")));
        let before_nothing = body(|encoder| encoder.push(&one).and_then(|()| encoder.push(&())));
        let both = body(|encoder| encoder.push(&one).and_then(|()| encoder.push(&two)));
        assert_eq!(last.into_bytes(), plain(("a", &one)));
        assert_eq!(first.into_bytes(), plain((&one, "a")));
        assert_eq!(before_nothing.into_bytes(), plain((&one, ())));
        assert_eq!(both.into_bytes(), plain((&one, &two)));
        assert_eq!(body(|encoder| encoder.push(&two)).into_bytes(), plain(&two));
        assert_eq!(body(|encoder| encoder.push(&holder)).into_bytes(), plain(&holder));
        assert_eq!(encode(Codec::Bincode, &one).unwrap().into_bytes(), plain(&one));
    }

    #[test]
    fn long_bytes_at_the_end_are_shared() {
        let (one, two) = (large(1), large(2));
        for body in [
            body(|encoder| encoder.push(&two)),
            body(|encoder| encoder.push(&one).and_then(|()| encoder.push(&two))),
            encode(Codec::Bincode, &two).unwrap(),
        ] {
            let [_, tail] = body.pieces() else { panic!("two pieces") };
            assert_eq!(tail.as_ptr(), two.as_ptr());
        }
    }

    #[test]
    fn shorter_bytes_and_those_before_others_are_copied() {
        let shorter = large(1).slice(1..);
        assert_eq!(body(|encoder| encoder.push(&shorter)).pieces().len(), 1);
        assert_eq!(body(|encoder| encoder.push(&large(1)).and_then(|()| encoder.push(&7u8))).pieces().len(), 1);
        let json = encode(Codec::Json, &large(1)).unwrap();
        assert_eq!(json.pieces().len(), 1);
    }

    #[test]
    fn a_failed_push_leaves_long_bytes_before_it() {
        let mut encoder = Encoder::new(Codec::Bincode);
        encoder.push(&large(1)).unwrap();
        encoder.push(&Streaming).unwrap_err();
        let expected = body(|encoder| encoder.push(&large(1)));
        assert_eq!(encoder.finish().into_bytes(), expected.into_bytes());
    }
}
