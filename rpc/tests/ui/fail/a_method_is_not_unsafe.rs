use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async unsafe fn get(&self) -> Result<u64, RpcError>;
}

fn main() {}
