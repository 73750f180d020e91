//! Why there is no configuration.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::error::with_sources;

/// A mistake in a configuration. Says where it is, what was given and what is allowed; its `Debug` tells it with all its sources.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration file `{}`{} cannot be read", .path.display(), named(.variable))]
    Read {
        /// The file.
        path: PathBuf,
        /// The variable of the environment that names it.
        variable: Option<&'static str>,
        /// What the system said.
        source: io::Error,
    },
    /// The text is no TOML, or says what cannot be said there.
    #[error("{}line {line}, column {column}: {}{message}", file(.path), at(.key))]
    Text {
        /// The file, if it is one.
        path: Option<PathBuf>,
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in characters.
        column: usize,
        /// The key, from the top; `None` if the text is no TOML.
        key: Option<String>,
        /// What is wrong.
        message: String,
    },
    /// A variable of the environment has a value that is none.
    #[error("`{name}` is {}; give it {allowed}{}", given(.value), unset(.value))]
    Variable {
        /// The variable.
        name: &'static str,
        /// What it is set to.
        value: String,
        /// What it can be set to.
        allowed: &'static str,
    },
}

impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_sources(self, f)
    }
}

fn named(variable: &Option<&str>) -> String {
    variable.map_or_else(String::new, |name| format!(", which `{name}` names,"))
}

fn file(path: &Option<PathBuf>) -> String {
    path.as_ref().map_or_else(String::new, |path| format!("`{}`, ", path.display()))
}

fn at(key: &Option<String>) -> String {
    key.as_ref().map_or_else(String::new, |key| format!("`{key}`: "))
}

fn given(value: &str) -> String {
    if value.is_empty() { "empty".to_owned() } else { format!("`{value}`") }
}

fn unset(value: &str) -> &'static str {
    if value.is_empty() { ", or unset it" } else { "" }
}
