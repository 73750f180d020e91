//! The file.

use std::ops::Range;
use std::path::Path;

use toml::de::DeTable;

use super::{Config, ConfigError};

/// Reads a file, which the `variable` names if the program did not.
pub(super) fn read(path: &Path, variable: Option<&'static str>) -> Result<Config, ConfigError> {
    let read = std::fs::read_to_string(path);
    let text = read.map_err(|source| ConfigError::Read { path: path.to_owned(), variable, source })?;
    parse(&text, Some(path))
}

/// Reads the text of a file.
pub(super) fn parse(text: &str, path: Option<&Path>) -> Result<Config, ConfigError> {
    toml::from_str(text).map_err(|error| {
        let span = error.span();
        let (line, column) = position(text, span.as_ref().map_or(0, |span| span.start));
        let table = DeTable::parse(text).ok();
        let key = table.zip(span).and_then(|(table, span)| key(table.get_ref(), &span));
        ConfigError::Text {
            path: path.map(Path::to_owned),
            line,
            column,
            key: key.map(|names| names.join(".")),
            message: error.message().to_owned(),
        }
    })
}

/// Line and column of a place in the text, counted from 1.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// The names that lead to what is at `span`: a key, or a value. Serde does not tell them.
fn key(table: &DeTable<'_>, span: &Range<usize>) -> Option<Vec<String>> {
    table.iter().find_map(|(name, value)| {
        let is_here = |there: Range<usize>| there.start <= span.start && span.end <= there.end;
        let below = value.get_ref().as_table().and_then(|table| key(table, span));
        let here = || (is_here(name.span()) || is_here(value.span())).then(Vec::new);
        let mut names = below.or_else(here)?;
        names.insert(0, name.get_ref().to_string());
        Some(names)
    })
}
