use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get<const N: usize>(&self, id: [u8; N]) -> Result<u64, RpcError>;
}

fn main() {}
