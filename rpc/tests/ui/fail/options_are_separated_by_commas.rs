use rpc::{RpcError, rpc_service};

#[rpc_service(name = "a"; crate = rpc)]
trait Users {
    async fn get(&self, id: u64) -> Result<u64, RpcError>;
}

fn main() {}
