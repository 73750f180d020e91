use rpc::{RpcError, rpc_service};

struct Opaque;

#[rpc_service]
trait Users {
    async fn get(&self, first: u64, second: Opaque) -> Result<u64, RpcError>;
}

fn main() {}
