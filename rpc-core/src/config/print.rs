//! The configuration as a file: what is in effect, with all defaults.

use std::fmt::{self, Write as _};

use toml::{Table, Value};

use super::Config;

/// Keys whose tables are written in one line, as one would by hand: they are plugins.
const PLUGINS: [&str; 3] = ["registry", "loadBalancer", "fault"];

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Table::try_from(self) {
            Ok(table) => {
                let mut text = String::new();
                section(&mut text, "", &table)?;
                f.write_str(text.trim_start())
            }
            // A program may give a plugin a setting that no file can hold; that is refused when the plugin is built.
            Err(error) => write!(f, "# this configuration cannot be written as a file: {error}"),
        }
    }
}

/// Writes the values of a section, then the sections below it.
fn section(text: &mut String, path: &str, table: &Table) -> fmt::Result {
    let is_section = |(name, value): &(&String, &Value)| value.is_table() && !PLUGINS.contains(&name.as_str());
    let (sections, values): (Vec<_>, Vec<_>) = table.iter().partition(is_section);
    // A section that only has others below it comes with them.
    if !path.is_empty() && (!values.is_empty() || sections.is_empty()) {
        writeln!(text, "\n[{path}]")?;
    }
    for (name, value) in values {
        writeln!(text, "{} = {value}", key(name))?;
    }
    for (name, table) in sections {
        let path = if path.is_empty() { key(name) } else { format!("{path}.{}", key(name)) };
        if let Value::Table(table) = table {
            section(text, &path, table)?;
        }
    }
    Ok(())
}

/// A key, in quotes if it needs them. Those of JSON will do, which keep it on its line, but for one character that only TOML escapes.
fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    if is_bare { name.to_owned() } else { serde_json::Value::from(name).to_string().replace('\u{7f}', "\\u007F") }
}
