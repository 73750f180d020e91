//! What is known of a service when its code is compiled.

use crate::arguments::Arguments;
use crate::outcome::Outcome;
use crate::protocol::shape::{Shape, ShapeError};

/// A service: its name and its methods, as the macro found them.
#[derive(Debug)]
pub struct ServiceDescriptor {
    name: &'static str,
    declared: &'static str,
    methods: &'static [Method],
}

impl ServiceDescriptor {
    /// A service of this name.
    #[must_use]
    pub const fn new(name: &'static str, methods: &'static [Method]) -> Self {
        Self { name, declared: name, methods }
    }

    /// The same service, whose trait is called `name`.
    #[must_use]
    pub const fn declared_as(mut self, name: &'static str) -> Self {
        self.declared = name;
        self
    }

    /// The name that both sides use.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The name of the trait, by which configurations know it.
    pub(crate) const fn declared(&self) -> &'static str {
        self.declared
    }

    /// The methods; a method's position is its ordinal.
    #[must_use]
    pub const fn methods(&self) -> &'static [Method] {
        self.methods
    }
}

/// A service that is part of the program; generated code submits one for each.
#[derive(Debug)]
pub struct Linked(pub &'static ServiceDescriptor);

inventory::collect!(Linked);

/// The services that are part of the program.
pub(crate) fn linked() -> impl Iterator<Item = &'static ServiceDescriptor> {
    inventory::iter::<Linked>().map(|Linked(service)| *service)
}

/// The types of a method. Generated code has a type for each method that implements it, and passes that instead of the
/// types themselves: their bounds are then checked in one place, and what does not hold is said once.
pub trait Signature {
    /// What it takes.
    type Arguments: Arguments;
    /// What it returns.
    type Outcome: Outcome;
    /// Makes the outcome that stands for none, if its type has one.
    const DEFAULT: Option<fn() -> Self::Outcome>;
}

/// Finds out whether an outcome has a default: `DefaultOf::<O>::DEFAULT` is `Some` if `O` is a `Result<T, E>` with `T: Default`, and by
/// way of [`NoDefault`] `None` if not. Only where `O` is a type and no parameter, as in generated code.
#[derive(Debug)]
pub struct DefaultOf<O>(std::marker::PhantomData<O>);

impl<T: Default, E> DefaultOf<Result<T, E>> {
    /// `Ok` of the default.
    pub const DEFAULT: Option<fn() -> Result<T, E>> = Some(|| Ok(T::default()));
}

/// See [`DefaultOf`].
pub trait NoDefault {
    /// What has no default.
    type Outcome;
    /// There is none.
    const DEFAULT: Option<fn() -> Self::Outcome> = None;
}

impl<O> NoDefault for DefaultOf<O> {
    type Outcome = O;
}

/// A method: its name, its marks, its types.
#[derive(Debug)]
pub struct Method {
    name: &'static str,
    idempotent: bool,
    hash: Option<usize>,
    has_default: bool,
    arguments_shape: fn() -> Result<Shape, ShapeError>,
    outcome_shape: fn() -> Result<Shape, ShapeError>,
}

impl Method {
    /// A method with this signature.
    #[must_use]
    pub const fn new<S: Signature>(name: &'static str) -> Self {
        Self {
            name,
            idempotent: false,
            hash: None,
            has_default: S::DEFAULT.is_some(),
            arguments_shape: Shape::of_arguments::<S::Arguments>,
            outcome_shape: S::Outcome::shape,
        }
    }

    /// The same method, which may run twice for one call.
    #[must_use]
    pub const fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// The same method, whose argument at `position` is the hash key.
    #[must_use]
    pub const fn hash(mut self, position: usize) -> Self {
        self.hash = Some(position);
        self
    }

    /// The name that both sides use.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it may run twice for one call.
    #[must_use]
    pub const fn is_idempotent(&self) -> bool {
        self.idempotent
    }

    /// Whether its result has a `Default`.
    #[must_use]
    pub const fn has_default(&self) -> bool {
        self.has_default
    }

    /// The position of the argument that is the hash key.
    pub(crate) const fn hash_argument(&self) -> Option<usize> {
        self.hash
    }

    pub(crate) fn arguments_shape(&self) -> Result<Shape, ShapeError> {
        (self.arguments_shape)()
    }

    pub(crate) fn outcome_shape(&self) -> Result<Shape, ShapeError> {
        (self.outcome_shape)()
    }
}

/// The position of the method of this name, found when the calling code is compiled.
///
/// # Panics
///
/// If there is none.
#[must_use]
pub const fn ordinal(methods: &[Method], name: &str) -> usize {
    let mut position = 0;
    while position < methods.len() {
        if equal(methods[position].name.as_bytes(), name.as_bytes()) {
            return position;
        }
        position += 1;
    }
    panic!("no method of this name")
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
