use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users<T> {
    async fn get(&self, id: T) -> Result<u64, RpcError>;
}

fn main() {}
