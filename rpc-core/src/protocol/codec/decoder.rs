//! Decodes the values of one body.

use std::any::{Any, type_name};

use serde::de::DeserializeOwned;

use super::{Codec, DecodeError, DecodeFailure};
use crate::protocol::guard::Guard;
use crate::protocol::json::Text;

/// Decodes a body that is one value.
///
/// # Errors
///
/// If the bytes are no `T` or more than one, or pass a limit on depth or on the number of elements.
pub(crate) fn decode<T: DeserializeOwned + 'static>(codec: Codec, body: &[u8]) -> Result<T, DecodeError> {
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
    body: Body<'a>,
    values: usize,
}

#[derive(Debug)]
enum Body<'a> {
    Bincode(Guard<'a>),
    Json(Text<'a>),
}

impl<'a> Decoder<'a> {
    /// Starts at the first byte of `body`.
    #[must_use]
    pub fn new(codec: Codec, body: &'a [u8]) -> Self {
        let body = match codec {
            Codec::Bincode => Body::Bincode(Guard::new(body)),
            Codec::Json => Body::Json(Text::new(body)),
        };
        Decoder { body, values: 0 }
    }

    /// The next value.
    ///
    /// # Errors
    ///
    /// If the bytes are no `T`, or pass a limit on depth or on the number of elements.
    #[expect(clippy::should_implement_trait, reason = "each value has its own type")]
    pub fn next<T: DeserializeOwned + 'static>(&mut self) -> Result<T, DecodeError> {
        self.values += 1;
        let read = match &mut self.body {
            Body::Bincode(guard) => bincode(guard),
            Body::Json(text) => text.element(),
        };
        read.map_err(|failure| DecodeError::new(type_name::<T>(), self.body.position(), failure))
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
        let ended = match &mut self.body {
            Body::Bincode(guard) => guard.finish(),
            Body::Json(text) => text.finish(),
        };
        ended.map_err(|failure| DecodeError::new("body", self.body.position(), failure))
    }
}

impl Body<'_> {
    fn position(&mut self) -> usize {
        match self {
            Self::Bincode(guard) => guard.position(),
            Self::Json(text) => text.position(),
        }
    }
}

fn bincode<T: DeserializeOwned + 'static>(body: &mut Guard<'_>) -> Result<T, DecodeFailure> {
    let mut slot: Option<T> = None;
    if let Some(bytes) = (&mut slot as &mut dyn Any).downcast_mut::<Option<Vec<u8>>>() {
        *bytes = Some(body.bytes()?.to_vec());
    }
    match slot {
        Some(value) => Ok(value),
        None => T::deserialize(body),
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
        let mut decoder = Decoder::new(Codec::Bincode, body);
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
        let body = encoder.finish();
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
        let body = encoder.finish();
        for end in 0..body.len() {
            let error = Decoder::new(Codec::Bincode, &body[..end]).next::<User>().unwrap_err();
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
        assert!(message::<Picky>(&encoder.finish()).len() < 1_000);
    }
}
