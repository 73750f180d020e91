//! Calls that belong together go to the same instance: what makes a call's key, seen from a client.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::collections::BTreeSet;

use bytes::Bytes;
use rpc::{CallOptions, Client, Context, RpcError, Server, rpc_service};

mod common;

const INSTANCES: [&str; 5] = ["one", "two", "three", "four", "five"];

#[rpc_service(name = "test.Keyed")]
trait Keyed {
    /// The instance, as all of these.
    async fn whole(&self, user: String) -> Result<String, RpcError>;

    async fn marked(&self, noise: u64, #[rpc(hash)] user: String) -> Result<String, RpcError>;

    async fn blob(&self, bytes: Bytes) -> Result<String, RpcError>;

    async fn bare(&self) -> Result<String, RpcError>;
}

struct Named;

fn instance() -> Result<String, RpcError> {
    Ok(Context::current().unwrap().instance().to_owned())
}

impl Keyed for Named {
    async fn whole(&self, _: String) -> Result<String, RpcError> {
        instance()
    }

    async fn marked(&self, _: u64, _: String) -> Result<String, RpcError> {
        instance()
    }

    async fn blob(&self, _: Bytes) -> Result<String, RpcError> {
        instance()
    }

    async fn bare(&self) -> Result<String, RpcError> {
        instance()
    }
}

/// Five instances in the registry `memory:NAME`.
async fn servers(name: &str) -> Vec<Server> {
    let mut servers = Vec::new();
    for id in INSTANCES {
        let server = common::server(KeyedDispatcher::new(Named)).id(id).registry(format!("memory:{name}"));
        servers.push(server.start().await.unwrap());
    }
    servers
}

fn stub(name: &str) -> KeyedStub {
    let client = Client::builder().registry(format!("memory:{name}")).load_balancer("consistentHash");
    client.build().unwrap().stub().unwrap()
}

/// The instances that answer `count` calls, each made with its number.
async fn spread(count: u64, call: impl AsyncFn(u64) -> Result<String, RpcError>) -> BTreeSet<String> {
    let mut instances = BTreeSet::new();
    for number in 0..count {
        instances.insert(call(number).await.unwrap());
    }
    instances
}

#[tokio::test]
async fn equal_arguments_go_to_one_instance_and_different_ones_to_all() {
    let _servers = servers("arguments").await;
    let keyed = stub("arguments");
    assert_eq!(spread(10_000, async |_| keyed.whole("ada".into()).await).await.len(), 1);
    assert_eq!(spread(1_000, async |number| keyed.whole(format!("user:{number}")).await).await.len(), 5);
}

#[tokio::test]
async fn a_marked_argument_wins_over_all_arguments_together() {
    let _servers = servers("marked").await;
    let keyed = stub("marked");
    assert_eq!(spread(1_000, async |noise| keyed.marked(noise, "ada".into()).await).await.len(), 1);
    assert_eq!(spread(1_000, async |number| keyed.marked(0, format!("user:{number}")).await).await.len(), 5);
}

#[tokio::test]
async fn a_key_of_the_call_wins_over_its_arguments() {
    let _servers = servers("explicit").await;
    let keyed = stub("explicit");
    for key in ["ada", "user:3", "user:4"] {
        let together = keyed.with(CallOptions::new().hash_key(key));
        let mut instances = spread(500, async |number| together.whole(format!("user:{number}")).await).await;
        instances.extend(spread(500, async |number| together.marked(number, format!("user:{number}")).await).await);
        instances.extend(spread(100, async |_| together.bare().await).await);
        // The marked argument is hashed as the same bytes.
        instances.insert(keyed.marked(7, key.into()).await.unwrap());
        assert_eq!(instances.len(), 1, "{key}: {instances:?}");
    }
    let own = async |number| keyed.with(CallOptions::new().hash_key(format!("user:{number}"))).bare().await;
    assert_eq!(spread(1_000, own).await.len(), 5);
}

#[tokio::test]
async fn long_bytes_are_a_key_as_short_ones_are() {
    let _servers = servers("bytes").await;
    let keyed = stub("bytes");
    let mut instances = BTreeSet::new();
    for number in 0..100u16 {
        let length = 16 * 1024 - 50 + number;
        let bytes = vec![number as u8; length.into()];
        // As bincode writes them: a mark, their length, and all of them.
        let key = [&[251], &length.to_le_bytes()[..], &bytes].concat();
        let owner = keyed.blob(bytes.into()).await.unwrap();
        assert_eq!(keyed.with(CallOptions::new().hash_key(key)).bare().await.unwrap(), owner, "{length}");
        instances.insert(owner);
    }
    assert_eq!(instances.len(), 5);
}

#[tokio::test]
async fn calls_without_argument_and_key_are_spread() {
    let _servers = servers("bare").await;
    let keyed = stub("bare");
    assert_eq!(spread(1_000, async |_| keyed.bare().await).await.len(), 5);
}

#[tokio::test]
async fn an_empty_key_is_a_key_like_any_other() {
    let _servers = servers("empty").await;
    let keyed = stub("empty");
    let empty = keyed.with(CallOptions::new().hash_key(""));
    let mut instances = spread(500, async |number| empty.whole(format!("user:{number}")).await).await;
    instances.extend(spread(500, async |_| empty.bare().await).await);
    instances.extend(spread(500, async |noise| keyed.marked(noise, String::new()).await).await);
    assert_eq!(instances.len(), 1, "{instances:?}");
}

#[tokio::test]
async fn another_client_sends_the_same_keys_to_the_same_instances() {
    let _servers = servers("clients").await;
    let (first, second) = (stub("clients"), stub("clients"));
    for number in 0..1_000 {
        let user = format!("user:{number}");
        let owner = first.marked(1, user.clone()).await.unwrap();
        assert_eq!(second.marked(2, user.clone()).await.unwrap(), owner);
        assert_eq!(first.whole(user.clone()).await.unwrap(), second.whole(user).await.unwrap());
    }
}
