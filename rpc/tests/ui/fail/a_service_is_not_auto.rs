use rpc::rpc_service;

#[rpc_service]
auto trait Users {}

fn main() {}
