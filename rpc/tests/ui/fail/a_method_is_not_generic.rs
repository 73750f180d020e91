use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get<T: Send>(&self, id: T) -> Result<u64, RpcError>;
}

fn main() {}
