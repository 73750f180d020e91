use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users<'a> {
    async fn get(&self, id: u64) -> Result<u64, RpcError>;
}

fn main() {}
