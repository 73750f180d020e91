//! What a server says when a method gave no answer.

/// Why a method gave no answer, as a number on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum StatusCode {
    BadRequest = 1,
    UnknownMethod = 2,
    UnsupportedCodec = 3,
    Overloaded = 4,
    DeadlineExceeded = 5,
    Internal = 6,
    AnswerTooLarge = 7,
}

impl StatusCode {
    /// The code's number in the protocol.
    pub(crate) const fn byte(self) -> u8 {
        self as u8
    }
}

/// A code and a message for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    code: StatusCode,
    message: String,
}

impl Status {
    pub(crate) fn new(code: StatusCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The status behind a number that came over the wire; a number of a later version counts as internal.
    pub(crate) fn from_wire(code: u8, message: String) -> Self {
        let code = match code {
            1 => StatusCode::BadRequest,
            2 => StatusCode::UnknownMethod,
            3 => StatusCode::UnsupportedCodec,
            4 => StatusCode::Overloaded,
            5 => StatusCode::DeadlineExceeded,
            7 => StatusCode::AnswerTooLarge,
            _ => StatusCode::Internal,
        };
        Self { code, message }
    }

    pub(crate) const fn code(&self) -> StatusCode {
        self.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_keep_their_numbers() {
        for (number, code) in [
            (1, StatusCode::BadRequest),
            (2, StatusCode::UnknownMethod),
            (3, StatusCode::UnsupportedCodec),
            (4, StatusCode::Overloaded),
            (5, StatusCode::DeadlineExceeded),
            (6, StatusCode::Internal),
            (7, StatusCode::AnswerTooLarge),
        ] {
            assert_eq!(code.byte(), number);
            assert_eq!(Status::from_wire(number, String::new()).code(), code);
        }
        assert_eq!(Status::from_wire(200, String::new()).code(), StatusCode::Internal);
    }
}
