use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get(&self, #[cfg(all())] a: u64) -> Result<u64, RpcError>;
}

fn main() {}
