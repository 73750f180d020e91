//! Why a value cannot be encoded or decoded.

use std::fmt::{self, Display, Write};

/// What a type's own message may add to an error, in bytes: it can quote the body.
const QUOTE_LIMIT: usize = 256;

/// A value that the codec cannot carry.
#[derive(Debug, thiserror::Error)]
#[error("{}cannot encode `{type_name}`: {reason}", Position(*argument))]
pub struct EncodeError {
    argument: Option<usize>,
    type_name: &'static str,
    reason: EncodeFailure,
}

/// Bytes that are not the expected value.
#[derive(Debug, thiserror::Error)]
#[error("{}cannot decode `{type_name}` at byte {offset}: {reason}", Position(*argument))]
pub struct DecodeError {
    argument: Option<usize>,
    type_name: &'static str,
    offset: usize,
    reason: DecodeFailure,
}

impl EncodeError {
    pub(super) fn new(type_name: &'static str, reason: EncodeFailure) -> Self {
        EncodeError { argument: None, type_name, reason }
    }

    /// Says which argument failed, counted from 1.
    pub(crate) fn in_argument(mut self, position: usize) -> Self {
        self.argument = Some(position);
        self
    }
}

impl DecodeError {
    pub(super) fn new(type_name: &'static str, offset: usize, reason: DecodeFailure) -> Self {
        DecodeError { argument: None, type_name, offset, reason }
    }

    /// Says which argument failed, counted from 1.
    pub(crate) fn in_argument(mut self, position: usize) -> Self {
        self.argument = Some(position);
        self
    }
}

struct Position(Option<usize>);

impl Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(position) => write!(f, "argument {position}: "),
            None => Ok(()),
        }
    }
}

/// What stopped an encoding.
#[derive(Debug, thiserror::Error)]
pub(in crate::protocol) enum EncodeReason {
    #[error("field `{field}` of `{name}` is skipped, but bincode needs every field; remove `skip_serializing_if`")]
    Skipped { name: &'static str, field: &'static str },
    #[error("a sequence does not know its length; collect it into a `Vec` first")]
    UnknownSequence,
    #[error("a map does not know its length; bincode cannot carry `#[serde(flatten)]`, use a plain field")]
    UnknownMap,
    #[error("`{name}` declares {declared} parts but writes {written}")]
    Count { name: &'static str, declared: usize, written: usize },
    #[error("it is nested deeper than {limit} levels")]
    Depth { limit: usize },
    #[error("{number} is no number in json")]
    NotFinite { number: f64 },
    #[error("a key of a map is neither text, number nor boolean; json has no others")]
    Key,
    #[error("json writes `Some` of what is null like `None`; use an enum")]
    SomeNull,
    #[error("{0}")]
    Custom(Box<str>),
}

/// What stopped a decoding.
#[derive(Debug, thiserror::Error)]
pub(in crate::protocol) enum DecodeReason {
    #[error("the body ends here, but {missing} bytes are missing")]
    Ends { missing: usize },
    #[error("{0} is no bool")]
    Bool(u8),
    #[error("{0} is no option, which begins with 0 or 1")]
    Option(u8),
    #[error("these bytes are no char")]
    Char,
    #[error("a string is not utf-8")]
    Utf8,
    #[error("it is nested deeper than {limit} levels")]
    Depth { limit: usize },
    #[error("a sequence claims {claimed} elements, but this body may hold {left} more")]
    Elements { claimed: u64, left: usize },
    #[error("{left} of the elements of a sequence were not read")]
    Unread { left: usize },
    #[error("{left} bytes are left over; do both sides agree on the types?")]
    Trailing { left: usize },
    #[error("bincode does not say what comes next, so {what} cannot be decoded; use a plain enum or struct")]
    SelfDescribing { what: &'static str },
    #[error("{0}")]
    Custom(Box<str>),
}

/// The serde error of the encoding guard: one word, so that results stay in registers.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(in crate::protocol) struct EncodeFailure(Box<EncodeReason>);

/// The serde error of the decoding guard: one word, so that results stay in registers.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(in crate::protocol) struct DecodeFailure(Box<DecodeReason>);

impl From<EncodeReason> for EncodeFailure {
    #[cold]
    fn from(reason: EncodeReason) -> Self {
        EncodeFailure(Box::new(reason))
    }
}

impl From<DecodeReason> for DecodeFailure {
    #[cold]
    fn from(reason: DecodeReason) -> Self {
        DecodeFailure(Box::new(reason))
    }
}

impl serde::ser::Error for EncodeFailure {
    fn custom<T: Display>(message: T) -> Self {
        EncodeReason::Custom(quote(message)).into()
    }
}

impl serde::de::Error for DecodeFailure {
    fn custom<T: Display>(message: T) -> Self {
        DecodeReason::Custom(quote(message)).into()
    }
}

fn quote(message: impl Display) -> Box<str> {
    let mut quote = Quote(String::new());
    // Running into the limit is the only error, and cuts the text as intended.
    if write!(quote, "{message}").is_err() {
        quote.0.push_str("..");
    }
    quote.0.into()
}

/// Takes the first [`QUOTE_LIMIT`] bytes of a text.
struct Quote(String);

impl Write for Quote {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = QUOTE_LIMIT - self.0.len();
        let fits = text.floor_char_boundary(room);
        self.0.push_str(&text[..fits]);
        if fits < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}
