//! What a client logs of servers and registries that are away.

#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

mod common;

use std::sync::Arc;

use common::{client, log, server};
use rpc::{Code, RpcError, Server, rpc_service};
use tokio::sync::Notify;

#[rpc_service(name = "test.Greeter")]
trait Greeter {
    async fn greet(&self) -> Result<(), RpcError>;
    /// Answers when it may.
    async fn linger(&self) -> Result<(), RpcError>;
}

#[derive(Default)]
struct Polite(Arc<Notify>);

impl Greeter for Polite {
    async fn greet(&self) -> Result<(), RpcError> {
        Ok(())
    }

    async fn linger(&self) -> Result<(), RpcError> {
        self.0.notified().await;
        Ok(())
    }
}

/// A server, and a stub that is connected to it.
async fn connected(polite: Polite) -> (Server, GreeterStub) {
    let server = server(GreeterDispatcher::new(polite)).start().await.unwrap();
    let greeter: GreeterStub = client(&[server.address()]).build().unwrap().stub().unwrap();
    greeter.greet().await.unwrap();
    (server, greeter)
}

#[tokio::test]
async fn a_server_that_left_in_order_is_no_warning_and_one_that_did_not_is_one() {
    log::keep();
    let (leaving, greeter) = connected(Polite::default()).await;
    let address = leaving.address().to_string();
    assert_eq!(leaving.shutdown().await, 0);
    for _ in 0..3 {
        assert_eq!(greeter.greet().await.unwrap_err().code(), Code::Unavailable);
    }
    assert_eq!(log::since(0, &address), [""; 0]);

    // It is back, and goes without a word.
    let again =
        Server::builder().service(GreeterDispatcher::new(Polite::default())).listen(&address).start().await.unwrap();
    greeter.greet().await.unwrap();
    drop(again);
    while greeter.greet().await.unwrap_err().code() != Code::Unavailable {}
    greeter.greet().await.unwrap_err();
    let warnings = log::since(0, &format!("address={address} "));
    assert!(matches!(&warnings[..], [one] if one.contains("cannot connect; calls go elsewhere")), "{warnings:?}");
}

#[tokio::test]
async fn who_comes_while_the_server_leaves_is_told_without_a_warning() {
    log::keep();
    let may_go = Arc::new(Notify::new());
    let (leaving, greeter) = connected(Polite(Arc::clone(&may_go))).await;
    let address = leaving.address();
    let lingering = tokio::spawn({
        let greeter = greeter.clone();
        async move { greeter.linger().await }
    });
    // The connection keeps the order of requests.
    tokio::task::yield_now().await;
    greeter.greet().await.unwrap();
    let leave = tokio::spawn(leaving.shutdown());
    let error = loop {
        let late: GreeterStub = client(&[address]).build().unwrap().stub().unwrap();
        if let Err(error) = late.greet().await {
            break error;
        }
    };
    assert!(error.message().contains("the server is leaving"), "{error}");
    may_go.notify_one();
    lingering.await.unwrap().unwrap();
    assert_eq!(leave.await.unwrap(), 0);
    assert_eq!(log::since(0, &format!("address={address} ")), [""; 0]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_registry_that_never_answered_is_said_to_fail_the_calls() {
    log::keep();
    let client = rpc::Client::builder().registry("file:///dev/null/told").build().unwrap();
    let greeter: GreeterStub = client.stub().unwrap();
    assert_eq!(greeter.greet().await.unwrap_err().code(), Code::Unavailable);
    let warnings = log::since(0, "/dev/null/told");
    assert!(
        matches!(&warnings[..], [one] if one.contains("the registry fails; calls fail until it answers")),
        "{warnings:?}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_second_provider_with_one_id_is_warned_of_and_a_provider_that_comes_back_is_not() {
    log::keep();
    let dir = tempfile::tempdir().unwrap();
    let registry = format!("file://{}", dir.path().display());
    let provider = |advertised: &'static str| {
        let server = server(GreeterDispatcher::new(Polite::default())).registry(registry.as_str());
        server.id("told-twice").advertise(advertised).start()
    };
    let warnings = || log::since(0, "told-twice");
    let first = provider("10.0.0.1:1").await.unwrap();
    drop(first);
    let first = provider("10.0.0.1:1").await.unwrap();
    assert_eq!(warnings(), [""; 0]);
    let second = provider("10.0.0.2:1").await.unwrap();
    let told = warnings();
    assert!(
        matches!(&told[..], [one] if one.contains("another provider has this id") && one.contains("other=10.0.0.1:1")),
        "{told:?}"
    );
    first.shutdown().await;
    second.shutdown().await;
}
