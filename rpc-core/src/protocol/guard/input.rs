//! Where bincode reads from.

use bincode::de::read::{BorrowReader, Reader};
use bincode::error::DecodeError;

use crate::protocol::codec::{DecodeFailure, DecodeReason};

/// The bytes not yet read. bincode's own reader does not tell where it is.
pub(super) struct Input<'de> {
    pub(super) rest: &'de [u8],
}

impl Reader for Input<'_> {
    #[inline]
    fn read(&mut self, bytes: &mut [u8]) -> Result<(), DecodeError> {
        bytes.copy_from_slice(self.take_bytes(bytes.len())?);
        Ok(())
    }

    #[inline]
    fn peek_read(&mut self, n: usize) -> Option<&[u8]> {
        self.rest.get(..n)
    }

    #[inline]
    fn consume(&mut self, n: usize) {
        self.rest = self.rest.get(n..).unwrap_or_default();
    }
}

impl<'de> BorrowReader<'de> for Input<'de> {
    #[inline]
    fn take_bytes(&mut self, length: usize) -> Result<&'de [u8], DecodeError> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            let additional = length - self.rest.len();
            return Err(DecodeError::UnexpectedEnd { additional });
        };
        self.rest = rest;
        Ok(taken)
    }
}

impl From<DecodeError> for DecodeFailure {
    #[cold]
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::UnexpectedEnd { additional } => DecodeReason::Ends { missing: additional },
            DecodeError::InvalidBooleanValue(byte) => DecodeReason::Bool(byte),
            DecodeError::InvalidCharEncoding(_) => DecodeReason::Char,
            DecodeError::Utf8 { .. } => DecodeReason::Utf8,
            DecodeError::InvalidIntegerType { expected, found } => DecodeReason::Custom(
                format!("an integer is encoded as {found:?} where {expected:?} is expected").into(),
            ),
            other => DecodeReason::Custom(format!("bincode refuses the bytes: {other:?}").into()),
        }
        .into()
    }
}
