use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get(&self, name: impl Into<String>) -> Result<u64, RpcError>;
}

fn main() {}
