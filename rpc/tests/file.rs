//! Providers and consumers of one machine that find each other through a directory.

#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]
#![cfg(feature = "file")]

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{hold_to, until, within};
use rpc::{Client, Context, RpcError, Server, rpc_service};

/// Within this time a change is seen.
const SOON: Duration = Duration::from_secs(1);

#[rpc_service(name = "test.Node")]
trait Node {
    /// The instance that answers.
    #[rpc(idempotent)]
    async fn whoami(&self) -> Result<String, RpcError>;
}

struct Here;

impl Node for Here {
    async fn whoami(&self) -> Result<String, RpcError> {
        Ok(Context::current().unwrap().instance().to_owned())
    }
}

fn url(dir: &Path) -> String {
    format!("file://{}", dir.display())
}

async fn serve(dir: &Path, id: &str) -> Server {
    common::server(NodeDispatcher::new(Here)).registry(url(dir)).id(id).start().await.unwrap()
}

/// Calls until all these have answered.
async fn until_answered(node: &NodeStub, ids: &[&str]) {
    let (started, mut answered) = (Instant::now(), BTreeSet::new());
    while !ids.iter().all(|id| answered.contains(*id)) {
        answered.insert(node.whoami().await.unwrap());
        assert!(started.elapsed() < SOON * 10, "{ids:?} should answer, but {answered:?} do");
    }
    hold_to(SOON, started.elapsed(), &format!("{ids:?} answer"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_provider_gets_calls_soon_and_one_that_left_gets_none() {
    let dir = tempfile::tempdir().unwrap();
    let a = serve(dir.path(), "a").await;
    let client = Client::builder().registry(url(dir.path())).build().unwrap();
    let node: NodeStub = client.stub().unwrap();
    until_answered(&node, &["a"]).await;
    let _b = serve(dir.path(), "b").await;
    until_answered(&node, &["a", "b"]).await;

    // Calls go on while it leaves, and none fails.
    let leaving = tokio::spawn(a.shutdown());
    while !leaving.is_finished() {
        node.whoami().await.unwrap();
    }
    assert_eq!(leaving.await.unwrap(), 0);
    let only_b = || {
        let list = client.instances::<NodeStub>().unwrap().list;
        list.iter().map(|instance| instance.id.as_str()).eq(["b"])
    };
    until(SOON, "it is seen that it left", only_b).await;
    for _ in 0..100 {
        assert_eq!(node.whoami().await.unwrap(), "b");
    }
}

#[tokio::test]
async fn a_consumer_may_come_before_every_provider() {
    let dir = tempfile::tempdir().unwrap();
    let client = Client::builder().registry(url(&dir.path().join("new"))).build().unwrap();
    let node: NodeStub = client.stub().unwrap();
    let error = within(SOON, "a call of nobody", node.whoami()).await.unwrap_err();
    assert_eq!(error.code(), rpc::Code::NoInstance, "{error}");
    let mut changes = client.changes::<NodeStub>().unwrap();
    let _a = serve(&dir.path().join("new"), "a").await;
    let change = within(SOON, "the first provider is seen", changes.next()).await.unwrap();
    assert_eq!(change.added.len(), 1);
    assert_eq!(node.whoami().await.unwrap(), "a");
}

#[tokio::test]
async fn a_directory_that_is_wiped_is_watched_again_and_providers_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let rpc_dir = dir.path().join("rpc");
    let _b = serve(&rpc_dir, "b").await;
    let client = Client::builder().registry(url(&rpc_dir)).build().unwrap();
    let node: NodeStub = client.stub().unwrap();
    until_answered(&node, &["b"]).await;
    std::fs::remove_dir_all(&rpc_dir).unwrap();
    let _a = serve(&rpc_dir, "a").await;
    let knows = |id| client.instances::<NodeStub>().unwrap().list.iter().any(|instance| instance.id == id);
    until(SOON, "the new directory is seen", || knows("a")).await;
    until(Duration::from_secs(5), "who was in the old one is back", || knows("b")).await;
    until_answered(&node, &["a", "b"]).await;
}

#[tokio::test]
async fn a_url_that_is_no_absolute_directory_is_refused_on_both_sides() {
    for url in ["file:shop", "file://shop/dir"] {
        let server = common::server(NodeDispatcher::new(Here)).registry(url);
        let errors: [Box<dyn std::error::Error>; 2] =
            [server.start().await.unwrap_err().into(), Client::builder().registry(url).build().unwrap_err().into()];
        for error in errors {
            let said = format!("{error:?}");
            assert!(said.contains("write `file:///absolute/dir`"), "{said}");
        }
    }
}
