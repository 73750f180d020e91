use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get(mut self) -> Result<u64, RpcError>;
}

fn main() {}
