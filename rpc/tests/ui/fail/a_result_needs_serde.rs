use rpc::{RpcError, rpc_service};

struct Opaque;

#[rpc_service]
trait Users {
    async fn get(&self) -> Result<Opaque, RpcError>;
}

fn main() {}
