//! Where two shapes differ, for a person.

use std::collections::HashMap;

/// Differences told; the first are mostly the reason for the others.
const MAX_TOLD: usize = 3;

/// Texts longer than this, in bytes, are compared line by line only: what a hostile server describes must not cost more time and memory
/// than it is worth, and each line is looked for among all others.
const LONGEST_COMPARED: usize = 64 * 1024;

/// Says in a few words where two shapes differ.
#[must_use]
pub(crate) fn difference(ours: &str, theirs: &str) -> String {
    if ours == theirs {
        return "no difference".to_owned();
    }
    if ours.len().max(theirs.len()) > LONGEST_COMPARED {
        return first_line(ours, theirs);
    }
    let their_groups = groups(theirs);
    let their_groups: HashMap<_, _> = their_groups.iter().map(|group| (group.path, group)).collect();
    let mut told: Vec<String> = Vec::new();
    for ours in groups(ours) {
        // A group that only one side has follows from a difference in the line above it.
        match their_groups.get(ours.path) {
            Some(theirs) => compare(&ours, theirs, &mut told),
            None if ours.path.is_empty() => told.extend(ours.lines.first().map(only_here)),
            None => {}
        }
    }
    if told.is_empty() {
        told.push(first_line(ours, theirs));
    }
    let more = told.len().saturating_sub(MAX_TOLD);
    told.truncate(MAX_TOLD);
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    told.join("; ")
}

/// The fields of one struct, the variants of one enum, or the values of one list.
struct Group<'a> {
    path: &'a str,
    noun: &'static str,
    /// Name, whole path, form.
    lines: Vec<(&'a str, &'a str, &'a str)>,
}

impl Group<'_> {
    fn find(&self, name: &str) -> Option<(usize, &str)> {
        let index = self.lines.iter().position(|line| line.0 == name)?;
        Some((index, self.lines[index].2))
    }

    fn names(&self) -> String {
        let names: Vec<_> = self.lines.iter().map(|line| line.0).collect();
        names.join(", ")
    }
}

fn groups(text: &str) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut index = HashMap::new();
    for line in text.lines() {
        let (whole, form) = line.split_once(": ").unwrap_or((line, ""));
        let (path, noun, name) = place(whole);
        let group = *index.entry(path).or_insert_with(|| {
            groups.push(Group { path, noun, lines: Vec::new() });
            groups.len() - 1
        });
        groups[group].lines.push((name, whole, form));
    }
    groups
}

/// Divides a path into what holds the place, what the place is, and its name.
fn place(whole: &str) -> (&str, &'static str, &str) {
    let field = whole.rfind('.').map(|at| (at, "field", 1));
    let variant = whole.rfind("::").map(|at| (at, "variant", 2));
    match field.max(variant) {
        Some((at, noun, separator)) => (&whole[..at], noun, &whole[at + separator..]),
        None => ("", "value", whole),
    }
}

fn compare(ours: &Group<'_>, theirs: &Group<'_>, told: &mut Vec<String>) {
    let prefix = match ours.path {
        "" => String::new(),
        path => format!("{path}: "),
    };
    let noun = ours.noun;
    let mut renamed = Vec::new();
    for (index, (name, whole, form)) in ours.lines.iter().enumerate() {
        match (theirs.find(name), theirs.lines.get(index)) {
            (Some((_, their_form)), _) if their_form == *form => {}
            (Some((_, their_form)), _) => {
                told.push(format!("{whole}: {form} here, {their_form} there"));
            }
            (None, Some((their_name, ..))) if ours.find(their_name).is_none() => {
                renamed.push(*their_name);
                let position = index + 1;
                told.push(format!("{prefix}{noun} {position}: `{name}` here, `{their_name}` there"));
            }
            (None, _) => told.push(format!("{prefix}one more {noun} here: {name}")),
        }
    }
    for (name, ..) in &theirs.lines {
        if ours.find(name).is_none() && !renamed.contains(name) {
            told.push(format!("{prefix}one more {noun} there: {name}"));
        }
    }
    let moved =
        |(index, line): (usize, &(&str, &str, &str))| theirs.find(line.0).is_some_and(|(their, _)| their != index);
    let same_names = ours.lines.len() == theirs.lines.len() && renamed.is_empty();
    if same_names && ours.lines.iter().enumerate().any(moved) {
        let (here, there) = (ours.names(), theirs.names());
        told.push(format!("{prefix}{noun}s in another order: {here} here, {there} there"));
    }
}

fn only_here((name, _, form): &(&str, &str, &str)) -> String {
    format!("{name}: {form} here, nothing there")
}

/// What can always be told: the first line that differs.
fn first_line(ours: &str, theirs: &str) -> String {
    let nothing = "nothing";
    let (mut ours, mut theirs) = (ours.lines(), theirs.lines());
    loop {
        match (ours.next(), theirs.next()) {
            (Some(here), Some(there)) if here == there => {}
            (None, None) => return "the lines are equal".to_owned(),
            (here, there) => {
                let (here, there) = (here.unwrap_or(nothing), there.unwrap_or(nothing));
                return format!("`{here}` here, `{there}` there");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: &str = "user: struct\nuser.name: str\nuser.age: u32\nuser.state: enum\nuser.state::Active: unit\n";

    fn with(from: &str, to: &str) -> String {
        difference(USER, &USER.replace(from, to))
    }

    #[test]
    fn tells_another_type() {
        assert_eq!(with("u32", "u64"), "user.age: u32 here, u64 there");
    }

    #[test]
    fn tells_another_name() {
        assert_eq!(with("name", "nick"), "user: field 1: `name` here, `nick` there");
    }

    #[test]
    fn tells_what_only_one_side_has() {
        let longer = format!("{USER}user.state::Suspended: unit\n");
        assert_eq!(difference(USER, &longer), "user.state: one more variant there: Suspended");
        assert_eq!(difference(&longer, USER), "user.state: one more variant here: Suspended");
        assert_eq!(with("user.name: str\n", ""), "user: one more field here: name");
        assert_eq!(difference("argument 1: u8\n", ""), "argument 1: u8 here, nothing there");
        assert_eq!(
            difference("argument 1: u8\n", "argument 1: u8\nargument 2: u8\n"),
            "one more value there: argument 2"
        );
    }

    #[test]
    fn tells_another_order() {
        assert_eq!(
            with("user.name: str\nuser.age: u32", "user.age: u32\nuser.name: str"),
            "user: fields in another order: name, age, state here, age, name, state there"
        );
    }

    #[test]
    fn tells_three_differences_at_most() {
        let ours: String = (1..=9).map(|n| format!("argument {n}: u8\n")).collect();
        let told = difference(&ours, &ours.replace("u8", "u16"));
        assert!(told.ends_with("; and 6 more"), "{told}");
    }

    #[test]
    fn tells_only_the_first_of_very_many_lines() {
        let ours: String = (1..=9_000).map(|n| format!("argument {n}: u8\n")).collect();
        let theirs = ours.replace("argument 7: u8", "argument 7: u16");
        assert_eq!(difference(&ours, &theirs), "`argument 7: u8` here, `argument 7: u16` there");
    }

    #[test]
    fn always_tells_something() {
        assert_eq!(difference("", "value: u8\n"), "`nothing` here, `value: u8` there");
        assert_eq!(with("user", "user"), "no difference");
    }
}
