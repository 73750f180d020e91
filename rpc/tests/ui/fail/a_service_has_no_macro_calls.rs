use rpc::{RpcError, rpc_service};

macro_rules! methods {
    () => {};
}

#[rpc_service]
trait Users {
    methods!();

    async fn get(&self, id: u64) -> Result<u64, RpcError>;
}

fn main() {}
