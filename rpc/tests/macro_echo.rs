//! What is passed arrives, whatever the number of arguments and the type of the result.

use rpc::{RpcError, rpc_service};
use serde::{Deserialize, Serialize};

#[macro_use]
mod serve;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct User {
    name: String,
    age: u8,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Refusal {
    TooYoung { minimum: u8 },
    Unreachable(String),
}

impl From<RpcError> for Refusal {
    fn from(error: RpcError) -> Self {
        Self::Unreachable(format!("{error:?}"))
    }
}

type Answer<T> = Result<T, RpcError>;

#[rpc_service]
trait Counts {
    async fn none(&self) -> Answer<u8>;
    async fn one(&self, a: u64) -> Answer<u64>;
    async fn two(&self, a: u64, b: String) -> Answer<(u64, String)>;
    #[allow(clippy::too_many_arguments, reason = "how many there may be is what is shown")]
    async fn twelve(
        &self,
        a: u8,
        b: u8,
        c: u8,
        d: u8,
        e: u8,
        f: u8,
        g: u8,
        h: u8,
        i: u8,
        j: u8,
        k: u8,
        l: u8,
    ) -> Answer<Vec<u8>>;
    #[allow(clippy::too_many_arguments, reason = "how many there may be is what is shown")]
    async fn thirteen(
        &self,
        a: u8,
        b: u8,
        c: u8,
        d: u8,
        e: u8,
        f: u8,
        g: u8,
        h: u8,
        i: u8,
        j: u8,
        k: u8,
        l: u8,
        m: u8,
    ) -> Answer<Vec<u8>>;
    #[allow(clippy::too_many_arguments, reason = "how many there may be is what is shown")]
    async fn twenty(
        &self,
        a: u8,
        b: u8,
        c: u8,
        d: u8,
        e: u8,
        f: u8,
        g: u8,
        h: u8,
        i: u8,
        j: u8,
        k: u8,
        l: u8,
        m: u8,
        n: u8,
        o: u8,
        p: u8,
        q: u8,
        r: u8,
        s: u8,
        t: String,
    ) -> Answer<(Vec<u8>, String)>;
}

struct Echo;

impl Counts for Echo {
    async fn none(&self) -> Answer<u8> {
        Ok(7)
    }

    async fn one(&self, a: u64) -> Answer<u64> {
        Ok(a)
    }

    async fn two(&self, a: u64, b: String) -> Answer<(u64, String)> {
        Ok((a, b))
    }

    async fn twelve(
        &self,
        a: u8,
        b: u8,
        c: u8,
        d: u8,
        e: u8,
        f: u8,
        g: u8,
        h: u8,
        i: u8,
        j: u8,
        k: u8,
        l: u8,
    ) -> Answer<Vec<u8>> {
        Ok(vec![a, b, c, d, e, f, g, h, i, j, k, l])
    }

    async fn thirteen(
        &self,
        a: u8,
        b: u8,
        c: u8,
        d: u8,
        e: u8,
        f: u8,
        g: u8,
        h: u8,
        i: u8,
        j: u8,
        k: u8,
        l: u8,
        m: u8,
    ) -> Answer<Vec<u8>> {
        Ok(vec![a, b, c, d, e, f, g, h, i, j, k, l, m])
    }

    async fn twenty(
        &self,
        a: u8,
        b: u8,
        c: u8,
        d: u8,
        e: u8,
        f: u8,
        g: u8,
        h: u8,
        i: u8,
        j: u8,
        k: u8,
        l: u8,
        m: u8,
        n: u8,
        o: u8,
        p: u8,
        q: u8,
        r: u8,
        s: u8,
        t: String,
    ) -> Answer<(Vec<u8>, String)> {
        Ok((vec![a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s], t))
    }
}

#[rpc_service(name = "test.Results")]
trait Results {
    async fn unit(&self) -> Result<(), RpcError>;
    async fn nested(&self, users: Option<Vec<User>>) -> Result<Option<Vec<User>>, RpcError>;
    async fn alias(&self, user: User) -> Answer<User>;
    async fn own_error(&self, age: u8) -> Result<u8, Refusal>;
}

impl Results for Echo {
    async fn unit(&self) -> Result<(), RpcError> {
        Ok(())
    }

    async fn nested(&self, users: Option<Vec<User>>) -> Result<Option<Vec<User>>, RpcError> {
        Ok(users)
    }

    async fn alias(&self, user: User) -> Answer<User> {
        Ok(user)
    }

    async fn own_error(&self, age: u8) -> Result<u8, Refusal> {
        match age {
            18.. => Ok(age),
            _ => Err(Refusal::TooYoung { minimum: 18 }),
        }
    }
}

#[tokio::test]
async fn echoes_any_number_of_arguments_in_their_order() {
    let (_server, stub): (_, CountsStub) = serve!(CountsDispatcher::new(Echo));

    assert_eq!(stub.none().await.unwrap(), 7);
    assert_eq!(stub.one(u64::MAX).await.unwrap(), u64::MAX);
    let two = stub.two(1, "b".into()).await.unwrap();
    assert_eq!(two, (1, "b".to_owned()));
    let twelve = stub.twelve(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12).await.unwrap();
    assert_eq!(twelve, (1..=12).collect::<Vec<_>>());
    let thirteen = stub.thirteen(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13).await.unwrap();
    assert_eq!(thirteen, (1..=13).collect::<Vec<_>>());
    let twenty =
        stub.twenty(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, "t".into()).await.unwrap();
    assert_eq!(twenty, ((1..=19).collect(), "t".to_owned()));
}

#[tokio::test]
async fn returns_every_kind_of_result() {
    let (_server, stub): (_, ResultsStub) = serve!(ResultsDispatcher::new(Echo));
    let ada = User { name: "Ada".into(), age: 36 };

    stub.unit().await.unwrap();
    let users = Some(vec![ada.clone(), ada.clone()]);
    assert_eq!(stub.nested(users.clone()).await.unwrap(), users);
    assert_eq!(stub.nested(None).await.unwrap(), None);
    assert_eq!(stub.alias(ada.clone()).await.unwrap(), ada);
    assert_eq!(stub.own_error(18).await, Ok(18));
    assert_eq!(stub.own_error(17).await, Err(Refusal::TooYoung { minimum: 18 }));
}

#[tokio::test]
async fn can_be_called_from_spawned_tasks_and_through_the_trait() {
    async fn through_the_trait(counts: impl Counts) -> u64 {
        let task = async move { counts.one(3).await };
        tokio::spawn(task).await.unwrap().unwrap()
    }
    let (_server, stub): (_, CountsStub) = serve!(CountsDispatcher::new(Echo));

    let spawned = tokio::spawn({
        let stub = stub.clone();
        async move { stub.with(rpc::CallOptions::new()).one(2).await }
    });
    assert_eq!(spawned.await.unwrap().unwrap(), 2);
    assert_eq!(through_the_trait(stub).await, 3);
    assert_eq!(through_the_trait(Echo).await, 3);
}
