//! JSON bodies: beside bincode on the same port, between types that differ, and by hand.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::collections::BTreeSet;
use std::error::Error;
use std::net::SocketAddr;

use common::raw::{self, Frame, Raw, Welcome};
use rpc::{Client, Code, Codec, Executed, Server};
use tokio::net::TcpListener;

mod common;

/// The service as the server has it.
mod provider {
    use std::collections::BTreeMap;

    use rpc::{Context, RpcError, rpc_service};
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Order {
        pub(crate) id: u64,
        pub(crate) note: Option<String>,
        pub(crate) items: BTreeMap<String, Vec<(i16, f32)>>,
        pub(crate) state: State,
    }

    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub(crate) enum State {
        #[default]
        Received,
        Shipped {
            at: u64,
            label: Vec<u8>,
        },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(crate) enum ShopError {
        SoldOut { left: u8 },
        Rpc(String),
    }

    impl From<RpcError> for ShopError {
        fn from(error: RpcError) -> Self {
            Self::Rpc(error.to_string())
        }
    }

    #[rpc_service(name = "test.Shop")]
    pub(crate) trait Shop {
        async fn echo(&self, order: Order) -> Result<Order, RpcError>;
        async fn copy(&self, text: String, bytes: Vec<u8>) -> Result<(String, Vec<u8>), RpcError>;
        async fn buy(&self, item: String, count: u32) -> Result<(), ShopError>;
        async fn refuse(&self) -> Result<u32, RpcError>;
        async fn inverse(&self, number: f64) -> Result<f64, RpcError>;
        async fn place(&self, #[rpc(hash)] user: String, noise: u64) -> Result<String, RpcError>;
        async fn anywhere(&self) -> Result<String, RpcError>;
    }

    pub(crate) struct Local;

    impl Shop for Local {
        async fn echo(&self, order: Order) -> Result<Order, RpcError> {
            Ok(order)
        }

        async fn copy(&self, text: String, bytes: Vec<u8>) -> Result<(String, Vec<u8>), RpcError> {
            Ok((text, bytes))
        }

        async fn buy(&self, _item: String, count: u32) -> Result<(), ShopError> {
            if count > 3 { Err(ShopError::SoldOut { left: 3 }) } else { Ok(()) }
        }

        async fn refuse(&self) -> Result<u32, RpcError> {
            Err(RpcError::new("not \"today\""))
        }

        async fn inverse(&self, number: f64) -> Result<f64, RpcError> {
            Ok(1.0 / number)
        }

        async fn place(&self, _user: String, _noise: u64) -> Result<String, RpcError> {
            self.anywhere().await
        }

        async fn anywhere(&self) -> Result<String, RpcError> {
            Ok(Context::current().unwrap().instance().to_owned())
        }
    }
}

/// The service as a client has it whose types differ from the server's.
mod consumer {
    use std::collections::BTreeMap;

    use rpc::{RpcError, rpc_service};
    use serde::{Deserialize, Serialize};

    /// Of a kind that bincode cannot carry. Lacks a field and has one more.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Order {
        pub(crate) state: serde_json::Value,
        pub(crate) id: Id,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) note: Option<String>,
        #[serde(flatten)]
        pub(crate) rest: BTreeMap<String, serde_json::Value>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    pub(crate) enum Id {
        Number(u64),
        Text(String),
    }

    #[rpc_service(name = "test.Shop")]
    pub(crate) trait Shop {
        async fn echo(&self, order: Order) -> Result<Order, RpcError>;
        async fn copy(&self, text: String) -> Result<(String, Vec<u8>), RpcError>;
        async fn anywhere(&self) -> Result<u64, RpcError>;
        async fn inverse(&self, table: BTreeMap<(u8, u8), u8>) -> Result<f64, RpcError>;
    }
}

use consumer::Shop as _;
use provider::{Order, Shop as _, ShopDispatcher, ShopError, ShopStub, State};

async fn server() -> Server {
    common::server(ShopDispatcher::new(provider::Local)).start().await.unwrap()
}

fn client(address: SocketAddr, codec: Codec) -> Client {
    common::client(&[address]).codec(codec).build().unwrap()
}

fn order() -> Order {
    Order {
        id: u64::MAX,
        note: Some("grün \u{0}".into()),
        items: [("a".into(), vec![(-1, 0.1), (2, -0.0)]), (String::new(), vec![])].into(),
        state: State::Shipped { at: 7, label: vec![0, 255] },
    }
}

#[tokio::test]
async fn one_server_answers_clients_of_both_codecs_at_once() {
    let server = server().await;
    let [bincode, json]: [ShopStub; 2] =
        [Codec::Bincode, Codec::Json].map(|codec| client(server.address(), codec).stub().unwrap());
    for _ in 0..100 {
        let (one, other) = tokio::join!(bincode.echo(order()), json.echo(order()));
        assert_eq!((one.unwrap(), other.unwrap()), (order(), order()));
    }
    assert_eq!(json.buy("tea".into(), 1).await, Ok(()));
}

#[tokio::test]
async fn the_services_own_errors_arrive() {
    let server = server().await;
    for codec in [Codec::Bincode, Codec::Json] {
        let shop: ShopStub = client(server.address(), codec).stub().unwrap();
        assert_eq!(shop.buy("tea".into(), 4).await, Err(ShopError::SoldOut { left: 3 }));
        let error = shop.refuse().await.unwrap_err();
        assert_eq!((error.code(), error.message()), (Code::Remote, "not \"today\""));
    }
}

#[tokio::test]
async fn a_body_of_a_megabyte_arrives() {
    let server = server().await;
    let shop: ShopStub = client(server.address(), Codec::Json).stub().unwrap();
    let text = "\"ü\n".repeat(250_000);
    let bytes: Vec<u8> = (0..1_000_000u32).map(|number| number as u8).collect();
    let (text_back, bytes_back) = shop.copy(text.clone(), bytes.clone()).await.unwrap();
    assert!(text_back == text && bytes_back == bytes);
}

#[tokio::test]
async fn types_that_differ_are_called_all_the_same_if_the_client_speaks_json() {
    let server = server().await;
    let shop: consumer::ShopStub = client(server.address(), Codec::Json).stub().unwrap();
    let sent = |id| consumer::Order {
        state: "Received".into(),
        id,
        note: None,
        rest: [("items".to_owned(), serde_json::json!({"a": [[1, 1.5]]}))].into(),
    };
    assert_eq!(shop.echo(sent(consumer::Id::Number(7))).await.unwrap(), sent(consumer::Id::Number(7)));

    let error = shop.echo(sent(consumer::Id::Text("seven".into()))).await.unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::BadRequest, Executed::No));
    let parts = ["`test.Shop.echo`: argument 1: cannot decode", "invalid type: string \"seven\", expected u64"];
    assert!(parts.iter().all(|part| error.message().contains(part)), "{error}");

    let error = shop.copy("a".into()).await.unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::BadRequest, Executed::No));
    assert!(error.message().contains("argument 2: cannot decode"), "{error}");
    assert!(error.message().contains("the method takes more arguments"), "{error}");

    let error = shop.anywhere().await.unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::Codec, Executed::Yes));
    assert!(error.message().contains("`test.Shop.anywhere`: the answer cannot be decoded"), "{error}");
    let source = error.source().unwrap().to_string();
    assert!(source.contains("cannot decode `u64`") && source.contains("invalid type: string"), "{source}");
}

