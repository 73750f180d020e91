//! The small service of the README works as it is pasted.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const README: &str = include_str!("../../README.md");

/// The address that the pasted programs use; here another one may be free.
const ADDRESS: &str = "127.0.0.1:9000";

#[test]
fn the_small_service_works_as_pasted() {
    let folder = paste(&free_address());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet"])
        .current_dir(folder.join("greeter"))
        .env("CARGO_TARGET_DIR", &target)
        .status()
        .unwrap();
    assert!(built.success());

    let provider = Provider::start(&target.join("debug/greeter-provider"));
    let consumer = Command::new(target.join("debug/greeter-consumer")).output().unwrap();
    drop(provider);
    assert!(consumer.status.success(), "{consumer:?}");
    assert!(
        README.contains(&format!("The consumer prints\n\n```text\n{}```", String::from_utf8(consumer.stdout).unwrap()))
    );
}

/// Writes every file of the README's workspace beneath a folder of its own, which is returned.
fn paste(address: &str) -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a workspace");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme-pasted");
    let files = files();
    assert_eq!(files.len(), 7, "a workspace, and two files for each of three crates");
    for (path, text) in files {
        let path = folder.join("greeter").join(path);
        let text = text.replace("../rpc-framework", &repository.to_string_lossy()).replace(ADDRESS, address);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("the folder can be made");
        fs::write(path, text).expect("the file can be written");
    }
    // The versions that are here already: nothing is downloaded.
    fs::copy(repository.join("Cargo.lock"), folder.join("greeter/Cargo.lock")).expect("the lock file can be copied");
    folder
}

/// Each file that the README shows: a line with its path, then a block with its text.
fn files() -> Vec<(&'static str, &'static str)> {
    let (mut files, mut rest) = (Vec::new(), README);
    while let Some((_, after)) = rest.split_once("\n`greeter/") {
        let (path, after) = after.split_once("`\n\n```").expect("a path is followed by a block");
        let (block, after) = after.split_once("\n```\n").expect("a block ends");
        let (_language, text) = block.split_once('\n').expect("a block names its language");
        files.push((path, text));
        rest = after;
    }
    files
}

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("some port is free");
    listener.local_addr().expect("it has an address").to_string()
}

/// A provider that ends with the test.
struct Provider(Child);

impl Provider {
    /// Starts it, and waits until it says that it listens.
    fn start(program: &Path) -> Self {
        let mut child = Command::new(program).stdout(Stdio::piped()).spawn().expect("the provider can be run");
        let mut said = String::new();
        let stdout = child.stdout.take().expect("its output is piped");
        let provider = Self(child);
        BufReader::new(stdout).read_line(&mut said).expect("its output is text");
        assert!(said.starts_with("listening on "), "{said}");
        provider
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.0.kill().expect("the provider still runs");
        self.0.wait().expect("the provider ends");
    }
}
