//! Within rpc-core, the runtime names the contracts and never the other way round.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

/// Modules of rpc-core that may name each other: the runtime, and what generated code is made of. All others are contracts, which may
/// not name them.
const RUNTIME: [&str; 12] = [
    "arguments",
    "client",
    "config",
    "discovery",
    "generated",
    "hash_key",
    "method",
    "outcome",
    "protocol",
    "server",
    "testing",
    "transport",
];

/// Modules of rpc-core that no contract may name.
const HIDDEN_FROM_CONTRACTS: [&str; 5] = ["client", "config", "protocol", "server", "transport"];

#[test]
fn contracts_do_not_name_the_runtime() -> anyhow::Result<()> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rpc-core/src");
    let mut contracts = BTreeSet::new();
    for file in sources(&src)? {
        let module = top_module(file.strip_prefix(&src)?);
        if module == "lib" || RUNTIME.contains(&module.as_str()) {
            continue;
        }
        for named in named_modules(&fs::read_to_string(&file)?) {
            let hidden = HIDDEN_FROM_CONTRACTS.contains(&named.as_str());
            assert!(!hidden, "the contract `{module}` names `{named}`");
        }
        contracts.insert(module);
    }
    for known in ["extension", "fault", "instance", "loadbalancer", "registry", "settings"] {
        assert!(contracts.contains(known), "`{known}` was not looked at");
    }
    Ok(())
}

#[test]
fn paths_of_every_form_are_seen() {
    let source =
        "use crate::client; super::server::X; use crate::{a, b::{protocol, c}, transport}; my_crate::no; crate::X";
    let named = Vec::from_iter(named_modules(source)).join(" ");
    assert_eq!(named, "X a b c client protocol server transport");
}

/// All Rust files under `folder`.
fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// The module right below the crate that a file belongs to, by its path below `src`.
fn top_module(file: &Path) -> String {
    let first = file.iter().next().map(Path::new);
    let name = first.and_then(Path::file_stem).expect("a source has a name");
    name.to_string_lossy().into_owned()
}

/// What follows `crate::` or `super::` in `source`: one name, or all names within the braces.
fn named_modules(source: &str) -> BTreeSet<String> {
    let no_name = |c: char| !c.is_alphanumeric() && c != '_';
    let mut named = BTreeSet::new();
    for root in ["crate::", "super::"] {
        let found = source.match_indices(root).map(|(at, _)| source.split_at(at));
        // Not within a longer name, such as `my_crate::`.
        for (_, found) in found.filter(|(before, _)| before.is_empty() || before.ends_with(no_name)) {
            let path = &found[root.len()..];
            let end = if path.starts_with('{') { group_end(path) } else { path.find(no_name) };
            let names = path[..end.unwrap_or(path.len())].split(no_name);
            named.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
        }
    }
    named
}

/// Where the brace closes that `text` begins with.
fn group_end(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    })
}