#[tokio::test]
async fn a_stub_of_types_that_only_json_can_carry_is_refused_to_a_client_that_speaks_bincode() {
    let error = client("127.0.0.1:1".parse().unwrap(), Codec::default()).stub::<consumer::ShopStub>().unwrap_err();
    assert!(format!("{error:?}").contains("`test.Shop.echo`: the arguments cannot travel"), "{error:?}");
}

#[tokio::test]
async fn what_json_cannot_carry_is_not_sent() {
    let server = server().await;
    let shop: ShopStub = client(server.address(), Codec::Json).stub().unwrap();
    let error = shop.inverse(f64::NAN).await.unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::Codec, Executed::No));
    assert!(error.message().contains("`test.Shop.inverse`: the arguments cannot be encoded"), "{error}");
    let source = error.source().unwrap().to_string();
    assert_eq!(source, "argument 1: cannot encode `f64`: NaN is no number in json");

    let error = shop.inverse(0.0).await.unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::Internal, Executed::Maybe));
    assert!(error.message().contains("`test.Shop.inverse`: the answer cannot be encoded"), "{error}");
    assert!(error.message().contains("inf is no number in json"), "{error}");

    let shop: consumer::ShopStub = client(server.address(), Codec::Json).stub().unwrap();
    let error = shop.inverse([((1, 2), 3)].into()).await.unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::Codec, Executed::No));
    assert!(error.source().unwrap().to_string().contains("a key of a map"), "{error:?}");
}

