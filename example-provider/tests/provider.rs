//! The provider's command line, run as a user runs it.

#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use example_api::{UserService, UserServiceStub};
use rpc::Client;

fn provider(arguments: &[&str]) -> Command {
    let mut provider = Command::new(env!("CARGO_BIN_EXE_example-provider"));
    provider.args(arguments);
    provider
}

#[tokio::test]
async fn serves_at_the_address_that_it_prints_until_ctrl_c() {
    let mut provider = provider(&["127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(provider.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.strip_prefix("serving UserService on ").and_then(|rest| rest.split_once(';')).unwrap().0;

    let client = Client::builder().registry(format!("direct://{address}")).build().unwrap();
    let users: UserServiceStub = client.stub().unwrap();
    assert_eq!(users.whoami().await.unwrap(), address);

    let killed = Command::new("kill").args(["-INT", &provider.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let ended = tokio::task::spawn_blocking(move || provider.wait()).await.unwrap().unwrap();
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn says_why_it_cannot_listen() {
    let output = provider(&["nowhere"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.starts_with("error: cannot listen on `nowhere`: "), "{error}");
}

#[test]
fn more_than_an_address_gets_the_usage() {
    for arguments in [&["127.0.0.1:0", "more"][..], &["--help"]] {
        let output = provider(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: example-provider [ADDRESS]\n"));
    }
}
