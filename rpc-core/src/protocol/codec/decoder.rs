//! Decodes the values of one body.

use std::any::{Any, type_name};

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::{Codec, DecodeError, DecodeFailure};
use crate::body::SHARED_FROM;
use crate::protocol::guard::Guard;
use crate::protocol::json::Text;

/// Decodes a body that is one value.
///
/// # Errors
///
/// If the bytes are no `T` or more than one, or pass a limit on depth or on the number of elements.
pub(crate) fn decode<T: DeserializeOwned + 'static>(codec: Codec, body: &Bytes) -> Result<T, DecodeError> {
    match codec {
        Codec::Bincode => {
            let mut decoder = Decoder::new(codec, body);
            let value = decoder.next()?;
            decoder.finish()?;
            Ok(value)
        }
        Codec::Json => {
            let mut text = Text::new(body);
            text.whole().map_err(|failure| DecodeError::new(type_name::<T>(), text.position(), failure))
        }
    }
}

/// Reads the arguments of a method from one body, whose length the frame has already bounded.
#[derive(Debug)]
pub struct Decoder<'a> {
    body: &'a Bytes,
    input: Input<'a>,
    values: usize,
}

/// What is left of the body.
#[derive(Debug)]
enum Input<'a> {
    Bincode(Guard<'a>),
    Json(Text<'a>),
}

impl<'a> Decoder<'a> {
    /// Starts at the first byte of `body`.
    #[must_use]
    pub fn new(codec: Codec, body: &'a Bytes) -> Self {
        let input = match codec {
            Codec::Bincode => Input::Bincode(Guard::new(body)),
            Codec::Json => Input::Json(Text::new(body)),
        };
        Decoder { body, input, values: 0 }
    }

    /// The next value.
    ///
    /// # Errors
    ///
    /// If the bytes are no `T`, or pass a limit on depth or on the number of elements.
    #[expect(clippy::should_implement_trait, reason = "each value has its own type")]
    pub fn next<T: DeserializeOwned + 'static>(&mut self) -> Result<T, DecodeError> {
        self.values += 1;
        let read = match &mut self.input {
            Input::Bincode(guard) => bincode(guard, self.body),
            Input::Json(text) => text.element(),
        };
        read.map_err(|failure| DecodeError::new(type_name::<T>(), self.input.position(), failure))
    }

    /// How many values were asked for.
    pub(crate) fn values(&self) -> usize {
        self.values
    }

    /// Ends the body.
    ///
    /// # Errors
    ///
    /// If bytes are left over: the two sides disagree on the types.
    pub fn finish(mut self) -> Result<(), DecodeError> {
        let ended = match &mut self.input {
            Input::Bincode(guard) => guard.finish(),
            Input::Json(text) => text.finish(),
        };
        ended.map_err(|failure| DecodeError::new("body", self.input.position(), failure))
    }
}

impl Input<'_> {
    fn position(&mut self) -> usize {
        match self {
            Self::Bincode(guard) => guard.position(),
            Self::Json(text) => text.position(),
        }
    }
}

fn bincode<T: DeserializeOwned + 'static>(input: &mut Guard<'_>, body: &Bytes) -> Result<T, DecodeFailure> {
    let mut slot: Option<T> = None;
    let any = &mut slot as &mut dyn Any;
    if let Some(bytes) = any.downcast_mut::<Option<Vec<u8>>>() {
        *bytes = Some(input.bytes()?.to_vec());
    } else if let Some(bytes) = any.downcast_mut::<Option<Bytes>>() {
        *bytes = Some(part(input.bytes()?, body));
    }
    match slot {
        Some(value) => Ok(value),
        None => T::deserialize(input),
    }
}

