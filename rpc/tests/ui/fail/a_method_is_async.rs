use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    fn get(&self) -> Result<u64, RpcError>;
}

fn main() {}
