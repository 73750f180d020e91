use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get(&'static self) -> Result<u64, RpcError>;
}

fn main() {}
