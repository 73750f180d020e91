use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get(&self, (a, b): (u8, u32)) -> Result<u64, RpcError>;
}

fn main() {}
