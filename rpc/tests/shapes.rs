//! Two sides that disagree on a service get an error that says so, never wrong values.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::raw::{self, Frame, Raw};
use common::{server, stub, within};
use rpc::{CallOptions, Code, Executed, RpcError, Server};

mod common;

const AT_ONCE: Duration = Duration::from_millis(100);

/// The service as the server has it.
mod provider {
    use rpc::{RpcError, rpc_service};
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(crate) struct User {
        pub(crate) name: String,
        pub(crate) home: Address,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Address {
        pub(crate) street: u32,
        pub(crate) house: u32,
    }

    #[rpc_service(name = "test.Users")]
    pub(crate) trait Users {
        async fn add(&self, a: u32, b: u32) -> Result<u32, RpcError>;
        async fn typed(&self, user: User) -> Result<u32, RpcError>;
        async fn ordered(&self, user: User) -> Result<u32, RpcError>;
        async fn named(&self, user: User) -> Result<u32, RpcError>;
        async fn longer(&self, a: u32, b: u32) -> Result<u32, RpcError>;
        async fn answered(&self) -> Result<User, RpcError>;
        async fn newest(&self) -> Result<u32, RpcError>;
    }

    /// Must be called for `add` only.
    pub(crate) struct Server;

    impl Users for Server {
        async fn add(&self, a: u32, b: u32) -> Result<u32, RpcError> {
            Ok(a + b)
        }

        async fn typed(&self, _user: User) -> Result<u32, RpcError> {
            panic!("called with other types")
        }

        async fn ordered(&self, _user: User) -> Result<u32, RpcError> {
            panic!("called with other types")
        }

        async fn named(&self, _user: User) -> Result<u32, RpcError> {
            panic!("called with other types")
        }

        async fn longer(&self, _a: u32, _b: u32) -> Result<u32, RpcError> {
            panic!("called with other types")
        }

        async fn answered(&self) -> Result<User, RpcError> {
            panic!("called with other types")
        }

        async fn newest(&self) -> Result<u32, RpcError> {
            panic!("called by one who does not know of it")
        }
    }
}

/// The service as the client has it: one method fewer, one more, and types that differ in depth.
mod consumer {
    use rpc::{RpcError, rpc_service};
    use serde::{Deserialize, Serialize};

