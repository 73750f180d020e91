use rpc::rpc_service;

#[rpc_service]
trait Users {}

fn main() {}