/// A part of the body, without a copy unless it is short. Whoever keeps what is not copied keeps the whole body, so it must be half of that.
fn part(part: &[u8], body: &Bytes) -> Bytes {
    if part.len() >= SHARED_FROM && part.len() >= body.len() / 2 {
        body.slice_ref(part)
    } else {
        Bytes::copy_from_slice(part)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Debug;

    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::protocol::codec::Encoder;

    fn message<T: DeserializeOwned + Debug + 'static>(body: &[u8]) -> String {
        let body = Bytes::copy_from_slice(body);
        let mut decoder = Decoder::new(Codec::Bincode, &body);
        match decoder.next::<T>() {
            Ok(_) => decoder.finish().unwrap_err().to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum State {
        Active,
        Suspended { until: u64 },
        Renamed(String, Option<bool>),
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct User {
        name: String,
        #[serde(alias = "years")]
        age: u16,
        states: Vec<State>,
        index: BTreeMap<u8, (i32, char)>,
    }

    fn user() -> User {
        User {
            name: "ada".into(),
            age: 36,
            states: vec![State::Active, State::Suspended { until: 1 << 40 }, State::Renamed("b".into(), Some(true))],
            index: BTreeMap::from([(1, (-2, 'ü'))]),
        }
    }

    #[test]
    fn returns_what_was_encoded() {
        let mut encoder = Encoder::new(Codec::Bincode);
        encoder.push(&user()).unwrap();
        encoder.push(&vec![1u8, 2]).unwrap();
        encoder.push(&()).unwrap();
        let body = encoder.finish().into_bytes();
        let mut decoder = Decoder::new(Codec::Bincode, &body);
        assert_eq!(decoder.next::<User>().unwrap(), user());
        assert_eq!(decoder.next::<Vec<u8>>().unwrap(), [1, 2]);
        decoder.next::<()>().unwrap();
        decoder.finish().unwrap();
    }

    #[test]
    fn every_truncation_is_an_error() {
        let mut encoder = Encoder::new(Codec::Bincode);
        encoder.push(&user()).unwrap();
        let body = encoder.finish().into_bytes();
        for end in 0..body.len() {
            let error = Decoder::new(Codec::Bincode, &body.slice(..end)).next::<User>().unwrap_err();
            assert!(error.to_string().contains("ends"), "{end}: {error}");
        }
    }

    #[test]
    fn bytes_left_over_are_an_error() {
        assert_eq!(
            message::<u8>(&[1, 2, 3]),
            "cannot decode `body` at byte 1: 2 bytes are left over; do both sides agree on the types?"
        );
    }

    #[test]
    fn wrong_bytes_say_what_is_wrong_and_where() {
        assert_eq!(message::<(u8, bool)>(&[1, 7]), "cannot decode `(u8, bool)` at byte 2: 7 is no bool");
        assert!(message::<Option<u8>>(&[2]).contains("2 is no option"));
        assert!(message::<char>(&[0xff]).contains("char"));
        assert!(message::<String>(&[1, 0xff]).contains("utf-8"));
        assert!(message::<State>(&[9]).contains("variant index"));
        assert!(message::<u16>(&[252, 0, 0, 1, 0]).contains("U32"));
        assert!(message::<String>(&[5, b'a']).contains("4 bytes are missing"));
    }

    #[test]
    fn self_describing_types_are_refused_by_name() {
        #[derive(Debug, Deserialize)]
        #[serde(untagged)]
        enum Either {
            #[expect(dead_code, reason = "never decoded")]
            Number(u32),
        }
        #[derive(Debug, Deserialize)]
        struct Flat {
            #[serde(flatten)]
            #[expect(dead_code, reason = "never decoded")]
            rest: BTreeMap<String, u32>,
        }
        assert!(message::<Either>(&[1]).contains("untagged"));
        assert!(message::<Flat>(&[1, 1, b'a', 1]).contains("flatten"));
    }

    #[test]
    fn the_text_of_an_error_does_not_grow_with_the_body() {
        #[derive(Debug)]
        struct Picky;
        impl<'de> Deserialize<'de> for Picky {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Err(serde::de::Error::custom(text))
            }
        }
        let mut encoder = Encoder::new(Codec::Bincode);
        encoder.push(&"ü".repeat(1 << 20)).unwrap();
        assert!(message::<Picky>(&encoder.finish().into_bytes()).len() < 1_000);
    }

    /// Whether so many bytes after `padding` others are a part of the body when they are decoded.
    fn is_part(length: usize, padding: usize) -> bool {
        let mut encoder = Encoder::new(Codec::Bincode);
        encoder.push(&vec![0u8; padding]).unwrap();
        encoder.push(&Bytes::from(vec![7; length])).unwrap();
        let body = encoder.finish().into_bytes();
        let mut decoder = Decoder::new(Codec::Bincode, &body);
        decoder.next::<Vec<u8>>().unwrap();
        let bytes = decoder.next::<Bytes>().unwrap();
        decoder.finish().unwrap();
        assert!(bytes == vec![7; length]);
        body.as_ptr_range().contains(&bytes.as_ptr())
    }

    #[test]
    fn long_bytes_are_a_part_of_the_body() {
        assert!(is_part(SHARED_FROM, 0));
        assert!(is_part(SHARED_FROM, SHARED_FROM - 10));
        assert!(is_part(1 << 20, 100_000));
    }

    #[test]
    fn bytes_that_are_short_or_less_than_half_of_the_body_are_copied() {
        assert!(!is_part(0, 0));
        assert!(!is_part(SHARED_FROM - 1, 0));
        assert!(!is_part(SHARED_FROM, SHARED_FROM + 10));
        assert!(!is_part(100_000, 1 << 20));
    }
}
