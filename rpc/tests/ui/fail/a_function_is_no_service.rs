use rpc::rpc_service;

#[rpc_service]
fn users() {}

fn main() {}
