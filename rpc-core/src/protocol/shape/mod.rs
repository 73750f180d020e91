//! The shape of a type as its bytes show it.
//!
//! bincode carries no schema, so each side computes the shape of its types once, and the two compare fingerprints before
//! the first call. A shape is text, a line for each value, field and variant:
//!
//! ```text
//! value: struct
//! value.name: str
//! value.parent: option<^value>
//! value.state: enum
//! value.state::Active: unit
//! value.state::Suspended: struct
//! value.state::Suspended.until: u64
//! ```
//!
//! Names of fields and variants, their order, and primitive types are part of it. What does not show in the bytes is not:
//! names of types, newtypes (a newtype is what it holds), and which byte string it is (`Vec<u8>` equals `Bytes`). In a path,
//! `?` leads into an option, `[]` into a sequence, `{key}` and `{value}` into a map. As a form, `^` refers back to a type that
//! is still open, and `?` is what is unknown.
//!
//! # How
//!
//! A tracing deserializer answers every question of a type with a small value and writes down what was asked (`tracer`,
//! `access`, `probe`). Enums, options and recursion need several such runs (`trace`). A type that refuses every probe value
//! hides the fields behind it, as its struct is never finished: [`Shape::unknown`] names them.
//!
//! # Both directions
//!
//! The shape is what a type reads; it must write the same. serde lets the two differ: by attributes for one direction, by a
//! skipped variant before others (only `Serialize` counts it), by hand. So each value that a run made is written again, and
//! compared place by place (`verify`). Values that no run makes are not seen: what is written otherwise only then is left to
//! the codec, which refuses fields that are left out.

mod access;
mod definition;
mod difference;
mod probe;
mod text;
mod trace;
mod tracer;
mod verify;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod reach;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use difference::difference;

use crate::BoxError;
use crate::arguments::Arguments;

/// What the bytes of some values look like.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    /// One line for each value, field and variant.
    pub text: String,
    /// The places of which nothing is known; a difference there is not noticed.
    pub unknown: Vec<String>,
}

/// A type that bincode cannot carry.
#[derive(Debug, thiserror::Error)]
pub enum ShapeError {
    /// It needs an encoding that describes itself.
    #[error("`{path}` needs {what}, which bincode cannot carry; use {instead}")]
    Unsuitable { path: String, what: &'static str, instead: &'static str },
    /// It does not write what it reads.
    #[error("`{path}`: {how}; {advice}")]
    Differs { path: String, how: String, advice: &'static str },
    /// It does not write all that it reads.
    #[error(
        "`{path}`: `Serialize` refuses a value that `Deserialize` makes; skip variants in both directions, and let both refuse the same"
    )]
    Refused { path: String, source: BoxError },
}

impl Shape {
    /// The shape of one value.
    ///
    /// # Errors
    ///
    /// If bincode cannot carry `T`, or `T` writes something else than it reads.
    pub fn of<T: Serialize + DeserializeOwned>() -> Result<Shape, ShapeError> {
        let mut list = ShapeList::default();
        list.add::<T>("value")?;
        Ok(list.shape)
    }

    /// The shape of the arguments of a method.
    ///
    /// # Errors
    ///
    /// If bincode cannot carry one of them, or it writes something else than it reads.
    pub fn of_arguments<A: Arguments>() -> Result<Shape, ShapeError> {
        let mut list = ShapeList::default();
        A::shapes(&mut list)?;
        Ok(list.shape)
    }

    /// The shape of the result of a method: its value and its error.
    ///
    /// # Errors
    ///
    /// If bincode cannot carry one of them, or it writes something else than it reads.
    pub fn of_result<T: Serialize + DeserializeOwned, E: Serialize + DeserializeOwned>() -> Result<Shape, ShapeError> {
        let mut list = ShapeList::default();
        list.add::<T>("ok")?;
        list.add::<E>("error")?;
        Ok(list.shape)
    }

    /// Equal for equal shapes, on every platform.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(self.text.as_bytes())
    }
}

/// The shapes of several values, one after another.
#[derive(Debug, Default)]
pub struct ShapeList {
    shape: Shape,
    values: usize,
}

impl ShapeList {
    /// Appends the shape of the next argument.
    ///
    /// # Errors
    ///
    /// If bincode cannot carry `T`, or `T` writes something else than it reads.
    pub fn push<T: Serialize + DeserializeOwned>(&mut self) -> Result<(), ShapeError> {
        self.values += 1;
        self.add::<T>(&format!("argument {}", self.values))
    }

    fn add<T: Serialize + DeserializeOwned>(&mut self, name: &str) -> Result<(), ShapeError> {
        let definitions = trace::trace::<T>(name)?;
        text::write(&definitions, name, &mut self.shape);
        Ok(())
    }
}
