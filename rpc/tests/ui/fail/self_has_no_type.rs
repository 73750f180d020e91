use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get(self: std::sync::Arc<Self>) -> Result<u64, RpcError>;
}

fn main() {}