    /// `User`, with an address of another kind.
    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(crate) struct User<A> {
        pub(crate) name: String,
        pub(crate) home: A,
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Typed {
        pub(crate) street: u32,
        pub(crate) house: i32,
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Ordered {
        pub(crate) house: u32,
        pub(crate) street: u32,
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Named {
        pub(crate) street: u32,
        pub(crate) number: u32,
    }

    #[rpc_service(name = "test.Users")]
    pub(crate) trait Users {
        async fn removed(&self) -> Result<u32, RpcError>;
        async fn typed(&self, user: User<Typed>) -> Result<u32, RpcError>;
        async fn ordered(&self, user: User<Ordered>) -> Result<u32, RpcError>;
        async fn named(&self, user: User<Named>) -> Result<u32, RpcError>;
        async fn longer(&self, a: u32) -> Result<u32, RpcError>;
        async fn answered(&self) -> Result<User<Typed>, RpcError>;
        async fn add(&self, a: u32, b: u32) -> Result<u32, RpcError>;
    }

    #[rpc_service(name = "test.Nowhere")]
    pub(crate) trait Nowhere {
        async fn call(&self) -> Result<u32, RpcError>;
    }
}

use consumer::{Nowhere as _, Users as _};

async fn provider() -> (Server, consumer::UsersStub) {
    let server = server(provider::UsersDispatcher::new(provider::Server)).start().await.unwrap();
    let stub = stub(server.address());
    (server, stub)
}

/// A call that fails at once, unsent, with an error of this code that says all of `parts`; then another call works.
async fn refused<T: std::fmt::Debug>(
    users: &consumer::UsersStub,
    call: impl Future<Output = Result<T, RpcError>>,
    code: Code,
    parts: &[&str],
) {
    let error = within(AT_ONCE, parts[0], call).await.unwrap_err();
    println!("  {error}");
    assert_eq!((error.code(), error.executed()), (code, Executed::No), "{error}");
    for part in parts {
        assert!(error.message().contains(part), "{error} should say: {part}");
    }
    assert!(!error.message().contains("no difference"), "{error} should say what differs and nothing else");
    assert_eq!(users.add(40, 2).await.unwrap(), 42);
}

#[tokio::test]
async fn an_unknown_service_is_named() {
    let (server, users) = provider().await;
    let nowhere: consumer::NowhereStub = stub(server.address());
    refused(&users, nowhere.call(), Code::ServiceNotFound, &["test.Nowhere.call", "does not have the service"]).await;
}

#[tokio::test]
async fn an_unknown_method_is_named() {
    let (_server, users) = provider().await;
    let parts = ["test.Users.removed", "does not have the method"];
    refused(&users, users.removed(), Code::MethodNotFound, &parts).await;
}

#[tokio::test]
async fn a_report_names_who_does_not_fit_each_time() {
    let (server, users) = provider().await;
    let steps = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&steps);
    let users = users.with(CallOptions::new().observe(move |report| seen.lock().unwrap().extend(report.steps.clone())));
    users.removed().await.unwrap_err();
    users.longer(1).await.unwrap_err();
    users.longer(2).await.unwrap_err();
    let steps = std::mem::take(&mut *steps.lock().unwrap());
    let codes: Vec<_> = steps.iter().map(|step| step.code).collect();
    assert_eq!(codes, [Code::MethodNotFound, Code::SchemaMismatch, Code::SchemaMismatch].map(Some));
    for step in &steps {
        assert_eq!((step.run, &step.instance, step.executed), (1, &server.address().to_string(), Executed::No));
    }
}

#[tokio::test]
async fn a_method_that_only_the_server_has_disturbs_nobody() {
    let (server, users) = provider().await;
    let (_, welcome) = Raw::greet(server.address()).await;
    assert_eq!(welcome.methods.len(), 7, "the position of `add` differs on the two sides");
    assert_eq!(users.add(1, 2).await.unwrap(), 3);
}

#[tokio::test]
async fn one_more_argument_is_shown() {
    let (_server, users) = provider().await;
    let parts = ["test.Users.longer", "arguments: one more value there: argument 2"];
    refused(&users, users.longer(1), Code::SchemaMismatch, &parts).await;
}

#[tokio::test]
async fn another_type_deep_inside_is_shown() {
    let (_server, users) = provider().await;
    let parts = ["test.Users.typed", "arguments: argument 1.home.house: i32 here, u32 there"];
    refused(&users, users.typed(Default::default()), Code::SchemaMismatch, &parts).await;
}

#[tokio::test]
async fn another_order_deep_inside_is_shown() {
    let (_server, users) = provider().await;
    let parts = [
        "test.Users.ordered",
        "arguments: argument 1.home: fields in another order: house, street here, street, house there",
    ];
    refused(&users, users.ordered(Default::default()), Code::SchemaMismatch, &parts).await;
}

#[tokio::test]
async fn another_name_deep_inside_is_shown() {
    let (_server, users) = provider().await;
    let parts = ["test.Users.named", "arguments: argument 1.home: field 2: `number` here, `house` there"];
    refused(&users, users.named(Default::default()), Code::SchemaMismatch, &parts).await;
}

#[tokio::test]
async fn another_type_in_the_result_is_shown() {
    let (_server, users) = provider().await;
    let parts = ["test.Users.answered", "home.house: i32 here, u32 there"];
    refused(&users, users.answered(), Code::SchemaMismatch, &parts).await;
    // Known by now: the server is not asked again.
    refused(&users, users.answered(), Code::SchemaMismatch, &parts).await;
}

#[tokio::test]
async fn bytes_too_few_or_too_many_are_a_bad_request() {
    let (server, _) = provider().await;
    let (mut raw, welcome) = Raw::greet(server.address()).await;
    let (add, typed) = (welcome.position("add"), welcome.position("typed"));
    let bodies: [(usize, &[u8], &str); 6] = [
        (add, &[], "argument 1: cannot decode `u32` at byte 0: the body ends here"),
        (add, &[1], "argument 2: cannot decode `u32` at byte 1: the body ends here"),
        (add, &[1, 0xFC, 0, 0], "2 bytes are missing"),
        (add, &[1, 2, 3], "1 bytes are left over"),
        (add, &[0xFE; 40], "argument 1"),
        (typed, &[1, b'A', 1], "argument 1: cannot decode"),
    ];
    for (id, (method, body, part)) in (0..).zip(bodies) {
        let answer = within(AT_ONCE, "refused", raw.ask(Frame::request(id, method, body))).await;
        let (code, message) = answer.status().expect("a status");
        assert_eq!(code, raw::BAD_REQUEST, "{message}");
        assert!(message.contains(part), "{message} should say: {part}");
        assert_eq!(raw.ask(Frame::request(id, add, &[40, 2])).await.payload, [42]);
    }
}

#[tokio::test]
async fn a_position_that_is_not_in_the_table_is_refused() {
    let (server, _) = provider().await;
    let (mut raw, welcome) = Raw::greet(server.address()).await;
    for position in [welcome.methods.len(), u32::MAX as usize] {
        let answer = within(AT_ONCE, "refused", raw.ask(Frame::request(1, position, &[]))).await;
        let (code, message) = answer.status().expect("a status");
        assert_eq!((code, message), (raw::UNKNOWN_METHOD, format!("this port has no method number {position}")));
    }
    let mut request = Frame::request(2, 0, &[40, 2]);
    request.codec = 3;
    let (code, message) = raw.ask(request).await.status().expect("a status");
    assert_eq!(code, raw::UNSUPPORTED_CODEC, "{message}");
    assert_eq!(raw.ask(Frame::request(3, welcome.position("add"), &[40, 2])).await.payload, [42]);
}
