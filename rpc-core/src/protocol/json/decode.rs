//! Reads the values of one body.

use serde::de::{DeserializeOwned, Error as _};

use super::depth::Shallow;
use crate::protocol::codec::{DecodeFailure, DecodeReason};

/// A body: one value, or the array of the arguments, which is read one by one, since each has its own type.
#[derive(Debug)]
pub(in crate::protocol) struct Text<'de> {
    body: &'de [u8],
    /// The body, once it is known to be text.
    text: &'de str,
    /// The offset of the next byte.
    position: usize,
    /// The offset of the fault, if there was one.
    fault: Option<usize>,
    /// Whether the array's bracket was read.
    open: bool,
}

impl<'de> Text<'de> {
    pub(in crate::protocol) fn new(body: &'de [u8]) -> Self {
        Text { body, text: "", position: 0, fault: None, open: false }
    }

    /// The offset of the next byte, or of the fault.
    pub(in crate::protocol) fn position(&self) -> usize {
        self.fault.unwrap_or(self.position)
    }

    /// The body as one value.
    pub(in crate::protocol) fn whole<T: DeserializeOwned>(&mut self) -> Result<T, DecodeFailure> {
        self.check()?;
        let value = self.value()?;
        self.end()?;
        Ok(value)
    }

    /// The next element of the array.
    pub(in crate::protocol) fn element<T: DeserializeOwned>(&mut self) -> Result<T, DecodeFailure> {
        let first = !self.open;
        self.open()?;
        match self.peek() {
            Some(b']') => return Err(failure("the array ends here, but the method takes more arguments")),
            Some(b',') if !first => self.position += 1,
            _ if !first => return Err(failure("expected `,` or `]`")),
            _ => {}
        }
        self.value()
    }

    /// Ends the array, and the body.
    pub(in crate::protocol) fn finish(&mut self) -> Result<(), DecodeFailure> {
        let empty = !self.open;
        self.open()?;
        match self.peek() {
            Some(b']') => self.position += 1,
            Some(byte) if empty || byte == b',' => {
                return Err(failure("the array holds more arguments than the method takes"));
            }
            _ => return Err(failure("expected `,` or `]`")),
        }
        self.end()
    }

    /// All is checked before anything is read: a parser need not look into what it skips.
    fn check(&mut self) -> Result<(), DecodeFailure> {
        match std::str::from_utf8(self.body) {
            Ok(text) => self.text = text,
            Err(error) => {
                self.fault = Some(error.valid_up_to());
                return Err(DecodeReason::Utf8.into());
            }
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), DecodeFailure> {
        if self.open {
            return Ok(());
        }
        self.check()?;
        if self.peek() != Some(b'[') {
            return Err(failure("the arguments are no array"));
        }
        self.position += 1;
        self.open = true;
        Ok(())
    }

    /// The next byte that is no whitespace, which then is the next byte.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text[self.position..].trim_start_matches([' ', '\t', '\n', '\r']);
        self.position = self.text.len() - rest.len();
        rest.bytes().next()
    }

    fn value<T: DeserializeOwned>(&mut self) -> Result<T, DecodeFailure> {
        let rest = &self.text[self.position..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Shallow<T>>();
        match values.next() {
            Some(Ok(Shallow(value))) => {
                self.position += values.byte_offset();
                Ok(value)
            }
            Some(Err(error)) => {
                self.fault = Some(self.position + offset(rest, &error));
                let text = error.to_string();
                let place = format!(" at line {} column {}", error.line(), error.column());
                Err(failure(text.strip_suffix(&place).unwrap_or(&text)))
            }
            None => {
                self.fault = Some(self.text.len());
                Err(failure("the body ends where a value is expected"))
            }
        }
    }

    fn end(&mut self) -> Result<(), DecodeFailure> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(DecodeReason::Trailing { left: self.text.len() - self.position }.into()),
        }
    }
}

fn failure(what: &str) -> DecodeFailure {
    DecodeFailure::custom(what)
}

/// Where in `text` an error was met: serde_json counts lines and columns.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>() + error.column()
}
