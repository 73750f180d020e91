use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get(&self, _: u8) -> Result<u64, RpcError>;
}

fn main() {}
