#![deny(warnings)]

use rpc::{RpcError, rpc_service};

#[rpc_service]
pub trait Users {
    /// Old.
    #[deprecated = "use `find`"]
    async fn get(&self, id: u64) -> Result<u64, RpcError>;
}

pub async fn call(users: UsersStub) {
    let _ = users.get(1).await;
}

fn main() {}
