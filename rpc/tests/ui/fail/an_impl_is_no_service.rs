use rpc::rpc_service;

struct Users;

#[rpc_service]
impl Users {
    fn new() -> Self {
        Self
    }
}

fn main() {}
