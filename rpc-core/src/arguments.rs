//! The arguments of one method.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::hash_key;
use crate::protocol::codec::{DecodeError, Decoder, EncodeError, Encoder};
use crate::protocol::shape::{ShapeError, ShapeList};

/// The arguments of one method as a list of pairs, `(a, (b, (c, ())))`, so that their number has no limit.
pub trait Arguments: Sized + Send + 'static {
    /// Appends every argument in turn.
    ///
    /// # Errors
    ///
    /// If the codec cannot carry one of them; the error names its position.
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError>;

    /// Reads every argument in turn.
    ///
    /// # Errors
    ///
    /// If the bytes are not these arguments; the error names the position of the first that does not fit.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError>;

    /// Appends the shape of every argument in turn.
    ///
    /// # Errors
    ///
    /// If bincode cannot carry a type.
    fn shapes(list: &mut ShapeList) -> Result<(), ShapeError>;

    /// The hash key of the argument at `position`, counted from 0; `None` if there is no such argument.
    ///
    /// # Errors
    ///
    /// If the argument cannot be encoded.
    fn hash_key(&self, position: usize) -> Result<Option<Bytes>, EncodeError>;
}

impl Arguments for () {
    fn encode(&self, _encoder: &mut Encoder) -> Result<(), EncodeError> {
        Ok(())
    }

    fn decode(_decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }

    fn shapes(_list: &mut ShapeList) -> Result<(), ShapeError> {
        Ok(())
    }

    fn hash_key(&self, _position: usize) -> Result<Option<Bytes>, EncodeError> {
        Ok(None)
    }
}

impl<T, Rest> Arguments for (T, Rest)
where
    T: Serialize + DeserializeOwned + Send + 'static,
    Rest: Arguments,
{
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        if let Err(error) = encoder.push(&self.0) {
            return Err(error.in_argument(encoder.values()));
        }
        self.1.encode(encoder)
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        match decoder.next() {
            Ok(first) => Ok((first, Rest::decode(decoder)?)),
            Err(error) => Err(error.in_argument(decoder.values())),
        }
    }

    fn shapes(list: &mut ShapeList) -> Result<(), ShapeError> {
        list.push::<T>()?;
        Rest::shapes(list)
    }

    fn hash_key(&self, position: usize) -> Result<Option<Bytes>, EncodeError> {
        match position.checked_sub(1) {
            None => hash_key::of(&self.0).map(Some),
            Some(position) => self.1.hash_key(position),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::codec::Codec;

    type Three = (u32, (String, (Vec<u8>, ())));

    fn three() -> Three {
        (7, ("seven".into(), (vec![7, 7], ())))
    }

    fn body(arguments: &impl Arguments) -> Bytes {
        let mut encoder = Encoder::new(Codec::Bincode);
        arguments.encode(&mut encoder).unwrap();
        encoder.finish().into_bytes()
    }

    #[test]
    fn are_encoded_one_after_another() {
        assert_eq!(body(&three()), &b"\x07\x05seven\x02\x07\x07"[..]);
        assert_eq!(body(&()), Bytes::new());
    }

    #[test]
    fn arrive_as_they_were_sent() {
        let body = body(&three());
        let mut decoder = Decoder::new(Codec::Bincode, &body);
        assert_eq!(Three::decode(&mut decoder).unwrap(), three());
        decoder.finish().unwrap();
    }

    #[test]
    fn a_decoding_error_names_the_position() {
        let body = Bytes::from_static(b"\x07\x05sev");
        let mut decoder = Decoder::new(Codec::Bincode, &body);
        let error = Three::decode(&mut decoder).unwrap_err().to_string();
        assert!(error.starts_with("argument 2: cannot decode `alloc::string::String` at byte 2"), "{error}");
    }

    #[test]
    fn an_encoding_error_names_the_position() {
        type Deep = Option<Box<Link>>;
        #[derive(Serialize, serde::Deserialize)]
        struct Link(Deep);
        let deep = (0..100).fold(None, |inner, _| Some(Box::new(Link(inner))));
        let mut encoder = Encoder::new(Codec::Bincode);
        let error = (1u8, (deep, ())).encode(&mut encoder).unwrap_err();
        assert!(error.to_string().starts_with("argument 2: cannot encode"));
    }

    #[test]
    fn give_the_hash_key_of_one_of_them() {
        let keys: Vec<_> = (0..4).map(|position| three().hash_key(position).unwrap()).collect();
        assert_eq!(keys[0].as_deref(), Some(&b"7"[..]));
        assert_eq!(keys[1].as_deref(), Some(&b"seven"[..]));
        assert_eq!(keys[2].as_deref(), Some(&[2, 7, 7][..]));
        assert_eq!(keys[3], None);
    }
}
