//! What is echoed, and the check that it came back.

use anyhow::ensure;
use bytes::Bytes;

/// Bytes that are compared at either end of an answer.
const COMPARED: usize = 8;

/// The least that can be checked.
pub(crate) const SMALLEST: usize = 2 * COMPARED;

/// The payloads of all callers. Each has its own, so that an answer to another's call is noticed; all are parts of one buffer, so that
/// they cost no memory.
#[derive(Debug)]
pub(crate) struct Payloads {
    size: usize,
    bytes: Bytes,
}

impl Payloads {
    /// Of `size` bytes, for so many callers.
    pub(crate) fn new(size: usize, callers: usize) -> Self {
        // Fibonacci hashing: no two stretches of eight are the same.
        let bytes = (0..(size + callers) as u32).map(|at| (at.wrapping_mul(0x9E37_79B1) >> 24) as u8 ^ (at >> 8) as u8);
        Self { size, bytes: bytes.collect() }
    }

    /// The payload of the caller of this number.
    pub(crate) fn of(&self, caller: usize) -> Bytes {
        self.bytes.slice(caller..caller + self.size)
    }
}

/// Looks at the length and at both ends of an answer.
pub(crate) fn check(sent: &[u8], answer: &[u8]) -> anyhow::Result<()> {
    ensure!(answer.len() == sent.len(), "the answer has {} bytes instead of {}", answer.len(), sent.len());
    let ends = |bytes: &[u8]| (bytes.first_chunk::<COMPARED>().copied(), bytes.last_chunk::<COMPARED>().copied());
    ensure!(ends(answer) == ends(sent), "the answer is that of another call");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_caller_has_a_payload_of_its_own() {
        let payloads = Payloads::new(SMALLEST, 512);
        let starts: HashSet<_> = (0..512).map(|caller| payloads.of(caller)[..COMPARED].to_vec()).collect();
        assert_eq!(starts.len(), 512);
    }

    #[test]
    fn an_answer_of_another_length_or_to_another_call_is_refused() {
        let payloads = Payloads::new(64, 2);
        check(&payloads.of(0), &payloads.of(0)).unwrap();
        check(&payloads.of(0), &payloads.of(0)[1..]).unwrap_err();
        check(&payloads.of(0), &payloads.of(1)).unwrap_err();
    }
}
