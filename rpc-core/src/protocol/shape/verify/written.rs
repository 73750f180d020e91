//! What is written, beside what is read.

use crate::protocol::shape::definition::{Definition, Form, Kind};

/// What `Serialize` says that it writes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Written {
    Leaf(&'static str),
    Option,
    Sequence,
    Map,
    Tuple(usize),
    Struct,
    Enum,
}

/// What the place is known to hold.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found {
    Unknown,
    Leaf,
    Type(usize),
}

impl Form {
    /// Whether bincode writes the one as it reads the other.
    pub(super) fn fits(self, written: Written, definitions: &[Definition]) -> bool {
        let id = match (self, written) {
            (Form::Leaf(read), Written::Leaf(written)) => return read == written,
            (Form::Leaf("bytes"), Written::Sequence) | (Form::Leaf("unit"), Written::Tuple(0)) => return true,
            (Form::Leaf(_), _) => return false,
            (Form::Type(id), _) => id,
        };
        let definition = &definitions[id];
        match (definition.kind, written) {
            (Kind::Tuple, Written::Tuple(len)) => !definition.built || definition.shown().len() == len,
            (Kind::Tuple, Written::Leaf("unit")) => definition.shown().is_empty(),
            (Kind::Sequence, Written::Leaf("bytes")) => matches!(*definition.parts[0].forms, [] | [Form::Leaf("u8")]),
            (Kind::Option, Written::Option)
            | (Kind::Sequence, Written::Sequence)
            | (Kind::Map, Written::Map)
            | (Kind::Struct, Written::Struct)
            | (Kind::Enum, Written::Enum) => true,
            _ => false,
        }
    }

    pub(super) fn describe(self, definitions: &[Definition]) -> String {
        let id = match self {
            Form::Leaf(name) => return name.to_owned(),
            Form::Type(id) => id,
        };
        let written = match definitions[id].kind {
            Kind::Option => Written::Option,
            Kind::Sequence => Written::Sequence,
            Kind::Map => Written::Map,
            Kind::Enum => Written::Enum,
            Kind::Struct => Written::Struct,
            Kind::Tuple | Kind::Root => Written::Tuple(definitions[id].shown().len()),
        };
        written.describe()
    }
}

impl Written {
    pub(super) fn describe(self) -> String {
        match self {
            Written::Leaf(name) => name.to_owned(),
            Written::Option => "an option".to_owned(),
            Written::Sequence => "a sequence".to_owned(),
            Written::Map => "a map".to_owned(),
            Written::Tuple(len) => format!("a tuple or array of {len}"),
            Written::Struct => "a struct".to_owned(),
            Written::Enum => "an enum".to_owned(),
        }
    }
}

impl Definition {
    /// Whether a value cannot but have the places that are listed.
    pub(super) fn is_known(&self) -> bool {
        self.built || !matches!(self.kind, Kind::Struct | Kind::Tuple)
    }
}
