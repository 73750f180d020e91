//! Checks that a type writes what it reads.
//!
//! A serializer without output takes a value that the tracing made, and walks along what is known of its type. What bincode
//! writes alike counts as alike: a newtype and what it holds, bytes and a sequence of `u8`. Where nothing is known, nothing is
//! checked.

mod compound;
mod place;
mod variant;
mod written;

#[cfg(test)]
mod accepts;
#[cfg(test)]
mod by_hand;
#[cfg(test)]
mod refuses;

use std::fmt::{self, Display};

use serde::Serialize;

use super::ShapeError;
use super::definition::{Definition, Form, path};
use super::trace::MAX_DEPTH;
use place::Place;

/// Whether `Serialize` writes `value` as its type was seen to be read.
pub(super) fn verify<T: Serialize>(value: &T, definitions: &[Definition], name: &str) -> Result<(), ShapeError> {
    let mut walk = Walk { definitions, stack: Vec::new(), depth: 0 };
    let result = walk.part(0, 0, value);
    result.map_err(|disagreement| disagreement.at(path(definitions, name, &walk.stack)))
}

/// Where a value is being written; after an error the stack still leads to it.
#[derive(Debug)]
struct Walk<'d> {
    definitions: &'d [Definition],
    stack: Vec<(usize, usize)>,
    depth: usize,
}

impl<'d> Walk<'d> {
    /// Writes one place of a type.
    fn part<T: Serialize + ?Sized>(&mut self, definition: usize, part: usize, value: &T) -> Result<(), Disagreement> {
        let definitions = self.definitions;
        self.stack.push((definition, part));
        self.value(&definitions[definition].parts[part].forms, value)?;
        self.stack.pop();
        Ok(())
    }

    /// Writes what should have one of these forms. Deeper values than the tracing follows are left to the codec.
    fn value<T: Serialize + ?Sized>(&mut self, forms: &'d [Form], value: &T) -> Result<(), Disagreement> {
        if forms.is_empty() || self.depth == MAX_DEPTH {
            return Ok(());
        }
        self.depth += 1;
        value.serialize(Place { walk: self, forms })?;
        self.depth -= 1;
        Ok(())
    }
}

/// How a type writes something else than it reads.
#[derive(Debug)]
enum Disagreement {
    Differs { how: String, advice: &'static str },
    Refused(String),
}

impl Disagreement {
    fn differs(read: impl Display, written: impl Display, advice: &'static str) -> Self {
        let how = format!("`Deserialize` reads {read} where `Serialize` writes {written}");
        Disagreement::Differs { how, advice }
    }

    fn at(self, path: String) -> ShapeError {
        match self {
            Disagreement::Differs { how, advice } => ShapeError::Differs { path, how, advice },
            Disagreement::Refused(message) => ShapeError::Refused { path, source: message.into() },
        }
    }
}

impl Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the type writes something else than it reads")
    }
}

impl std::error::Error for Disagreement {}

impl serde::ser::Error for Disagreement {
    fn custom<T: Display>(message: T) -> Self {
        Disagreement::Refused(message.to_string())
    }
}
