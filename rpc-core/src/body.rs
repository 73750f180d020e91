//! What was encoded, on its way out.

use std::slice;

use bytes::Bytes;

/// Pieces of at least so many bytes are neither copied into what is sent nor out of what was read: they are shared.
pub(crate) const SHARED_FROM: usize = 16 * 1024;

/// An encoded body: one piece, or two if the last value was long enough to be shared with whoever gave it.
///
/// It is no larger than a piece, for most bodies are small, and are moved from hand to hand.
#[derive(Debug, Clone)]
pub struct Body(Pieces);

#[derive(Debug, Clone)]
enum Pieces {
    Whole(Bytes),
    /// What is written, and the tail that follows it.
    Tailed(Box<[Bytes; 2]>),
}

impl Body {
    pub(crate) fn new(written: Bytes, tail: Option<Bytes>) -> Self {
        Self(match tail {
            None => Pieces::Whole(written),
            Some(tail) => Pieces::Tailed(Box::new([written, tail])),
        })
    }

    /// The pieces, in order.
    pub(crate) fn pieces(&self) -> &[Bytes] {
        match &self.0 {
            Pieces::Whole(whole) => slice::from_ref(whole),
            Pieces::Tailed(pieces) => &**pieces,
        }
    }

    /// Bytes of all pieces.
    pub(crate) fn len(&self) -> usize {
        self.pieces().iter().map(Bytes::len).sum()
    }

    /// The body as one piece; copied if it is more.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        match self.0 {
            Pieces::Whole(whole) => whole,
            Pieces::Tailed(pieces) => pieces.concat().into(),
        }
    }
}

impl From<Bytes> for Body {
    fn from(whole: Bytes) -> Self {
        Self(Pieces::Whole(whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_no_larger_than_a_piece() {
        assert_eq!(size_of::<Body>(), size_of::<Bytes>());
    }

    #[test]
    fn becomes_one_piece_and_copies_nothing_if_it_is_one() {
        let piece = Bytes::from(vec![7; 3]);
        let whole = Body::from(piece.clone());
        assert_eq!((whole.len(), whole.into_bytes().as_ptr()), (3, piece.as_ptr()));
        let tailed = Body::new(piece, Some(Bytes::from_static(b"tail")));
        assert_eq!(tailed.len(), 7);
        assert_eq!(tailed.into_bytes(), &b"\x07\x07\x07tail"[..]);
    }
}
