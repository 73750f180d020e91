//! What is known of a type.

use std::cell::Cell;

/// What a place holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Leaf(&'static str),
    Type(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Root,
    Option,
    Sequence,
    Map,
    Tuple,
    Struct,
    Enum,
}

/// What makes two types the same one. The visitor's type names generic parameters too, which the type's own name does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pub(super) kind: Kind,
    pub(super) visitor: &'static str,
    pub(super) name: &'static str,
    pub(super) names: &'static [&'static str],
    pub(super) parts: usize,
}

/// A type with places to fill: fields, elements, variants.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) kind: Kind,
    pub(super) parts: Vec<Part>,
    /// A value was built. All places were asked for, then.
    pub(super) built: bool,
    /// How many places were asked for at most; serde lists an alias as a name of its own.
    pub(super) asked: usize,
    /// The variant that was built first: a way to a value that does not lead back here.
    pub(super) shortest: Option<usize>,
    /// Counts the visits, so that variants that are all worth another one take turns.
    pub(super) turn: usize,
}

#[derive(Debug, Default)]
pub(super) struct Part {
    /// As `Deserialize` lists it; where it lists aliases, the names behind them are those of other places.
    pub(super) name: &'static str,
    /// As `Serialize` writes it.
    pub(super) written: Cell<Option<&'static str>>,
    /// One, unless an enum before it decides.
    pub(super) forms: Vec<Form>,
    /// A variant that does not exist.
    pub(super) absent: bool,
    /// A value was built here.
    pub(super) done: bool,
    /// Every probe value was refused here.
    pub(super) dead: bool,
    /// What was learned when it last failed; only more makes another attempt worth it.
    pub(super) blocked_at: Option<usize>,
    /// How many probe values were refused here.
    pub(super) tries: usize,
}

impl Definition {
    pub(super) fn new(kind: Kind, names: &[&'static str], parts: usize) -> Self {
        let part = |index| Part { name: names.get(index).copied().unwrap_or_default(), ..Part::default() };
        Definition { kind, parts: (0..parts).map(part).collect(), built: false, asked: 0, shortest: None, turn: 0 }
    }

    /// The places that exist and can be reached.
    pub(super) fn reachable(&self) -> &[Part] {
        let end = match self.kind {
            Kind::Struct | Kind::Tuple if self.built => self.asked,
            Kind::Struct | Kind::Tuple => match self.parts.iter().position(|part| part.dead) {
                Some(dead) => dead + 1,
                None => self.parts.len(),
            },
            _ => self.parts.len(),
        };
        &self.parts[..end]
    }

    /// The places that show in the bytes.
    pub(super) fn shown(&self) -> &[Part] {
        match self.kind {
            Kind::Struct | Kind::Tuple if self.built => &self.parts[..self.asked],
            _ => &self.parts,
        }
    }

    /// May hold nothing.
    pub(super) fn is_container(&self) -> bool {
        matches!(self.kind, Kind::Option | Kind::Sequence | Kind::Map)
    }

    /// Where the list of names has this one.
    pub(super) fn listed(&self, name: &str) -> Option<usize> {
        self.parts.iter().position(|part| part.name == name)
    }

    /// Whether the variant stands for an alias: `#[serde(other)]` takes the numbers that are too many.
    pub(super) fn is_surplus(&self, variant: &Part) -> bool {
        let is_other = |part: &Part| part.written.get() == Some(variant.name);
        variant.written.get().is_none() && self.parts.iter().any(is_other)
    }

    /// Goes on from the path of this type to the path of one of its places.
    pub(super) fn step(&self, path: &mut String, part: usize) {
        match (self.kind, part) {
            (Kind::Root, _) => {}
            (Kind::Option, _) => path.push('?'),
            (Kind::Sequence, _) => path.push_str("[]"),
            (Kind::Map, 0) => path.push_str("{key}"),
            (Kind::Map, _) => path.push_str("{value}"),
            (Kind::Tuple, _) => path.push_str(&format!(".{part}")),
            (Kind::Struct, _) => path.push_str(&format!(".{}", self.parts[part].name())),
            (Kind::Enum, _) => path.push_str(&format!("::{}", self.parts[part].name())),
        }
    }

    pub(super) fn path_of(&self, path: &str, part: usize) -> String {
        let mut path = path.to_owned();
        self.step(&mut path, part);
        path
    }
}

impl Part {
    pub(super) fn name(&self) -> &'static str {
        self.written.get().unwrap_or(self.name)
    }
}

/// The path from a value of this name to the innermost of the places.
pub(super) fn path(definitions: &[Definition], name: &str, places: &[(usize, usize)]) -> String {
    let mut path = name.to_owned();
    for (definition, part) in places {
        definitions[*definition].step(&mut path, *part);
    }
    path
}
