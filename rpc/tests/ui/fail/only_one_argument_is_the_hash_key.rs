use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get(&self, #[rpc(hash)] a: u64, #[rpc(hash)] b: u64) -> Result<u64, RpcError>;
}

fn main() {}
