use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get(&self) -> Result<u64, RpcError>
    where
        Self: Sized;
}

fn main() {}
