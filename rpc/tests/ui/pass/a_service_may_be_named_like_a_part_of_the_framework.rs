use rpc::{RpcError, rpc_service};

macro_rules! services {
    ($($name:ident)*) => {
        $(
            mod $name {
                #[super::rpc_service]
                pub trait $name {
                    async fn method(&self) -> Result<u8, super::RpcError>;
                }
            }
        )*
    };
}

#[allow(non_snake_case, dead_code, reason = "the modules are named after the services, and compiling them is all")]
mod all {
    use super::*;

    services! {
        T Service Stub Dispatch Dispatcher Channel Method Request Signature Arguments Outcome CallOptions
        Send Sync Future Clone Debug Arc Self_
    }
}

fn main() {}
