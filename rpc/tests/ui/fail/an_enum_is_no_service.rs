use rpc::rpc_service;

#[rpc_service]
enum Users {}

fn main() {}
