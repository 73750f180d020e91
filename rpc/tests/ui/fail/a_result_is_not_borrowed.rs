use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get(&self) -> Result<&str, RpcError>;
}

fn main() {}
