use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get(id: u64) -> Result<u64, RpcError>;
}

fn main() {}
