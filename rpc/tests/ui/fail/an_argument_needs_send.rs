use std::marker::PhantomData;

use rpc::{RpcError, rpc_service};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Local(PhantomData<*const u8>);

#[rpc_service]
trait Users {
    async fn get(&self, id: Local) -> Result<u64, RpcError>;
}

fn main() {}