#[tokio::test]
async fn a_key_means_the_same_instance_under_both_codecs() {
    let mut servers = Vec::new();
    for id in ["one", "two", "three", "four", "five"] {
        let server = common::server(ShopDispatcher::new(provider::Local)).id(id).registry("memory:json");
        servers.push(server.start().await.unwrap());
    }
    let stub = |codec| -> ShopStub {
        let client = Client::builder().registry("memory:json").load_balancer("consistentHash").codec(codec);
        client.build().unwrap().stub().unwrap()
    };
    let (bincode, json) = (stub(Codec::Bincode), stub(Codec::Json));
    let mut places = BTreeSet::new();
    for number in 0..200 {
        let user = format!("user:{number}");
        let place = bincode.place(user.clone(), 1).await.unwrap();
        assert_eq!(json.place(user, number).await.unwrap(), place);
        places.insert(place);
    }
    assert_eq!(places.len(), 5);
    let mut bare = BTreeSet::new();
    for _ in 0..1_000 {
        bare.insert(json.anywhere().await.unwrap());
    }
    assert_eq!(bare.len(), 5, "calls without argument and key are spread");
}

#[tokio::test]
async fn a_fallback_answers_in_json_too() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = common::client(&[nobody]).codec(Codec::Json).fault("failSafe").build().unwrap();
    let shop: ShopStub = client.stub_with_fallback(ShopDispatcher::new(provider::Local)).unwrap();
    assert_eq!(shop.echo(order()).await.unwrap(), order());
    assert_eq!(shop.anywhere().await.unwrap(), "fallback");
    assert_eq!(shop.buy("tea".into(), 4).await, Err(ShopError::SoldOut { left: 3 }));
    let error = shop.inverse(0.0).await.unwrap_err();
    assert!(error.message().contains("the fallback: the answer cannot be encoded"), "{error}");
}

#[tokio::test]
async fn a_script_calls_by_hand_and_each_answer_has_the_codec_of_its_request() {
    let server = server().await;
    let (mut raw, welcome) = Raw::greet(server.address()).await;
    let json = |id, method, body: &str| {
        let mut request = Frame::request(id, welcome.position(method), body.as_bytes());
        request.codec = 2;
        request
    };
    let answers = [
        ("inverse", "[4]", 0, "0.25"),
        ("buy", " [\"tea\",\r\n1 ] ", 0, "null"),
        ("buy", r#"["tea",4]"#, 1, r#"{"SoldOut":{"left":3}}"#),
        ("refuse", "[]", 1, r#""not \"today\"""#),
        ("copy", r#"["\u00fc",[1,2]]"#, 0, r#"["ü",[1,2]]"#),
    ];
    for (id, (method, body, flags, answer)) in (0..).zip(answers) {
        let frame = raw.ask(json(id, method, body)).await;
        assert_eq!((frame.codec, frame.flags, str::from_utf8(&frame.payload).unwrap()), (2, flags, answer));
        let bincode = raw.ask(Frame::request(id, welcome.position("refuse"), &[])).await;
        assert_eq!((bincode.codec, bincode.flags, &bincode.payload[..]), (1, 1, &b"\x0bnot \"today\""[..]));
    }
    for body in ["", "4", "[4", "[]", "[4,4]", "[4]]", "[\"4\"]", "{\"number\":4}", "[4]\0"] {
        let (code, message) = raw.ask(json(9, "inverse", body)).await.status().expect("a status");
        assert_eq!(code, raw::BAD_REQUEST, "{body}: {message}");
    }
}

#[tokio::test]
async fn an_answer_is_read_in_the_codec_that_it_names() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let shop: ShopStub = client(listener.local_addr().unwrap(), Codec::Json).stub().unwrap();
    let answering = async {
        let mut peer = Raw::accept(&listener).await;
        let method = ("test.Shop".into(), "anywhere".into(), 0, 0);
        let (instance, methods) = ("peer".into(), vec![method]);
        let welcome = Welcome { max_frame: 1_000, max_in_flight: 1, incarnation: 0, instance, methods };
        peer.send(&Frame::new(raw::HELLO, 0, 0, welcome.bytes()).bytes()).await.unwrap();
        let request = peer.read().await.unwrap().unwrap();
        assert_eq!((request.codec, &request.payload[request.payload.len() - 2..]), (2, &b"[]"[..]));
        peer.send(&Frame::new(raw::RESPONSE, 0, request.id, *b"\x03abc").bytes()).await.unwrap();
        peer
    };
    let (answer, _peer) = tokio::join!(shop.anywhere(), answering);
    assert_eq!(answer.unwrap(), "abc");
}
