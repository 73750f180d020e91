use rpc::rpc_service;

#[rpc_service]
struct Users {
    name: String,
}

fn main() {}
