use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn with(&self) -> Result<u64, RpcError>;
    async fn clone(&self) -> Result<u64, RpcError>;
    async fn to_owned(&self) -> Result<u64, RpcError>;
    async fn into(&self) -> Result<u64, RpcError>;
    async fn try_into(&self) -> Result<u64, RpcError>;
}

fn main() {}
