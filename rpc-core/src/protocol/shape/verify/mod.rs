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

/// Whether `Serialize` writes `value` as its type was seen to be read. A value that it refuses is no disagreement: such a value
/// cannot travel, and says so when it tries.
pub(super) fn verify<T: Serialize>(value: &T, definitions: &[Definition], name: &str) -> Result<(), ShapeError> {
    let mut walk = Walk { definitions, stack: Vec::new(), depth: 0 };
    match walk.part(0, 0, value) {
        Ok(()) | Err(Disagreement::Refused) => Ok(()),
        Err(Disagreement::Differs { how, advice }) => {
            Err(ShapeError::Differs { path: path(definitions, name, &walk.stack), how, advice })
        }
    }
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
    Differs {
        how: String,
        advice: &'static str,
    },
    /// `Serialize` fails of itself.
    Refused,
}

impl Disagreement {
    fn differs(read: impl Display, written: impl Display, advice: &'static str) -> Self {
        let how = format!("`Deserialize` reads {read} where `Serialize` writes {written}");
        Disagreement::Differs { how, advice }
    }
}

impl Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the type writes something else than it reads")
    }
}

impl std::error::Error for Disagreement {}

impl serde::ser::Error for Disagreement {
    fn custom<T: Display>(_: T) -> Self {
        Disagreement::Refused
    }
}
