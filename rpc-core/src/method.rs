//! What is known of a service when its code is compiled.

use crate::arguments::Arguments;
use crate::error::BoxError;
use crate::outcome::Outcome;
use crate::protocol::shape::{Shape, ShapeError};

/// A service: its name and its methods, as the macro found them.
#[derive(Debug)]
pub struct ServiceDescriptor {
    name: &'static str,
    methods: &'static [Method],
}

impl ServiceDescriptor {
    /// A service of this name.
    #[must_use]
    pub const fn new(name: &'static str, methods: &'static [Method]) -> Self {
        Self { name, methods }
    }

    /// The name that both sides use.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The methods; a method's position is its ordinal.
    #[must_use]
    pub const fn methods(&self) -> &'static [Method] {
        self.methods
    }
}

/// A method: its name, its marks, its types.
#[derive(Debug)]
pub struct Method {
    name: &'static str,
    idempotent: bool,
    hash: Option<usize>,
    pub(crate) arguments: fn() -> Result<Shape, ShapeError>,
    pub(crate) outcome: fn() -> Result<Shape, ShapeError>,
}
