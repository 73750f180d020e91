//! Definitions as text.

use std::fmt::Write;

use super::Shape;
use super::definition::{Definition, Form, Kind, Part};

/// Places written for one value before the rest counts as unknown: types that share parts grow exponentially as text.
const MAX_PLACES: usize = 20_000;

/// Appends the value of `definitions`, under `name`, to `shape`.
pub(super) fn write(definitions: &[Definition], name: &str, shape: &mut Shape) {
    let mut writer = Writer { definitions, shape, open: Vec::new(), places: 0 };
    writer.line(name, &definitions[0].parts[0]);
}

struct Writer<'a> {
    definitions: &'a [Definition],
    shape: &'a mut Shape,
    /// The types around, and where they begin.
    open: Vec<(usize, String)>,
    places: usize,
}

impl Writer<'_> {
    fn line(&mut self, path: &str, part: &Part) {
        let inline = self.inline(path, part);
        // Writing to a string cannot fail.
        writeln!(self.shape.text, "{path}: {inline}").expect("a string takes all text");
        self.children(path, part);
    }

    /// What a place holds, in one line.
    fn inline(&mut self, path: &str, part: &Part) -> String {
        self.places += 1;
        if part.forms.is_empty() || self.places > MAX_PLACES {
            self.shape.unknown.push(path.to_owned());
            return "?".to_owned();
        }
        let forms: Vec<_> = part
            .forms
            .iter()
            .map(|form| match form {
                Form::Leaf(name) => (*name).to_owned(),
                Form::Type(id) => self.inline_type(path, *id),
            })
            .collect();
        forms.join(" | ")
    }

    fn inline_type(&mut self, path: &str, id: usize) -> String {
        if let Some((_, path)) = self.open.iter().find(|(open, _)| *open == id) {
            return format!("^{path}");
        }
        let definition = &self.definitions[id];
        if matches!(definition.kind, Kind::Struct) {
            return "struct".to_owned();
        }
        if matches!(definition.kind, Kind::Enum) {
            return "enum".to_owned();
        }
        self.open.push((id, path.to_owned()));
        let mut parts = Vec::new();
        for (index, part) in definition.shown().iter().enumerate() {
            parts.push(self.inline(&definition.path_of(path, index), part));
        }
        self.open.pop();
        match (definition.kind, parts.as_slice()) {
            (Kind::Option, [inner]) => format!("option<{inner}>"),
            (Kind::Sequence, [element]) if element == "u8" => "bytes".to_owned(),
            (Kind::Sequence, [element]) => format!("seq<{element}>"),
            (Kind::Map, [key, value]) => format!("map<{key}, {value}>"),
            (_, []) => "unit".to_owned(),
            (_, [first, rest @ ..]) if !rest.is_empty() && rest.iter().all(|part| part == first) => {
                format!("[{first}; {}]", parts.len())
            }
            _ => format!("({})", parts.join(", ")),
        }
    }

    /// The lines of the fields and variants within a place.
    fn children(&mut self, path: &str, part: &Part) {
        for form in &part.forms {
            let Form::Type(id) = *form else { continue };
            if self.open.iter().any(|(open, _)| *open == id) || self.places > MAX_PLACES {
                continue;
            }
            let definition = &self.definitions[id];
            self.open.push((id, path.to_owned()));
            for (index, part) in definition.shown().iter().enumerate() {
                let path = definition.path_of(path, index);
                match definition.kind {
                    Kind::Enum if part.absent || definition.is_surplus(part) => {}
                    Kind::Struct | Kind::Enum => self.line(&path, part),
                    _ => self.children(&path, part),
                }
            }
            self.open.pop();
        }
    }
}
