use std::rc::Rc;

use rpc::{RpcError, rpc_service};

#[rpc_service]
trait Users {
    async fn get(&self, id: u64) -> Result<u64, RpcError>;
}

struct MyUsers;

impl Users for MyUsers {
    async fn get(&self, id: u64) -> Result<u64, RpcError> {
        let id = Rc::new(id);
        std::future::ready(()).await;
        Ok(*id)
    }
}

fn main() {}
