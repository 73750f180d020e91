//! A type that would arrive as another value is refused before the first call, on either side.

use std::error::Error;

use rpc::{Client, RpcError, Server, rpc_service};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
enum State {
    #[serde(skip)]
    _Unknown,
    Active,
    Gone,
}

#[rpc_service(name = "States")]
trait States {
    async fn state(&self, id: u64) -> Result<Vec<State>, RpcError>;
}

struct Fixed;

impl States for Fixed {
    async fn state(&self, id: u64) -> Result<Vec<State>, RpcError> {
        Ok(vec![if id == 0 { State::Gone } else { State::Active }])
    }
}

const REASON: &str =
    "`ok[]`: `Deserialize` reads variant `Active` as number 0 where `Serialize` writes it as number 1; move a skipped";

fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[tokio::test]
async fn a_server_does_not_start_with_it() {
    let server = Server::builder().service(StatesDispatcher::new(Fixed)).listen("127.0.0.1:0").start().await;
    let text = chain(&server.unwrap_err());
    assert!(text.contains("`state`") && text.contains(REASON), "{text}");
}

#[tokio::test]
async fn a_client_gives_no_stub_for_it() {
    let client = Client::builder().registry("direct://127.0.0.1:1").build().unwrap();
    let text = chain(&client.stub::<StatesStub>().err().unwrap());
    assert!(text.contains("`States.state`") && text.contains(REASON), "{text}");
}
