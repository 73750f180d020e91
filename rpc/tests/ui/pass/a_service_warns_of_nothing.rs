//! Whatever of a service is used or not, and however visible it is.
#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub, unused, rust_2018_idioms)]

use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Unused {
    async fn method(&self, _argument: u8) -> Result<(), RpcError>;
}

#[rpc_service(crate = rpc)]
pub(crate) trait OnlyCalled {
    async fn method(&self) -> Result<(), RpcError>;
}

#[rpc_service(crate = rpc,)]
trait OnlyServed {
    #[deprecated]
    async fn method(&self) -> Result<(), RpcError>;
}

struct Implementation;

impl OnlyServed for Implementation {
    async fn method(&self) -> Result<(), RpcError> {
        Ok(())
    }
}

async fn call(stub: OnlyCalledStub) -> Result<(), RpcError> {
    stub.method().await
}

fn main() {
    let _ = (call, OnlyServedDispatcher::new(Implementation));
}
