//! The crates depend on each other in one direction: examples, facade, plugins, core.

use std::{collections::BTreeSet, path::Path};

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// Each crate of the workspace, with those of ours that it needs to be built (not those its tests need).
const DRAWN: [&str; 11] = [
    "example-api -> rpc",
    "example-consumer -> example-api, rpc",
    "example-provider -> example-api, rpc",
    "plugin -> rpc-core",
    "renamed -> rpc",
    "rpc -> rpc-core, rpc-fault, rpc-loadbalancer, rpc-macros, rpc-registry",
    "rpc-core -> ",
    "rpc-fault -> rpc-core",
    "rpc-loadbalancer -> rpc-core",
    "rpc-macros -> ",
    "rpc-registry -> rpc-core",
];

#[test]
fn crates_depend_on_each_other_only_as_drawn() -> anyhow::Result<()> {
    let metadata = MetadataCommand::new()
        .manifest_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .no_deps()
        .exec()?;
    let packages = metadata.workspace_packages();
    let ours: BTreeSet<_> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut found: Vec<_> = packages.iter().map(|package| arrow(package, &ours)).collect();
    found.sort();
    assert_eq!(found, DRAWN);
    Ok(())
}

fn arrow(package: &Package, ours: &BTreeSet<&str>) -> String {
    let needed: BTreeSet<_> = package
        .dependencies
        .iter()
        .filter(|needed| needed.kind != DependencyKind::Development)
        .map(|needed| needed.name.as_str())
        .filter(|name| ours.contains(name))
        .collect();
    format!("{} -> {}", package.name, Vec::from_iter(needed).join(", "))
}
