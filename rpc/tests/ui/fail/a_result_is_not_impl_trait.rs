use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get(&self) -> Result<impl Send, RpcError>;
}

fn main() {}
